#include "crash_note.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_try/slice_runner.hpp>

#include <algorithm>

namespace weir::filter_try {

using filter_job::StepVerdict;

namespace {

weir_filter_fragment absent_row(SourceId source, FragmentStatus status, MissingReason reason) {
  weir_filter_fragment row{};
  row.source = source.value;
  row.status = static_cast<std::uint8_t>(status);
  row.missing_reason = static_cast<std::uint8_t>(reason);
  return row;
}

weir_filter_fragment row_of(const ingest::RecordedFragment& fragment) {
  weir_filter_fragment row{};
  if (fragment.status == FragmentStatus::not_requested)
    return absent_row(fragment.source, FragmentStatus::missing, MissingReason::not_produced);
  row.source = fragment.source.value;
  row.status = static_cast<std::uint8_t>(fragment.status);
  row.missing_reason = static_cast<std::uint8_t>(fragment.reason);
  row.data = fragment.bytes.empty() ? nullptr : fragment.bytes.data();
  row.length = static_cast<std::uint32_t>(fragment.bytes.size());
  row.total = row.length;
  row.crc32c = fragment.checksummed ? fragment.crc32c : 0;
  return row;
}

bool is_requested(const weir_filter_fragment& row) { return row.status != WEIR_FRAGMENT_NOT_REQUESTED; }

// As in a farm: fragments of removed sources do not make a slice incomplete, unless all are removed.
bool is_incomplete(const std::vector<weir_filter_fragment>& table) {
  bool absent = false;
  bool here = false;
  for (const weir_filter_fragment& row : table) {
    const bool missing = row.status == WEIR_FRAGMENT_MISSING;
    const bool removed = missing && row.missing_reason == static_cast<std::uint8_t>(MissingReason::removed);
    if ((missing && !removed) || row.status == WEIR_FRAGMENT_TRUNCATED ||
        row.status == WEIR_FRAGMENT_CORRUPT || row.status == WEIR_FRAGMENT_OUT_OF_STEP)
      return true;
    absent = absent || removed;
    here = here || (!missing && is_requested(row));
  }
  return absent && !here;
}

std::uint64_t digest_of(const filter_job::FilterResult& result) {
  const ConstBytes bytes(result.event_bytes);
  std::uint64_t digest = mix64(result.prescale);
  const auto add = [&digest](std::uint64_t value) { digest = mix64(digest ^ value); };
  for (const filter_job::EventSpan& event : result.events) {
    add(event.id);
    add(event.size);
    add(crc32c(bytes.subspan(event.offset, event.size)));
  }
  add(result.filter_result.size());
  add(crc32c(result.filter_result));
  for (const std::uint32_t source : result.keep_sources) add(source);
  return digest;
}

}  // namespace

bool SliceOutcome::same_decision(const SliceOutcome& other) const {
  return verdict == other.verdict && streams == other.streams && keep == other.keep &&
         output_digest == other.output_digest;
}

// A slice between its first step and its decision.
struct SliceRunner::OpenSlice {
  void begin(const ingest::RecordedSlice& recorded_slice, const ingest::RecordedRun& run);
  void request(std::size_t row);
  void request_wanted();
  [[nodiscard]] SliceOutcome outcome() const;

  const ingest::RecordedSlice* slice = nullptr;
  std::vector<weir_filter_fragment> recorded;  // a row per source of the run, as recorded
  std::vector<weir_filter_fragment> table;     // the same rows, as the filter sees them
  weir_filter_slice view{};
  filter_host::KeptState state;
  filter_job::FilterResult result;
  std::vector<histograms::Addition> fills;
  std::uint64_t requested_bytes = 0;
  DurationNs process_ns = 0;
};

void SliceRunner::OpenSlice::begin(const ingest::RecordedSlice& recorded_slice,
                                   const ingest::RecordedRun& run) {
  slice = &recorded_slice;
  recorded.clear();
  table.clear();
  fills.clear();
  requested_bytes = 0;
  process_ns = 0;
  auto next = slice->fragments.begin();
  for (const SourceId source : run.sources) {
    const bool found = next != slice->fragments.end() && next->source == source;
    recorded.push_back(found ? row_of(*next++)
                             : absent_row(source, FragmentStatus::missing, MissingReason::not_produced));
    table.push_back(absent_row(source, FragmentStatus::not_requested, MissingReason::none));
  }
  WEIR_ASSERT(recorded.size() == run.sources.size() && next == slice->fragments.end());  // both are sorted
  view = filter_host::empty_slice();
  view.run = slice->run.value;
  view.slice = slice->slice.value;
  view.trigger_time_utc_ns = slice->time;
  view.duration_ns = slice->duration;
  view.trigger_type = slice->trigger_type.value;
  view.trigger_payload_size = static_cast<std::uint32_t>(slice->trigger_payload.size());
  view.trigger_payload = slice->trigger_payload.empty() ? nullptr : slice->trigger_payload.data();
  view.fragment_count = static_cast<std::uint32_t>(table.size());
  view.fragments = table.data();
  view.state = state.raw();
}

void SliceRunner::OpenSlice::request(std::size_t row) {
  WEIR_ASSERT(row < table.size() && table[row].source == recorded[row].source);
  if (is_requested(table[row])) return;
  table[row] = recorded[row];
  requested_bytes += recorded[row].length;
}

void SliceRunner::OpenSlice::request_wanted() {
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (result.need_all || std::ranges::binary_search(result.need_sources, table[row].source)) request(row);
  }
}

SliceOutcome SliceRunner::OpenSlice::outcome() const {
  SliceOutcome outcome;
  outcome.slice = slice->slice;
  outcome.verdict = result.verdict;
  outcome.steps = view.step + 1;
  outcome.requested_bytes = requested_bytes;
  for (const weir_filter_fragment& row : recorded) outcome.recorded_bytes += row.length;
  outcome.process_ns = process_ns;
  outcome.error = result.error;
  if (result.verdict != filter_job::StepVerdict::accept) return outcome;
  outcome.keep = result.keep;
  outcome.streams = result.streams;
  outcome.events = static_cast<std::uint32_t>(result.events.size());
  outcome.event_bytes = result.event_bytes.size();
  outcome.result_bytes = static_cast<std::uint32_t>(result.filter_result.size());
  outcome.output_digest = digest_of(result);
  return outcome;
}

SliceRunner::SliceRunner(filter_host::FilterInstance& instance, const ingest::RecordedRun& run,
                         std::optional<std::vector<std::uint32_t>> first_sources)
    : instance_(instance),
      run_(run),
      first_sources_(first_sources ? std::move(first_sources) : instance.first_sources()) {}

SliceRunner::~SliceRunner() = default;

void SliceRunner::open(const ingest::RecordedSlice& slice) {
  WEIR_ASSERT(has_room());
  open_.push_back(show(slice));
}

void SliceRunner::step(const Decided& decided) {
  run_step(open_);
  std::erase_if(open_, [&](std::unique_ptr<OpenSlice>& one) {
    if (one->result.verdict == StepVerdict::need_more) return false;
    decided(*one->slice, one->outcome(), one->fills);
    one->state.reset();
    spare_.push_back(std::move(one));
    return true;
  });
}

SliceOutcome SliceRunner::process(const ingest::RecordedSlice& slice) {
  std::unique_ptr<OpenSlice> one = show(slice);
  do run_step({&one, 1});
  while (one->result.verdict == StepVerdict::need_more);
  one->state.reset();
  spare_.push_back(std::move(one));
  return spare_.back()->outcome();
}

std::unique_ptr<SliceRunner::OpenSlice> SliceRunner::show(const ingest::RecordedSlice& slice) {
  if (spare_.empty()) spare_.push_back(std::make_unique<OpenSlice>());
  std::unique_ptr<OpenSlice> one = std::move(spare_.back());
  spare_.pop_back();
  one->begin(slice, run_);
  for (std::size_t row = 0; row < one->table.size(); ++row) {
    if (!first_sources_ || std::ranges::binary_search(*first_sources_, one->table[row].source))
      one->request(row);
  }
  return one;
}

void SliceRunner::run_step(std::span<const std::unique_ptr<OpenSlice>> slices) {
  batch_.clear();
  for (const std::unique_ptr<OpenSlice>& one : slices) {
    one->view.flags = is_incomplete(one->table) ? std::uint32_t{WEIR_SLICE_INCOMPLETE} : 0;
    batch_.push_back(one->view);
  }
  WEIR_ASSERT(!slices.empty());
  DurationNs share_ns = 0;
  if (begin_batch_) {
    const ProcessingMark mark(slices.front()->slice->slice, slices.size());
    const TimeNs start = monotonic_now_ns();
    begin_batch_(batch_);
    share_ns = (monotonic_now_ns() - start) / static_cast<DurationNs>(batch_.size());
  }
  for (std::size_t i = 0; i < slices.size(); ++i) process(*slices[i], batch_[i], share_ns);
}

void SliceRunner::process(OpenSlice& one, const weir_filter_slice& view, DurationNs batch_share_ns) {
  const ProcessingMark mark(one.slice->slice);
  const TimeNs start = monotonic_now_ns();
  instance_.process(view, one.result);
  one.process_ns += monotonic_now_ns() - start + batch_share_ns;
  if (one.result.verdict == StepVerdict::error) one.fills.clear();
  one.fills.insert(one.fills.end(), one.result.fills.begin(), one.result.fills.end());
  if (one.result.verdict != StepVerdict::need_more) return;
  one.request_wanted();  // the instance refuses a request for nothing new, so this ends
  WEIR_ASSERT(view.step == one.view.step);
  ++one.view.step;
}

}  // namespace weir::filter_try
