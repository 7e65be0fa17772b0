#pragma once

#include "addresses.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/line_figures/paused.hpp>

#include <array>
#include <cstddef>
#include <thread>

namespace weir::probe {

// The Ethernet link behind a local address, and its other end, the port of a switch.
class PortLink {
 public:
  // Throws std::runtime_error with a sentence: no Ethernet, or no right to send raw frames.
  explicit PortLink(const Address& local);

  // Asks the port to send nothing for a time of the link (65,535 quanta), or ends that. Returns false if the
  // interface refuses the frame.
  [[nodiscard]] bool send_pause(bool begins) const;
  // Returns the time after which a pause is repeated, so that none ends before the next one arrives.
  [[nodiscard]] DurationNs repeat_ns() const { return repeat_ns_; }

 private:
  OwnedDescriptor socket_;
  int index_ = 0;
  std::array<std::byte, 6> sender_{};
  DurationNs repeat_ns_ = 0;
};

// Keeps a port paused for a time, from a thread of its own.
class PortPause {
 public:
  // Returns once the first pause is sent. Throws std::runtime_error. `link` must outlive it.
  PortPause(const PortLink& link, DurationNs length_ns);
  ~PortPause();
  PortPause(const PortPause&) = delete;
  PortPause& operator=(const PortPause&) = delete;

  // Waits for the end of the pause.
  [[nodiscard]] line_figures::PauseTimes wait();

 private:
  const PortLink& link_;
  line_figures::PauseTimes times_;
  std::thread thread_;
};

}  // namespace weir::probe
