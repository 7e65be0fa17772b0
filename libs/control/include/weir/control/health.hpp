#pragma once

#include <weir/base/held_up.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/states.hpp>
#include <weir/control/trigger_flow.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How a farm is, in words that the page, `weir ctl status` and `weir top` share.
namespace weir::control {

enum class Gravity : std::uint8_t {
  good,
  waiting,  // on its way, or where an operator wants it: nothing is wrong
  warning,  // it goes on, with less than it could, or something is lost
  error     // it does not do what it is there for, or data are lost until a person acts
};
[[nodiscard]] std::optional<Gravity> gravity_of(std::string_view name);
[[nodiscard]] std::string_view name(Gravity gravity);  // "good", …
struct Finding {
  Gravity gravity = Gravity::good;
  std::string word;    // "blocked", "no DCM", "running": for a badge
  std::string reason;  // why, and what helps, without a full stop; empty: nothing to say
  bool operator==(const Finding&) const = default;
};

// What came to nothing lately, by its name in the account: "discarded.lease_expired", "missing.deadline".
struct LostLately {
  std::string what;
  std::uint64_t count = 0;
  bool operator==(const LostLately&) const = default;
};

struct HealthView {
  State state = State::idle;
  std::string reason;                  // of State::error
  std::string refusal;                 // of the last `configure`; empty: it was not refused
  std::optional<Command> under_way;    // a transition,
  std::vector<std::string> waits_for;  // and the members that it waits for
  RunNumber run;
  DurationNs up_ns = 0;   // since run control was started
  bool recalled = false;  // run control went on from what an earlier process had known
  DurationNs heartbeat_ns = kSecond;
  struct Process {
    std::string name;
    Role role = Role::dcm;
    bool essential = false;
    bool live = false;
    bool known = false;  // this run control has heard of it
    bool excluded = false;
    bool inactive = false;
    State state = State::idle;
    bool over = false;         // its part of the run has ended
    std::string reason;        // of State::error
    DurationNs silent_ns = 0;  // since its last word; where `known`
    std::uint32_t losses = 0;  // times that it was lost in this run
    DurationNs since_loss_ns = 0;
    // What it says holds it up, in a run: how, the reason's name, what that means, and the process that
    // causes it.
    Hold held = Hold::none;
    std::string held_by;   // "WRITER_DISK_FULL"
    std::string sentence;  // empty: a reason that is not known
    std::string cause;     // "writer-0"
  };
  std::vector<Process> processes;  // those of the plan
  // Of the supervisor's reports: see RunProgress.
  DurationNs unsettled_ns = 0;
  std::uint64_t in_flight = 0;
  std::vector<LostLately> lost;
  // Triggers: see TriggerFlow. A figure beyond its limit has a value.
  struct Flow {
    std::optional<DurationNs> silent_ns;
    bool had_triggers = true;
    std::optional<double> rate;  // of the mean rate:
    double mean_rate = 0;
    std::optional<double> live_share;
  };
  Flow flow;
  bool draining = false;  // no more triggers in this run
  bool off = false;       // `off` was given
  bool over = false;      // the farm ends, and is to: `off`, or the one run of `weir run` is over
  // The last run, where none is on.
  struct LastRun {
    RunNumber run;
    bool accounted = true;  // its supervisor gave an account
    bool balanced = true;
    bool faults = false;
    std::string reason;  // why it ended
    std::string fault;   // the first one that the account names; empty: it is not at hand
    bool began = true;
    bool was_reset = false;               // by an operator
    std::uint64_t discarded_at_stop = 0;  // slices in flight
  };
  std::optional<LastRun> last;
};

// Everything that is to be said of a farm, the worst first, and among equals what others follow from; never
// empty: a farm of which there is nothing to say is "running", "ready", … Pure.
[[nodiscard]] std::vector<Finding> health_of(const HealthView& view);
// "blocked: writer-0: …", or the word alone.
[[nodiscard]] std::string sentence(const Finding& finding);

// Whether a run gets on, of the supervisor's counts. Pure; times ascend.
class RunProgress {
 public:
  struct Counts {
    RunNumber run;
    std::uint64_t settled = 0;
    std::uint64_t in_flight = 0;
    std::map<std::string, std::uint64_t> lost;  // totals by LostLately::what
  };
  // Another run, or less than before, begins anew. At most one look in kApart counts.
  void take(const Counts& counts, TimeNs now);
  void clear() { *this = {}; }

  // Since when slices are in flight and none is settled; 0: it gets on, or has nothing to do.
  [[nodiscard]] DurationNs unsettled_ns(TimeNs now) const;
  [[nodiscard]] std::uint64_t in_flight() const { return last_.in_flight; }
  // Between the oldest look in kWindow and the last one; nothing that is zero.
  [[nodiscard]] std::vector<LostLately> lost_lately() const;

  static constexpr DurationNs kWindow = 10 * kSecond;
  static constexpr DurationNs kApart = kSecond;

 private:
  struct Look {
    TimeNs at = 0;
    std::map<std::string, std::uint64_t> lost;
  };
  Counts last_;
  std::deque<Look> looks_;
  TimeNs settled_at_ = 0;
};

}  // namespace weir::control
