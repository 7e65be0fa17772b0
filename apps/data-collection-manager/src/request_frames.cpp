#include "request_frames.hpp"

namespace weir::dcm {

void RequestFrames::request(std::uint32_t readout, std::span<const SourceId> sources, bool all,
                            const wire::RequestEntry& entry) {
  Lane& lane = lane_to_send(readout);
  if (lane.requests.full()) lane.requests.take_frame(lane.frames);
  wire::RequestEntry added = entry;
  if (!all) added.source_set = lane.requests.add_set(sources);
  lane.requests.add(added);
}

void RequestFrames::cancel(std::uint32_t readout, std::span<const wire::CopyId> slices) {
  Lane& lane = lane_to_send(readout);
  if (!lane.requests.empty()) lane.requests.take_frame(lane.frames);
  wire::append_slice_entries(wire::FrameType::cancel, slices, lane.frames);
}

void RequestFrames::discard(std::uint32_t readout) {
  lanes_[readout].frames.clear();
  lanes_[readout].requests = {};
}

void RequestFrames::take(std::uint32_t readout, std::vector<std::byte>& out) {
  Lane& lane = lanes_[readout];
  lane.listed = false;
  if (!lane.requests.empty()) lane.requests.take_frame(lane.frames);
  out.insert(out.end(), lane.frames.begin(), lane.frames.end());
  lane.frames.clear();
}

}  // namespace weir::dcm
