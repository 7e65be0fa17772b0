#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/owned_descriptor.hpp>
#include <weir/switching/counters.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace weir::packet_switch {

struct PortInterface {
  std::string device;
  std::uint32_t frame_bytes_max = 1514;
  std::uint32_t receive_frames = 1024;  // that wait in the kernel
  std::uint32_t transmit_frames = 64;   // of full length that wait in the interface's queue
};

// The raw frames of one network interface: a packet socket (AF_PACKET) with a receive ring in shared memory
// (version 2 of it: version 3 hands over blocks, a millisecond late). Its own memory limits the frames on
// their way out, so a full interface is back-pressure. One thread.
class PacketPort {
 public:
  // Opens the interface, in the calling thread's network namespace. Throws std::runtime_error.
  explicit PacketPort(const PortInterface& settings);
  ~PacketPort();
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;

  // Returns the descriptor to wait for: readable with frames, writable when half of the transmit memory is
  // free.
  [[nodiscard]] int file() const { return socket_.get(); }

  struct Received {
    ConstBytes bytes;
    std::optional<switching::FrameDrop> unfit;  // why no switch can forward it
  };
  // Returns the next frame that has arrived, valid until the next call.
  [[nodiscard]] std::optional<Received> receive();

  // Returns the number of frames for which the kernel has room until receive() takes them.
  [[nodiscard]] std::size_t receive_frames() const { return slots_; }

  // Returns whether receive() has a frame. Reads memory only.
  [[nodiscard]] bool has_frame() const;

  enum class Sending : std::uint8_t { all, full, refused };
  struct Sent {
    std::size_t frames = 0;      // that the interface took
    Sending why = Sending::all;  // full: it takes no more now; refused: the next frame is lost
  };
  [[nodiscard]] Sent send(std::span<const ConstBytes> frames);

  // Returns the frames that the kernel dropped since the last call, because no memory was left.
  [[nodiscard]] std::uint64_t take_dropped();
  // Returns whether the interface exists. Clears the socket's error.
  [[nodiscard]] bool exists() const;

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
};

}  // namespace weir::packet_switch
