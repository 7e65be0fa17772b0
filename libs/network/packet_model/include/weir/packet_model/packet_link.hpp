#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::packet_model {

// A drop-tail queue, limited in packets, before a line of a constant rate. Packets leave in the order in
// which they enter, at times that are known as they enter.
class PacketLink {
 public:
  // `packets_max`: packets that wait, besides the one that is being sent.
  PacketLink(double bits_per_s, std::uint32_t packets_max)
      : ns_per_byte_(8e9 / bits_per_s), packets_max_(packets_max), leaves_(std::bit_ceil(packets_max + 2U)) {
    WEIR_ASSERT(bits_per_s > 0);
  }

  // Returns the time at which the packet has left; nullopt if the queue was full. Requires: times ascend.
  [[nodiscard]] std::optional<TimeNs> enter(std::uint32_t wire_bytes, TimeNs now_ns) {
    while (first_ != end_ && at(first_) <= now_ns) ++first_;
    if (end_ - first_ > packets_max_) {
      ++drops_;
      return std::nullopt;
    }
    free_ns_ = std::max(free_ns_, now_ns) + std::llround(wire_bytes * ns_per_byte_);
    at(end_++) = free_ns_;
    return free_ns_;
  }
  [[nodiscard]] std::uint64_t drops() const { return drops_; }

 private:
  TimeNs& at(std::uint32_t number) { return leaves_[number & (leaves_.size() - 1)]; }

  double ns_per_byte_;
  std::uint32_t packets_max_;
  std::vector<TimeNs> leaves_;  // a ring of the packets that wait or are being sent
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
  TimeNs free_ns_ = 0;
  std::uint64_t drops_ = 0;
};

}  // namespace weir::packet_model
