#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::run {

// From a run's end to that of its last process: a process that does not end by itself is told to, then
// killed. Pure.
class Ending {
 public:
  static constexpr DurationNs kOwnPatience = 10 * kSecond;  // for processes to end by themselves
  static constexpr DurationNs kTermPatience = 3 * kSecond;  // from SIGTERM to SIGKILL

  enum class Push : std::uint8_t { none, terminate, kill };

  // The run is over and accounted for: its processes know.
  void settle(TimeNs now);
  // They are to end now.
  void terminate(TimeNs now);
  void kill();
  // What is to be done to those that are still there; each once, kill again and again.
  [[nodiscard]] Push due(TimeNs now);

 private:
  enum class State : std::uint8_t { none, settled, to_terminate, terminated, killed };
  State state_ = State::none;
  TimeNs until_ns_ = 0;
};

}  // namespace weir::run
