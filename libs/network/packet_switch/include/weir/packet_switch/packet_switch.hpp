#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>
#include <weir/packet_switch/frame_port.hpp>
#include <weir/switching/switch.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::packet_switch {

struct PacketSwitchSettings {
  switching::SwitchSettings machine;
  std::vector<PortInterface> interfaces;  // of each of the machine's ports
  // How long run() polls the receive rings after a frame, without a system call, before it returns.
  DurationNs busy_poll_ns = 0;
};

// The counters of a switch. Frames that the kernel dropped are among those received and dropped by a port.
struct SwitchCounts {
  std::vector<switching::SwitchPortCounters> ports;
  std::vector<switching::RingCounters> rings;  // with Queueing::rings
  std::uint64_t held = 0;

  [[nodiscard]] std::uint64_t received() const;
  [[nodiscard]] std::uint64_t sent() const;
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::uint64_t dropped(switching::FrameDrop reason) const;
  [[nodiscard]] std::uint64_t marked() const;
};

// A switch between interfaces of this host: moves frames between FramePorts and a switching::Switch. One
// thread.
class PacketSwitch {
 public:
  // Opens all interfaces, in the calling thread's network namespace. Throws std::runtime_error.
  // Requires: problem_of(settings.machine) is empty.
  explicit PacketSwitch(const PacketSwitchSettings& settings);

  // Returns a descriptor that is readable while run() has work.
  [[nodiscard]] int file() const { return events_.get(); }
  // Moves the frames that have arrived or are due. Returns false once an interface no longer exists; call it
  // once a second at least to learn this.
  [[nodiscard]] bool run();
  // Takes the frames that wait in the kernel without sending any, so that counts() has them: call it at the
  // end, after the last run().
  void take_rest();
  [[nodiscard]] SwitchCounts counts();
  // Takes other rings and routes, as Switch::change().
  void change(const switching::SwitchSettings& settings) { machine_.change(settings); }
  // Forgets the greatest depths of the rings.
  void begin_period() { machine_.begin_period(); }
  [[nodiscard]] const switching::SwitchSettings& settings() const { return machine_.settings(); }

 private:
  struct Port {
    std::unique_ptr<FramePort> interface;
    bool readable = false;  // frames may be left in the kernel
    bool full = false;      // waits until the interface takes more
    std::uint32_t watched = 0;
  };
  void wait_for_events();
  void look_at_interfaces();
  bool receive(std::size_t port);
  void take(std::size_t port, TimeNs now_ns, const FramePort::Received& frame);
  bool transmit(std::size_t port, TimeNs now_ns);
  [[nodiscard]] bool poll_ports();
  void watch(std::size_t port);
  [[nodiscard]] std::optional<TimeNs> next_ns(bool moved) const;
  void set_timer(std::optional<TimeNs> at_ns);

  switching::Switch machine_;
  std::vector<Port> ports_;
  DurationNs busy_poll_ns_;
  OwnedDescriptor events_;
  OwnedDescriptor timer_;
  TimeNs timer_ns_ = 0;
  TimeNs next_look_ns_ = 0;  // for removed interfaces
  bool gone_ = false;
};

}  // namespace weir::packet_switch
