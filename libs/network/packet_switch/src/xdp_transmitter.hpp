#pragma once

#include <weir/packet_switch/frame_port.hpp>

#include <xdp/xsk.h>

#include <cstdint>
#include <vector>

namespace weir::packet_switch {

// Chunks of a memory that a process shares with the kernel.
struct XdpChunks {
  std::byte* memory = nullptr;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t first = 0;  // number of the first one
  std::uint32_t count = 0;
};

// The transmit side of an AF_XDP socket in copy mode, in which the kernel sends within a system call. It
// takes a frame by copying it into a free chunk; a chunk is free again once the interface has sent its frame.
class XdpTransmitter {
 public:
  static constexpr std::uint32_t kSlots = 64;

  // `ring` has kSlots slots, and `completion` one for each chunk at least. Both outlive this object.
  XdpTransmitter(int socket, xsk_ring_prod& ring, xsk_ring_cons& completion, const XdpChunks& chunks);

  // Frames that the interface does not take at once, because it is full or its link was just cut, wait in the
  // ring: send() has taken them, and sends them with a later call, before others.
  [[nodiscard]] FramePort::Sent send(std::span<const ConstBytes> frames);
  [[nodiscard]] std::uint64_t waiting() const;
  // Returns the frames that send() took and the interface refused in a later call.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  enum class Outcome : std::uint8_t { sent, full, down };
  void reap();
  [[nodiscard]] std::size_t place(std::span<const ConstBytes> frames);
  [[nodiscard]] Outcome kick(std::size_t& refused);

  int socket_;
  xsk_ring_prod& ring_;
  xsk_ring_cons& completion_;
  std::byte* memory_;
  std::uint64_t chunk_bytes_;
  std::vector<std::uint64_t> free_;  // addresses of chunks
  std::uint64_t lost_ = 0;
};

}  // namespace weir::packet_switch
