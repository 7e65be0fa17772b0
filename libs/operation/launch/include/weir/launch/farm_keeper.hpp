#pragma once

#include <weir/base/time.hpp>
#include <weir/launch/restarts.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::launch {

// Returns the time from the first signal to SIGKILL: a minute, or the longest time that a run may take to end
// (config::stop_limit) if that is more.
[[nodiscard]] DurationNs drain_patience(DurationNs stop_limit);
// Times from the end of a run control that has ended the farm to SIGTERM for the remaining processes, and to
// SIGKILL.
constexpr DurationNs kOffGrace = 2 * kSecond;
constexpr DurationNs kOffPatience = 10 * kSecond;
// Time after a signal for which only processes remain that are stopped (SIGSTOP), to SIGKILL for these.
constexpr DurationNs kStoppedPatience = 2 * kSecond;

// Decides for `weir up` which processes are restarted, which are terminated and when, and which are killed.
// Processes are named by their place in the order of add(); any other index is a bug (asserted). Pure.
class FarmKeeper {
 public:
  enum class Kind : std::uint8_t { control, supervisor, other };
  enum class Verdict : std::uint8_t {
    over,          // it ended on request
    starts_again,  // turn() returns when
    given_up,      // it has died too often
  };
  struct Deeds {
    std::vector<std::size_t>
        start;  // to be started now: answer with started(), or with ended() if that fails
    std::vector<std::size_t> terminate;  // processes to send SIGTERM
    std::vector<std::size_t> end;        // processes to send SIGKILL
    bool kill = false;                   // SIGKILL to all running processes
  };

  explicit FarmKeeper(DurationNs patience) : patience_(patience) {}

  // Adds a running process. Run control is the first, and the only one of its kind.
  void add(Kind kind);
  void started(std::size_t process);
  // The process has ended; `well`: with status 0. Requires: run control's earlier output has been handled.
  [[nodiscard]] Verdict ended(std::size_t process, bool well, TimeNs now_ns);
  // Run control ends the farm: it orders the processes to end, and ends itself once none is left. May be
  // called again.
  void off() { off_ = true; }
  // A signal requests the farm's end; a second one requests it at once.
  void signalled(TimeNs now_ns);
  // `stopped`: running processes that a signal has stopped.
  [[nodiscard]] Deeds turn(TimeNs now_ns, std::span<const std::size_t> stopped = {});
  [[nodiscard]] bool everyone_over() const;

 private:
  struct Process {
    Kind kind = Kind::other;
    Restarts restarts;
    bool running = true;
    std::optional<TimeNs> start_at;
    bool told = false;  // SIGTERM was sent
    bool over = false;
  };
  void end_by_signal(Deeds& deeds);
  void end_stopped(TimeNs now_ns, std::span<const std::size_t> stopped, Deeds& deeds);
  void end_by_control(TimeNs now_ns, Deeds& deeds);
  void terminate(std::size_t process, Deeds& deeds);
  void give_up_waiting(Process& process);
  [[nodiscard]] bool all_but_control_over() const;

  DurationNs patience_;
  std::vector<Process> processes_;
  bool off_ = false;
  int signals_ = 0;
  std::optional<TimeNs> off_since_;  // when run control ended
  std::optional<TimeNs> kill_at_;
  std::optional<TimeNs> stopped_since_;  // since when only stopped processes are awaited
};

}  // namespace weir::launch
