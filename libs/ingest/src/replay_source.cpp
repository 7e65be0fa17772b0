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

ReplaySource::ReplaySource(SourceId id, std::shared_ptr<const RecordedRun> run, bool loop, bool checksums)
    : id_(id), run_(std::move(run)), loop_(loop), checksums_(checksums) {
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

source::SourceFragment ReplaySource::produce(const source::Trigger& trigger) {
  source::SourceFragment fragment;
  if (!loop_ && trigger.slice.value >= fragments_.size()) {
    fragment.status = FragmentStatus::missing;
    fragment.reason = MissingReason::not_produced;
    return fragment;
  }
  RecordedFragment& recorded = fragments_[trigger.slice.value % fragments_.size()];
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
