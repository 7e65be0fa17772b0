#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::dcm {

// Detects dead connections. A dead line breaks a TCP connection only after a long time, so a peer that has
// been silent for a while is probed, and answers even if it has nothing else to send. Pure; one thread.
class LivenessProbe {
 public:
  explicit LivenessProbe(DurationNs silence_ns) : silence_ns_(silence_ns) {}

  // Call at least every few ms with the state of the connection and the bytes received over it. Returns true
  // if the peer is to be probed.
  [[nodiscard]] bool look(bool connected, std::uint64_t bytes, TimeNs now_ns);
  // Another connection has taken the place of the last one, perhaps between two looks.
  void begin_anew() { connected_ = false; }
  // True without a connection, or after silence_ns without data.
  [[nodiscard]] bool is_lost() const { return lost_; }
  // Time of the last look that found new data, or a new connection; 0: none yet.
  [[nodiscard]] TimeNs heard_ns() const { return heard_ns_; }
  [[nodiscard]] TimeNs lost_since_ns() const { return lost_since_ns_; }  // when it is

 private:
  DurationNs silence_ns_;
  std::uint64_t bytes_ = 0;
  TimeNs looked_ns_ = 0;
  TimeNs lost_since_ns_ = 0;
  TimeNs heard_ns_ = 0;
  DurationNs silent_ns_ = 0;
  std::uint32_t asked_ = 0;  // in this silence
  bool connected_ = false;
  bool lost_ = false;
};

}  // namespace weir::dcm
