#include "collector.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <bit>

namespace weir::dcm {
namespace {

using assembly::FragmentProgress;
using assembly::Phase;
using assembly::Slice;
using assembly::SourceIndex;

// The share of the pool that requests may plan with; the rest absorbs slices larger than expected.
constexpr std::size_t kPlannedNumerator = 7;
constexpr std::size_t kPlannedDenominator = 8;

}  // namespace

Collector::Collector(CollectorSettings settings, assembly::Assembler& assembler, BufferPool& pool,
                     std::unique_ptr<shaping::Shaper> shaper)
    : settings_(settings),
      assembler_(assembler),
      pool_(pool),
      shaper_(std::move(shaper)),
      flows_(settings.readouts) {
  auto all = std::make_shared<Selection>();
  all->all = true;
  all->by_readout.resize(settings_.readouts);
  for (SourceIndex i = 0; i < assembler_.sources().size(); ++i) {
    const assembly::SourceInfo& source = assembler_.sources()[i];
    all->sources.push_back(i);
    all->by_readout[source.readout].push_back(source.id);
    ++flows_[source.readout].sources;
  }
  everything_ = std::move(all);
}

std::shared_ptr<const Selection> Collector::select(std::span<const SourceId> sources) const {
  auto selection = std::make_shared<Selection>();
  selection->by_readout.resize(settings_.readouts);
  for (const SourceId source : sources) {
    const auto index = assembler_.index_of(source);
    if (!index) continue;  // masked: nobody serves it
    selection->sources.push_back(*index);
    selection->by_readout[assembler_.sources()[*index].readout].push_back(source);
  }
  return selection;
}

void Collector::collect(Slice& slice, std::shared_ptr<const Selection> selection) {
  starting_.push_back({&slice, std::move(selection)});
}

void Collector::forget(const Slice& slice) {
  std::erase_if(starting_, [&](const Wanted& wanted) { return wanted.slice == &slice; });
  std::erase_if(parts_, [&](const Part& part) { return part.slice == &slice; });
}

bool Collector::has_memory() const {
  // Where nobody else gives memory back, what waits for memory must go on with what there is.
  if (collecting_ + leaving_ == 0) return true;
  // One slice goes ahead to tell how large they are.
  if (!assembler_.knows_sizes()) return false;
  // The pool hands out powers of two.
  const std::size_t expected = std::bit_ceil(assembler_.slice_bytes_expected());
  const std::size_t planned = pool_.bytes_used() + (collecting_ + 1) * expected;
  return planned <= settings_.memory_bytes / kPlannedDenominator * kPlannedNumerator;
}

void Collector::start_slices(TimeNs now_ns) {
  if (starting_.empty()) return;
  collecting_ = leaving_ = 0;
  assembler_.for_each_open([&](const Slice& slice) {
    collecting_ += slice.phase == Phase::collecting && slice.outstanding > 0 ? 1 : 0;
    leaving_ +=
        slice.phase == Phase::filtering || slice.phase == Phase::decided || slice.phase == Phase::storing ? 1
                                                                                                          : 0;
  });
  while (!starting_.empty() && has_memory()) {
    const Wanted wanted = std::move(starting_.front());
    starting_.pop_front();
    start(wanted, now_ns);
    ++collecting_;
  }
}

void Collector::start(const Wanted& wanted, TimeNs now_ns) {
  Slice& slice = *wanted.slice;
  const Selection& selection = *wanted.selection;
  const std::uint32_t fresh =
      selection.all ? assembler_.want_all(slice) : assembler_.want(slice, selection.sources);
  if (fresh == 0) return;
  for (std::uint32_t i = 0; i < settings_.readouts; ++i) {
    const std::uint32_t readout = (settings_.first_readout + i) % settings_.readouts;
    if (selection.by_readout[readout].empty()) continue;
    if (flows_[readout].given_up) continue;  // settled below, all at once
    parts_.push_back({&slice, wanted.selection, readout});
  }
  if (std::any_of(flows_.begin(), flows_.end(), [](const Flow& flow) { return flow.given_up; })) {
    assembler_.requested(slice, now_ns);
    for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
      if (flows_[readout].given_up) assembler_.readout_lost(readout, MissingReason::source_down, now_ns);
    }
  }
}

shaping::Demand Collector::demand(std::uint32_t readout, std::size_t fragments) const {
  const std::size_t sources = std::max<std::size_t>(1, assembler_.sources().size());
  return {readout, static_cast<std::uint32_t>(fragments),
          assembler_.slice_bytes_expected() / sources * fragments};
}

void Collector::issue(TimeNs now_ns) {
  std::size_t kept = 0;
  std::size_t at = 0;
  for (; at < parts_.size(); ++at) {
    Part& part = parts_[at];
    if (part.slice->phase != Phase::collecting) continue;  // given up meanwhile
    if (!flows_[part.readout].up) {
      // Its deadline runs all the same: a readout that never comes costs one deadline or the grace time.
      assembler_.requested(*part.slice, now_ns);
      if (kept != at) parts_[kept] = std::move(part);
      ++kept;
      continue;
    }
    const bool plain = part.slice->step == 0 && part.selection->all;
    if (!plain) list_missing(part);
    if (!plain && missing_.empty()) continue;  // an earlier step brought them all
    const std::size_t fragments = plain ? part.selection->by_readout[part.readout].size() : missing_.size();
    if (!shaper_->try_take(demand(part.readout, fragments), now_ns)) break;
    asked(flows_[part.readout], fragments, now_ns);
    add_request(part, plain, now_ns);
  }
  // What was not looked at stays, in order.
  if (kept == at) return;
  parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(kept),
               parts_.begin() + static_cast<std::ptrdiff_t>(at));
}

// In a later step some of the selection may be here already.
void Collector::list_missing(const Part& part) {
  missing_.clear();
  for (const SourceId source : part.selection->by_readout[part.readout]) {
    const FragmentProgress& progress = part.slice->progress[*assembler_.index_of(source)];
    if (progress.state == FragmentProgress::State::requested && progress.have == 0)
      missing_.push_back(source);
  }
}

void Collector::add_request(const Part& part, bool plain, TimeNs now_ns) {
  Slice& slice = *part.slice;
  assembler_.requested(slice, now_ns);
  add_entry(flows_[part.readout], missing_, plain,
            {slice.id(), slice.attempt(), wire::kAllSources, 0, settings_.assembly.range_bytes});
}

void Collector::add_entry(Flow& flow, std::span<const SourceId> sources, bool all,
                          const wire::RequestEntry& entry) {
  if (flow.requests.full()) flow.requests.take_frame(flow.frames);
  wire::RequestEntry added = entry;
  if (!all) added.source_set = flow.requests.add_set(sources);
  flow.requests.add(added);
}

void Collector::request_ranges(TimeNs now_ns) {
  for (const assembly::RangeWanted& wanted : assembler_.ranges_wanted()) {
    const assembly::SourceInfo& source = assembler_.sources()[wanted.source];
    if (!flows_[source.readout].up) continue;  // asked again when it is back
    if (wanted.slice == nullptr) {
      if (wanted.offset > 0) answered(source.readout, now_ns);  // its credit would go on with the range
      continue;
    }
    const SourceId ids[] = {source.id};
    // A range goes on with its fragment's credit; a fragment that is asked for again has given its own back.
    if (wanted.offset == 0) {
      shaper_->take(demand(source.readout, 1));
      asked(flows_[source.readout], 1, now_ns);
    }
    add_entry(flows_[source.readout], ids, false,
              {wanted.slice->id(), wanted.slice->attempt(), 0, wanted.offset, wanted.length});
  }
  assembler_.ranges_wanted().clear();
}

void Collector::readout_up(std::uint32_t readout, TimeNs now_ns) {
  Flow& flow = flows_[readout];
  flow.up = true;
  flow.given_up = false;
  // Whatever was asked of it before the connection was lost is asked for again; parts that were never sent
  // stay in their queue, so they are left out here.
  std::erase_if(parts_, [&](const Part& part) { return part.readout == readout; });
  assembler_.for_each_open([&](Slice& slice) {
    if (slice.phase == Phase::collecting && slice.outstanding > 0) request_again(slice, readout, now_ns);
  });
}

void Collector::request_again(Slice& slice, std::uint32_t readout, TimeNs now_ns) {
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    FragmentProgress& progress = slice.progress[i];
    if (assembler_.sources()[i].readout != readout || progress.state != FragmentProgress::State::requested)
      continue;
    progress.start_again();
    const SourceId ids[] = {assembler_.sources()[i].id};
    shaper_->take(demand(readout, 1));
    asked(flows_[readout], 1, now_ns);
    add_entry(flows_[readout], ids, false,
              {slice.id(), slice.attempt(), 0, 0, settings_.assembly.range_bytes});
  }
}

void Collector::readout_down(std::uint32_t readout, TimeNs now_ns) {
  Flow& flow = flows_[readout];
  flow.up = false;
  flow.down_since_ns = now_ns;
  flow.unanswered = 0;
  flow.frames.clear();
  flow.requests = {};
  shaper_->readout_lost(readout);
}

void Collector::begin(TimeNs now_ns) {
  for (Flow& flow : flows_) {
    if (flow.up) continue;
    flow.down_since_ns = now_ns;
    flow.given_up = false;
  }
}

void Collector::asked(Flow& flow, std::size_t fragments, TimeNs now_ns) {
  if (flow.unanswered == 0) flow.waiting_since_ns = now_ns;
  flow.unanswered += fragments;
}

void Collector::answered(std::uint32_t readout, TimeNs now_ns) {
  shaper_->answered(readout, now_ns);
  Flow& flow = flows_[readout];
  if (flow.unanswered > 0) --flow.unanswered;
  flow.waiting_since_ns = now_ns;
}

bool Collector::is_silent(std::uint32_t readout, TimeNs now_ns) const {
  const Flow& flow = flows_[readout];
  return flow.up && flow.unanswered > 0 &&
         now_ns - flow.waiting_since_ns > settings_.assembly.deadline_ns + settings_.grace_ns;
}

void Collector::pass(TimeNs now_ns) {
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    Flow& flow = flows_[readout];
    if (flow.up || flow.given_up || flow.sources == 0) continue;
    if (flow.down_since_ns == 0) flow.down_since_ns = now_ns;
    if (now_ns - flow.down_since_ns < settings_.grace_ns) continue;
    flow.given_up = true;
    std::erase_if(parts_, [&](const Part& part) { return part.readout == readout; });
    assembler_.readout_lost(readout, MissingReason::source_down, now_ns);
  }
  assembler_.expire(now_ns);
  cancel_expired();
  request_ranges(now_ns);
  start_slices(now_ns);
  issue(now_ns);
}

void Collector::cancel_expired() {
  std::vector<wire::SliceEntry> entries;
  for (const Slice* slice : assembler_.take_expired()) entries.push_back({slice->id(), slice->attempt(), {}});
  if (entries.empty()) return;
  for (Flow& flow : flows_) {
    if (!flow.up) continue;
    if (!flow.requests.empty()) flow.requests.take_frame(flow.frames);
    wire::append_slice_entries(wire::FrameType::cancel, entries, flow.frames);
  }
}

void Collector::take_frames(std::uint32_t readout, std::vector<std::byte>& out) {
  Flow& flow = flows_[readout];
  if (!flow.requests.empty()) flow.requests.take_frame(flow.frames);
  out.insert(out.end(), flow.frames.begin(), flow.frames.end());
  flow.frames.clear();
}

}  // namespace weir::dcm
