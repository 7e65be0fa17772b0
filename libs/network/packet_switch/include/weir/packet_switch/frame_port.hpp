#pragma once

#include <weir/base/bytes.hpp>
#include <weir/switching/counters.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace weir::packet_switch {

// The sockets that carry the frames of an interface.
enum class Sockets : std::uint8_t {
  packet,      // AF_PACKET
  xdp,         // AF_XDP, from the driver where it has a hook, else generic
  xdp_generic  // AF_XDP, from the kernel's common hook, which every interface has
};

struct PortInterface {
  std::string device;
  std::uint32_t frame_bytes_max = 1514;
  std::uint32_t receive_frames = 1024;  // that wait in the kernel
  std::uint32_t transmit_frames = 64;   // of full length that wait in the interface's queue
  Sockets sockets{};
};

// Frames since a port was opened that a switch cannot count itself.
struct InterfaceCounts {
  std::uint64_t receive_full = 0;  // dropped by the kernel for lack of memory
  std::uint64_t too_long = 0;      // dropped by the kernel because of their length
  std::uint64_t waiting = 0;       // taken by send(), and not by the interface yet
  std::uint64_t lost = 0;          // taken by send(), and then refused by the interface
};

// The raw frames of one network interface. One thread.
class FramePort {
 public:
  FramePort() = default;
  virtual ~FramePort() = default;
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;

  // Returns the descriptor to wait for: readable with frames.
  [[nodiscard]] virtual int file() const = 0;
  // Returns whether file() becomes writable once a full interface takes frames again. Otherwise try again.
  [[nodiscard]] virtual bool announces_room() const = 0;

  struct Received {
    ConstBytes bytes;
    std::optional<switching::FrameDrop> unfit;  // why no switch can forward it
  };
  // Returns the next frame that has arrived, valid until the next call.
  [[nodiscard]] virtual std::optional<Received> receive() = 0;
  // Returns the number of frames for which the kernel has room until receive() takes them.
  [[nodiscard]] virtual std::size_t receive_frames() const = 0;
  // Returns whether receive() has a frame. Reads memory only.
  [[nodiscard]] virtual bool has_frame() const = 0;

  struct Sent {
    std::size_t frames = 0;   // that the interface took
    std::size_t refused = 0;  // that it lost, after these
    bool full = false;        // it takes no more now
  };
  // Sends those first that wait from an earlier call.
  [[nodiscard]] virtual Sent send(std::span<const ConstBytes> frames) = 0;

  [[nodiscard]] virtual InterfaceCounts counts() = 0;
  // Returns whether the interface exists. Clears the socket's error.
  [[nodiscard]] virtual bool exists() const = 0;
};

// Returns why this build cannot open such a port; nullopt if it can.
[[nodiscard]] std::optional<std::string> problem_of(const PortInterface& settings);

// Opens the interface, in the calling thread's network namespace. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<FramePort> open_port(const PortInterface& settings);

}  // namespace weir::packet_switch
