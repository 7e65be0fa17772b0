#pragma once

#include <weir/wire/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::dcm {

// Frames that wait to be sent to each readout: requests and cancellations, in the order of their calls.
// Requests share frames. Pure.
class RequestFrames {
 public:
  explicit RequestFrames(std::uint32_t readouts) : lanes_(readouts) {}

  // Adds a request for `sources`; with `all`, for every source of the readout, without a list.
  void request(std::uint32_t readout, std::span<const SourceId> sources, bool all,
               const wire::RequestEntry& entry);
  // Cancels all that was requested of these slices.
  void cancel(std::uint32_t readout, std::span<const wire::CopyId> slices);
  // Discards frames that were not taken: the connection is lost.
  void discard(std::uint32_t readout);
  // Readouts with frames to send; the caller that sends them clears the list.
  [[nodiscard]] std::vector<std::uint32_t>& to_send() { return to_send_; }
  // Appends the readout's frames.
  void take(std::uint32_t readout, std::vector<std::byte>& out);

 private:
  struct Lane {
    wire::RequestWriter requests;   // of the last frame, which is not complete
    std::vector<std::byte> frames;  // complete ones
    bool listed = false;            // in to_send_
  };
  Lane& lane_to_send(std::uint32_t readout) {
    Lane& lane = lanes_[readout];
    if (!std::exchange(lane.listed, true)) to_send_.push_back(readout);
    return lane;
  }

  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> to_send_;
};

}  // namespace weir::dcm
