#include "crash_note.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_try/slice_runner.hpp>

#include <algorithm>

namespace weir::filter_try {
namespace {

weir_filter_fragment row_of(const ingest::RecordedFragment& fragment) {
  weir_filter_fragment row{};
  row.source = fragment.source.value;
  row.status = static_cast<std::uint8_t>(fragment.status);
  row.missing_reason = static_cast<std::uint8_t>(fragment.reason);
  row.data = fragment.bytes.empty() ? nullptr : fragment.bytes.data();
  row.length = static_cast<std::uint32_t>(fragment.bytes.size());
  row.total = row.length;
  row.crc32c = fragment.checksummed ? fragment.crc32c : 0;
  return row;
}

weir_filter_fragment absent_row(SourceId source, FragmentStatus status, MissingReason reason) {
  weir_filter_fragment row{};
  row.source = source.value;
  row.status = static_cast<std::uint8_t>(status);
  row.missing_reason = static_cast<std::uint8_t>(reason);
  return row;
}

bool is_requested(const weir_filter_fragment& row) { return row.status != WEIR_FRAGMENT_NOT_REQUESTED; }

bool is_flawed(const weir_filter_fragment& row) {
  return row.status == WEIR_FRAGMENT_MISSING || row.status == WEIR_FRAGMENT_TRUNCATED ||
         row.status == WEIR_FRAGMENT_CORRUPT;
}

std::uint64_t digest_of(const filter_host::FilterResult& result) {
  const ConstBytes bytes(result.event_bytes);
  std::uint64_t digest = mix64(result.prescale);
  const auto add = [&digest](std::uint64_t value) { digest = mix64(digest ^ value); };
  for (const filter_host::EventSpan& event : result.events) {
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

SliceRunner::SliceRunner(filter_host::FilterInstance& instance, const ingest::RecordedRun& run,
                         std::optional<std::vector<std::uint32_t>> first_sources)
    : instance_(instance),
      run_(run),
      first_sources_(first_sources ? std::move(first_sources) : instance.first_sources()) {}

SliceOutcome SliceRunner::process(const ingest::RecordedSlice& slice) {
  show(slice);
  filter_host::KeptState state;
  view_.state = state.raw();
  process_ns_ = 0;
  fills_.clear();
  const ProcessingMark mark(slice.slice);
  for (;; ++view_.step) {
    const bool flawed = std::ranges::any_of(table_, is_flawed);
    view_.flags = flawed ? std::uint32_t{WEIR_SLICE_INCOMPLETE} : 0;
    const TimeNs start = monotonic_now_ns();
    instance_.process(view_, result_);
    process_ns_ += monotonic_now_ns() - start;
    if (result_.verdict == filter_host::StepVerdict::error) fills_.clear();
    fills_.insert(fills_.end(), result_.fills.begin(), result_.fills.end());
    if (result_.verdict != filter_host::StepVerdict::need_more) return outcome_of(slice);
    request_more();  // the instance refuses a request for nothing new, so this ends
  }
}

void SliceRunner::show(const ingest::RecordedSlice& slice) {
  recorded_.clear();
  table_.clear();
  requested_bytes_ = 0;
  auto next = slice.fragments.begin();
  for (const SourceId source : run_.sources) {
    const bool found = next != slice.fragments.end() && next->source == source;
    recorded_.push_back(found ? row_of(*next++)
                              : absent_row(source, FragmentStatus::missing, MissingReason::not_produced));
    table_.push_back(absent_row(source, FragmentStatus::not_requested, MissingReason::none));
  }
  for (std::size_t row = 0; row < table_.size(); ++row) {
    if (!first_sources_ || std::ranges::binary_search(*first_sources_, table_[row].source)) request(row);
  }
  view_ = filter_host::empty_slice();
  view_.run = slice.run.value;
  view_.slice = slice.slice.value;
  view_.trigger_time_utc_ns = slice.time;
  view_.duration_ns = slice.duration;
  view_.trigger_type = slice.trigger_type.value;
  view_.trigger_payload_size = static_cast<std::uint32_t>(slice.trigger_payload.size());
  view_.trigger_payload = slice.trigger_payload.empty() ? nullptr : slice.trigger_payload.data();
  view_.fragment_count = static_cast<std::uint32_t>(table_.size());
  view_.fragments = table_.data();
}

void SliceRunner::request(std::size_t row) {
  if (is_requested(table_[row])) return;
  table_[row] = recorded_[row];
  requested_bytes_ += recorded_[row].length;
}

void SliceRunner::request_more() {
  for (std::size_t row = 0; row < table_.size(); ++row) {
    if (result_.need_all || std::ranges::binary_search(result_.need_sources, table_[row].source))
      request(row);
  }
}

SliceOutcome SliceRunner::outcome_of(const ingest::RecordedSlice& slice) const {
  SliceOutcome outcome;
  outcome.slice = slice.slice;
  outcome.verdict = result_.verdict;
  outcome.steps = view_.step + 1;
  outcome.requested_bytes = requested_bytes_;
  for (const weir_filter_fragment& row : recorded_) outcome.recorded_bytes += row.length;
  outcome.process_ns = process_ns_;
  outcome.error = result_.error;
  if (result_.verdict != filter_host::StepVerdict::accept) return outcome;
  outcome.keep = result_.keep;
  outcome.streams = result_.streams;
  outcome.events = static_cast<std::uint32_t>(result_.events.size());
  outcome.event_bytes = result_.event_bytes.size();
  outcome.result_bytes = static_cast<std::uint32_t>(result_.filter_result.size());
  outcome.output_digest = digest_of(result_);
  return outcome;
}

}  // namespace weir::filter_try
