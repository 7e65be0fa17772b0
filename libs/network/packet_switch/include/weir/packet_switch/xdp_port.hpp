#pragma once

#include <weir/packet_switch/frame_port.hpp>

#include <cstdint>
#include <memory>

namespace weir::packet_switch {

// The raw frames of one network interface with one receive queue: an AF_XDP socket in copy mode, and a
// program in the kernel that redirects every frame to it. The program is attached by a link, so the kernel
// removes it with this object, or with the process. Exists in builds with WEIR_SWITCH_XDP only.
class XdpPort final : public FramePort {
 public:
  static constexpr std::uint32_t kFrameBytesMax = 3840;  // a page without the kernel's room in front

  // Opens the interface, in the calling thread's network namespace. Throws std::runtime_error.
  // Requires: problem_of(settings) is empty.
  explicit XdpPort(const PortInterface& settings);
  ~XdpPort() override;

  [[nodiscard]] int file() const override;
  [[nodiscard]] bool announces_room() const override { return false; }
  [[nodiscard]] std::optional<Received> receive() override;
  [[nodiscard]] std::size_t receive_frames() const override;
  [[nodiscard]] bool has_frame() const override;
  [[nodiscard]] Sent send(std::span<const ConstBytes> frames) override;
  [[nodiscard]] InterfaceCounts counts() override;
  [[nodiscard]] bool exists() const override;

 private:
  class Memory;
  class Transmitter;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::packet_switch
