#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/ingest/replay_source.hpp>

#include <algorithm>

namespace weir::ingest {
namespace {

RecordedFragment nothing(SourceId source) {
  RecordedFragment fragment;
  fragment.source = source;
  fragment.status = FragmentStatus::missing;
  fragment.reason = MissingReason::not_produced;
  return fragment;
}

}  // namespace

ReplaySource::ReplaySource(SourceId id, std::shared_ptr<const RecordedRun> run, ReplayOrder order,
                           bool checksums)
    : id_(id), run_(std::move(run)), order_(order), checksums_(checksums) {
  WEIR_ASSERT(run_ && !run_->slices.empty());
  fragments_.reserve(run_->slices.size());
  for (const RecordedSlice& slice : run_->slices) {
    const auto found = std::lower_bound(
        slice.fragments.begin(), slice.fragments.end(), id,
        [](const RecordedFragment& fragment, SourceId source) { return fragment.source < source; });
    const bool there = found != slice.fragments.end() && found->source == id;
    fragments_.push_back(there ? *found : nothing(id));
  }
}

std::optional<std::size_t> ReplaySource::place_of(SliceId slice) const {
  if (order_ == ReplayOrder::looped) return slice.value % fragments_.size();
  if (order_ == ReplayOrder::once)
    return slice.value < fragments_.size() ? std::optional<std::size_t>(slice.value) : std::nullopt;
  const auto found = std::ranges::lower_bound(run_->slices, slice, {}, &RecordedSlice::slice);
  if (found == run_->slices.end() || found->slice != slice) return std::nullopt;
  return static_cast<std::size_t>(found - run_->slices.begin());
}

source::SourceFragment ReplaySource::produce(const source::Trigger& trigger) {
  source::SourceFragment fragment;
  const auto place = place_of(trigger.slice);
  if (!place) {
    fragment.status = FragmentStatus::missing;
    fragment.reason = MissingReason::not_produced;
    return fragment;
  }
  WEIR_ASSERT(*place < fragments_.size());
  RecordedFragment& recorded = fragments_[*place];
  fragment.status = recorded.status;
  fragment.reason = recorded.reason;
  fragment.bytes = recorded.bytes;
  if (!checksums_ || recorded.status == FragmentStatus::missing) return fragment;
  if (!recorded.checksummed) {
    recorded.crc32c = crc32c(recorded.bytes);
    recorded.checksummed = true;
  }
  fragment.crc32c = recorded.crc32c;
  return fragment;
}

}  // namespace weir::ingest
