#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/packet_switch/frame_port.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace weir::packet_switch {

// The raw frames of one network interface: a packet socket (AF_PACKET) with a receive ring in shared memory
// (version 2 of it: version 3 hands over blocks, a millisecond late). Its own memory limits the frames on
// their way out, so a full interface is back-pressure. One thread.
class PacketPort final : public FramePort {
 public:
  // Opens the interface, in the calling thread's network namespace. Throws std::runtime_error.
  explicit PacketPort(const PortInterface& settings);
  ~PacketPort() override;

  // Its descriptor is writable when half of the transmit memory is free.
  [[nodiscard]] int file() const override { return socket_.get(); }
  [[nodiscard]] bool announces_room() const override { return true; }
  [[nodiscard]] std::optional<Received> receive() override;
  [[nodiscard]] std::size_t receive_frames() const override { return slots_; }
  [[nodiscard]] bool has_frame() const override;
  [[nodiscard]] Sent send(std::span<const ConstBytes> frames) override;
  [[nodiscard]] InterfaceCounts counts() override;
  [[nodiscard]] bool exists() const override;

 private:
  class Batch;
  void open_ring(const PortInterface& settings);
  void release();

  std::string device_;
  OwnedDescriptor socket_;
  std::byte* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  std::size_t slot_bytes_ = 0;
  std::size_t slots_ = 0;
  std::size_t next_ = 0;
  bool lent_ = false;  // the slot of `next_` was returned by receive()
  std::unique_ptr<Batch> batch_;
  InterfaceCounts counts_;
};

}  // namespace weir::packet_switch
