#pragma once

#include <weir/base/held_up.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/filter_flow.hpp>
#include <weir/control/frozen.hpp>
#include <weir/control/states.hpp>
#include <weir/control/trigger_flow.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The farm's health, in words shared by the page, `weir ctl status` and `weir top`.
namespace weir::control {

enum class Gravity : std::uint8_t {
  good,
  waiting,  // in a transition, or idle by an operator's choice: nothing is wrong
  warning,  // continues with reduced capacity, or with some losses
  error     // does not do its work, or loses data until a person acts
};
[[nodiscard]] std::optional<Gravity> gravity_of(std::string_view name);
[[nodiscard]] std::string_view name(Gravity gravity);  // "good", …
struct Finding {
  Gravity gravity = Gravity::good;
  std::string word;  // "blocked", "no DCM", "running": for a badge
  // Cause and remedy, without a full stop; may be empty. Stays the same while the finding lasts: it contains
  // no growing time, so that repeats can be recognised.
  std::string reason;
  std::optional<DurationNs> lasts_ns = std::nullopt;  // since its cause began; nullopt: unknown
  // Compares all but the time.
  bool operator==(const Finding& other) const {
    return gravity == other.gravity && word == other.word && reason == other.reason;
  }
};

// Recent losses, by their name in the account: "discarded.lease_expired", "missing.deadline",
// "vetoed.duplicate_id"; and kOffered, the triggers of the same time.
struct LostLately {
  std::string what;
  std::uint64_t count = 0;
  bool operator==(const LostLately&) const = default;
};

inline constexpr std::string_view kOffered = "offered";
// True if a trigger with this veto was refused for its content, as "duplicate_id"; false for back-pressure,
// as "throttled".
[[nodiscard]] bool is_refusal(std::string_view veto);

struct HealthView {
  State state = State::idle;
  std::string reason;                  // of State::error
  std::string refusal;                 // of the last `configure`; empty: it was not refused
  std::optional<Command> under_way;    // a transition in progress,
  std::vector<std::string> waits_for;  // and the members for which it waits
  RunNumber run;
  DurationNs up_ns = 0;   // since run control was started
  bool recalled = false;  // run control resumed from the state of an earlier process
  DurationNs heartbeat_ns = kSecond;
  struct Process {
    std::string name;
    Role role = Role::dcm;
    bool essential = false;
    bool live = false;
    bool known = false;  // it has reported to this run control
    bool removed = false;
    std::optional<DurationNs> removed_since_ns;  // nullopt: since before run control was started
    std::string removed_by;                      // empty: unknown
    bool inactive = false;
    State state = State::idle;
    bool over = false;         // its part of the run has ended
    std::string reason;        // of State::error
    DurationNs silent_ns = 0;  // since its last report, if `known`
    std::uint32_t losses = 0;  // how often it was lost in this run
    DurationNs since_loss_ns = 0;
    std::uint32_t deaths = 0;  // how often another process took its place
    DurationNs since_death_ns = 0;
    Freeze freeze;         // of a supervisor that is not heard
    std::string last_end;  // of the process before it: "signal 11 (Segmentation fault)"; empty: unknown
    std::string group;     // of a DCM; empty in a farm without groups
    std::string host;      // empty: unknown
    std::uint64_t ring_missed = 0;  // slices of this run that the disk of its burst ring did not take
    // Its own report of a hold-up during a run: how, the reason's name, its meaning, and the process that
    // causes it.
    Hold held = Hold::none;
    std::string held_by;   // "WRITER_DISK_FULL"
    std::string sentence;  // empty: an unknown reason
    std::string cause;     // "writer-0"
    // The slice that has been in its filter longest, if that is longer than a step may take.
    DurationNs filter_held_ns = 0;
    std::string filter_held;     // its number
    bool has_workers = false;    // filters are in workers
    std::string silent_sources;  // of a readout: "source 3, source 4"; empty: none
    std::string other_plane;     // of a DCM: "b instead of a"; empty: it receives through its own plane
    std::string out_of_step;     // of a readout: "source 3 out of step by -1 since slice 4711"; empty: none
  };
  std::vector<Process> processes;  // those of the plan
  // From the supervisor's reports: see RunProgress.
  DurationNs unsettled_ns = 0;
  std::uint64_t in_flight = 0;
  std::vector<LostLately> lost;
  // Slices of a group of DCMs that are assigned or wait, and the largest number of waiting ones; by name.
  struct Group {
    std::uint64_t slices = 0;
    std::uint64_t pending_max = 0;
  };
  std::map<std::string, Group> groups;
  std::vector<FilterLately> filters;
  double filter_error_share_max = 0.01;
  // Triggers: see TriggerFlow. A number is set only if it is beyond its limit.
  struct Flow {
    std::optional<DurationNs> silent_ns;
    bool had_triggers = true;
    std::optional<double> rate;  // of the mean rate:
    double mean_rate = 0;
    std::optional<double> live_share;
  };
  Flow flow;
  // Run control's records, in control.out.
  struct Records {
    std::string folder;
    std::optional<std::uint64_t> free_bytes;  // set only if little is free
    std::vector<std::string> unwritten;       // "the end record of run 7"
    std::string why;                          // "cannot write '…': No space left on device"
  };
  Records records;
  std::vector<MissingDisk> missing_disks;  // of run control and live processes
  std::vector<DiskUse> disks;              // with folders of the farm
  std::vector<std::string> full;           // sentences about processes that use their core fully
  bool draining = false;                   // no more triggers in this run
  bool off = false;                        // `off` was given
  bool over = false;  // the farm ends on purpose: after `off`, or after the only run of `weir run`
  // The last run, while no run is in progress.
  struct LastRun {
    RunNumber run;
    bool accounted = true;  // its supervisor gave an account
    bool balanced = true;
    bool faults = false;
    std::string reason;   // why it ended
    std::string failure;  // of a run that failed with a balanced ledger; empty: none
    std::string fault;    // the first fault in the account; empty: unknown
    bool began = true;
    bool was_reset = false;               // by an operator
    std::uint64_t discarded_at_stop = 0;  // slices in flight
  };
  std::optional<LastRun> last;
};

// Returns all findings about a farm: the worst first, and among equals the causes before their consequences.
// Never empty: a farm without findings is "running", "ready", … Pure.
[[nodiscard]] std::vector<Finding> health_of(const HealthView& view);
// Returns "blocked: writer-0: …", or the word alone.
[[nodiscard]] std::string sentence(const Finding& finding);

// Measures a run's progress from the supervisor's counts. Pure; times ascend.
class RunProgress {
 public:
  struct Counts {
    RunNumber run;
    std::uint64_t settled = 0;
    std::uint64_t in_flight = 0;
    std::map<std::string, std::uint64_t> lost;  // totals by LostLately::what
  };
  // Adds counts. Another run, or a smaller count, starts anew. At most one sample per kApart is kept.
  void take(const Counts& counts, TimeNs now);
  void clear() { *this = {}; }

  // Returns how long slices have been in flight without any being settled; 0: progress, or no work.
  [[nodiscard]] DurationNs unsettled_ns(TimeNs now) const;
  [[nodiscard]] std::uint64_t in_flight() const { return last_.in_flight; }
  // Returns the losses between the oldest sample in kWindow and the last one, without zeros.
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
