#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::run {

// From the end of a run to the end of its last process: a process that does not end by itself is terminated,
// then killed. Pure.
class Ending {
 public:
  static constexpr DurationNs kOwnPatience = 10 * kSecond;  // for processes to end by themselves
  static constexpr DurationNs kTermPatience = 3 * kSecond;  // from SIGTERM to SIGKILL

  enum class Push : std::uint8_t { none, terminate, kill };

  // The run is over and has its account: its processes end by themselves.
  void settle(TimeNs now);
  // The processes have to end now.
  void terminate(TimeNs now);
  void kill();
  // Returns the signal for the remaining processes: terminate once, kill repeatedly.
  [[nodiscard]] Push due(TimeNs now);

 private:
  enum class State : std::uint8_t { none, settled, to_terminate, terminated, killed };
  State state_ = State::none;
  TimeNs until_ns_ = 0;
};

}  // namespace weir::run
