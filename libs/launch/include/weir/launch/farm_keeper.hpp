#pragma once

#include <weir/base/time.hpp>
#include <weir/launch/restarts.hpp>
#include <weir/v1/farm.pb.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace weir::launch {

// From the first signal to SIGKILL: a minute, or as long as the farm file lets a run drain, if that is more.
[[nodiscard]] DurationNs drain_patience(const v1::Farm& farm);
// From the end of run control that has ended the farm to SIGTERM for whoever still runs, and to SIGKILL.
constexpr DurationNs kOffGrace = 2 * kSecond;
constexpr DurationNs kOffPatience = 10 * kSecond;

// What `weir up` does about its processes: who is started again, who is told to end and when, who is killed.
// Processes are named by their place in the order of add(); calls with others are bugs (asserted). Pure.
class FarmKeeper {
 public:
  enum class Kind : std::uint8_t { control, supervisor, other };
  enum class Verdict : std::uint8_t {
    over,          // it was told to end
    starts_again,  // turn() says when
    given_up,      // it has died too often
  };
  struct Deeds {
    std::vector<std::size_t> start;      // these, now: started(), or ended() if that fails
    std::vector<std::size_t> terminate;  // SIGTERM to these
    bool kill = false;                   // SIGKILL to all that run
  };

  explicit FarmKeeper(DurationNs patience) : patience_(patience) {}

  // A process that runs. Run control is the first, and there is no other of its kind.
  void add(Kind kind);
  void started(std::size_t process);
  // With status 0, or otherwise. What run control has said before is to be known by then.
  [[nodiscard]] Verdict ended(std::size_t process, bool well, TimeNs now_ns);
  // Run control ends the farm: it tells the processes to end, and ends itself when it knows of none any
  // more. May be said again.
  void off() { off_ = true; }
  // Whoever started the farm wants its end; told a second time, at once.
  void signalled(TimeNs now_ns);
  [[nodiscard]] Deeds turn(TimeNs now_ns);
  [[nodiscard]] bool everyone_over() const;

 private:
  struct Process {
    Kind kind = Kind::other;
    Restarts restarts;
    bool running = true;
    std::optional<TimeNs> start_at;
    bool told = false;  // to end
    bool over = false;
  };
  void end_by_signal(Deeds& deeds);
  void end_by_control(TimeNs now_ns, Deeds& deeds);
  void terminate(std::size_t process, Deeds& deeds);
  void give_up_waiting(Process& process);
  [[nodiscard]] bool all_but_control_over() const;

  DurationNs patience_;
  std::vector<Process> processes_;
  bool off_ = false;
  int signals_ = 0;
  std::optional<TimeNs> off_since_;  // run control has ended
  std::optional<TimeNs> kill_at_;
};

}  // namespace weir::launch
