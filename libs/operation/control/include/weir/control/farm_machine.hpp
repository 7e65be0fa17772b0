#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/control/states.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

// How much a farm depends on a member.
enum class Duty : std::uint8_t {
  essential,  // no run without it: the run is stopped if it stays away
  dynamic,    // each transition waits for it while it is connected; the run continues without it, and takes
              // it back
  transient,  // never waited for
};
[[nodiscard]] std::string_view name(Duty duty);

struct MemberPlan {
  std::string name;
  Role role = Role::readout;
  Duty duty = Duty::dynamic;
};

struct Deadlines {
  DurationNs order_ns = 10 * kSecond;      // from an order to its answer; after that the member is inactive
  DurationNs configure_ns = 20 * kSecond;  // the same for `configure`
  DurationNs init_ns = 20 * kSecond;       // for members of the plan to appear at `init`
  DurationNs start_ns = 30 * kSecond;      // from `start` to the run's begin
  DurationNs stop_ns = 60 * kSecond;       // from `stop` to `ready`; after that, late members are reset
  DurationNs silence_ns = 5 * kSecond;     // a member that is silent for longer is disconnected
  DurationNs return_ns = 30 * kSecond;     // for an essential member to return to a run
};

// A member's report of its own state.
struct MemberState {
  State state = State::idle;
  RunNumber run;            // the current run, or the last one
  std::uint64_t epoch = 0;  // of its configuration
  bool begun = false;       // supervisor: the run has begun
  bool ended = false;       // its part of `run` has ended
  bool draining = false;    // supervisor: no more triggers in this run
  std::string reason;       // of an error, or of a hold-up
  [[nodiscard]] bool in_run() const { return state == State::running || state == State::paused; }
};

// An order to one member. Its answer carries the same `id`.
struct Order {
  std::size_t member = 0;
  std::uint64_t id = 0;
  Command command = Command::init;
  RunNumber run;                    // start
  std::uint64_t epoch = 0;          // configure
  std::vector<std::string> absent;  // start, to the supervisor: the nodes for which it does not wait
  std::string reason;               // stop
  DurationNs limit_ns =
      0;  // configure: for the answer; start: until the run has begun; stop: until the account is due
};

enum class Level : std::uint8_t { info, warning, error };
struct Event {
  Level level = Level::info;
  std::string text;  // a sentence
};

// First words of LostRun::why for a run that an operator reset.
inline constexpr std::string_view kResetReason = "it was reset";

// A run that is given up: its supervisor has not ended it, and is no longer waited for.
struct LostRun {
  RunNumber run;
  bool begun = false;
  std::string why;  // a sentence without a full stop
};

struct FarmActions {
  std::vector<Order> orders;
  std::vector<Event> events;
  std::vector<std::size_t> without;  // members that refuse to take part in the run that begins
  bool run_over = false;             // the supervisor has ended its run
  std::optional<LostRun> lost;
  void clear() { *this = {}; }
};

// Run control's view of one process.
struct Member {
  MemberPlan plan;
  bool live = false;
  bool inactive = false;  // refused an order, or missed its deadline; not waited for until it rejoins,
                          // answers after all, or a new command is given
  // Inactive, and given the present command's orders all the same, until it has followed.
  bool retried = false;
  bool removed = false;    // removed by an operator,
  TimeNs removed_ns = 0;   // when; 0: before this run control was started,
  std::string removed_by;  // and by whom; empty: unknown
  Incarnation incarnation;
  MemberState told;
  TimeNs heard_ns = 0;
  TimeNs gone_ns = 0;        // start of its absence or inactivity
  std::uint32_t losses = 0;  // how often it was lost in the current run,
  TimeNs lost_ns = 0;        // and when last
  std::uint32_t deaths = 0;  // how often another process took its place in the current run,
  TimeNs died_ns = 0;        // and when last
  bool lost = false;         // it was lost in the current run, and has not returned
  std::optional<Order> order;
  TimeNs order_until_ns = 0;
  bool again = false;  // returns to a run from which it was removed
};

// State that has to survive run control's process.
struct Remembered {
  State goal = State::idle;
  RunNumber run;
  std::uint64_t epoch = 0;
  bool run_open = false;  // the run was started, and its supervisor has not reported its end
  struct Removed {
    std::string name;
    std::string by;
    bool operator==(const Removed&) const = default;
  };
  std::vector<Removed> removed;
  bool operator==(const Remembered&) const = default;
};

// Run control's decisions: the state of the farm and of each member, and the next order for each. Each member
// is led to the goal step by step, so that a late or returning one takes the same steps as the others. Pure:
// time comes in, orders go out. Members are named by their place in the plan; any other index is a bug
// (asserted).
class FarmMachine {
 public:
  // `one_run`: processes end with the run, which does not count as a loss.
  FarmMachine(std::vector<MemberPlan> plan, const Deadlines& deadlines, bool one_run = false);

  // Carries out an operator's command. Errors: not possible in this state, or a transition is in progress.
  // `start` needs a `run` above all earlier ones; `stop` needs a reason. `off` stops a current run first.
  [[nodiscard]] Expected<void, std::string> command(Command command, RunNumber run, const std::string& reason,
                                                    TimeNs now, FarmActions& out);
  // Removes a member from the farm, or adds it again; `by` is the operator. During a run the caller has to
  // inform the supervisor too.
  [[nodiscard]] Expected<void, std::string> set_removed(std::size_t member, bool on, TimeNs now,
                                                        FarmActions& out, const std::string& by = {});
  // Checks whether set_removed() is possible, with the same error. The other members' state does not matter.
  [[nodiscard]] Expected<void, std::string> can_remove(std::size_t member, bool on) const;
  // Leads a member out of `error`: it is reset, and then led to the farm's state. Refused for a member that
  // is not in error, and for the supervisor, because its errors are the farm's.
  [[nodiscard]] Expected<void, std::string> readmit(std::size_t member, TimeNs now, FarmActions& out);

  // A process has reported: a new one, or one that run control had lost.
  void joined(std::size_t member, Incarnation incarnation, const MemberState& state, TimeNs now,
              FarmActions& out);
  void heard(std::size_t member, const MemberState& state, TimeNs now, FarmActions& out);
  // `wrong_settings`: the member refuses the farm's settings. `configure` is then refused as a whole.
  void answered(std::size_t member, std::uint64_t order, bool good, const std::string& error,
                const MemberState& state, TimeNs now, FarmActions& out, bool wrong_settings = false);
  // `awaited`: its run is over, and it was expected to end.
  void left(std::size_t member, TimeNs now, FarmActions& out, bool awaited = false);
  // The account of a farm's only run has arrived, before its supervisor ends.
  void accounted() { accounted_ = true; }
  void tick(TimeNs now, FarmActions& out);

  // Returns the state of the farm; during a transition, the previous one.
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::optional<Command> under_way() const { return under_way_; }
  [[nodiscard]] std::vector<std::string> waits_for() const;  // names of members that the transition waits for
  [[nodiscard]] const std::string& reason() const { return reason_; }  // of `error`
  // Returns why the last `configure` was refused; empty if it was not, or if another transition has begun
  // since.
  [[nodiscard]] const std::string& why_refused() const { return refusal_; }
  [[nodiscard]] RunNumber run() const { return run_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] bool going_off() const { return off_; }  // no process of the farm will return
  [[nodiscard]] bool all_gone() const;                   // after `off`
  // True if no more processes are expected: after `off`, or when the only run is over.
  [[nodiscard]] bool is_over() const {
    return off_ || (one_run_ && (accounted_ || (run_.value != 0 && !run_open_)));
  }
  // True while the processes of a farm of one run end one after another.
  [[nodiscard]] bool is_ending() const { return is_over() || (one_run_ && supervisor().told.draining); }

  [[nodiscard]] Remembered remembered() const;
  // Resumes from the state of an earlier process; members report their own state. Requires: no other call was
  // made before.
  void recall(const Remembered& remembered, TimeNs now);

 private:
  [[nodiscard]] bool waited_for(const Member& member) const;
  [[nodiscard]] bool arrived(const Member& member) const;
  [[nodiscard]] std::optional<Command> next_step(const Member& member) const;
  [[nodiscard]] std::optional<Command> step_in_run(const MemberState& told) const;
  [[nodiscard]] bool run_has_supervisor() const;
  // True while `pause` or `continue` is in progress, which only the supervisor carries out.
  [[nodiscard]] bool is_pausing() const {
    return under_way_ == Command::pause || under_way_ == Command::continue_run;
  }
  void note_join(const Member& member, const MemberState& state, FarmActions& out);
  void count_loss(Member& member, TimeNs now);
  static void count_return(Member& member, Incarnation incarnation);
  void take_state(Member& member, const MemberState& state, FarmActions& out);
  void begin(Command command, State goal, DurationNs limit, TimeNs now);
  void give(std::size_t member, Command command, TimeNs now, FarmActions& out);
  void steer(TimeNs now, FarmActions& out);
  void watch_orders(TimeNs now, FarmActions& out);
  void watch_silence(TimeNs now, FarmActions& out);
  void watch_run(TimeNs now, FarmActions& out);
  void watch_transition(TimeNs now, FarmActions& out);
  void transition_late(TimeNs now, FarmActions& out);
  void set_inactive(Member& member, TimeNs now);
  void refuse_configure(const std::string& why, FarmActions& out);
  void give_up_pause(const std::string& why, FarmActions& out);
  void end_transition(State state, FarmActions& out);
  void close_run(TimeNs now, FarmActions& out);
  void lose_run(const std::string& why, FarmActions& out);
  void begin_off(TimeNs now);
  void fail(const std::string& reason, FarmActions& out);
  [[nodiscard]] Member& supervisor() { return members_[supervisor_]; }
  [[nodiscard]] const Member& supervisor() const { return members_[supervisor_]; }
  [[nodiscard]] std::string names_of_late(bool essential_only) const;

  std::vector<Member> members_;
  std::size_t supervisor_ = 0;
  Deadlines deadlines_;
  State state_ = State::idle;
  State goal_ = State::idle;
  std::optional<Command> under_way_;
  TimeNs until_ns_ = 0;  // of the transition
  RunNumber run_;
  std::uint64_t epoch_ = 0;
  std::uint64_t last_order_ = 0;
  std::string reason_;
  std::string stop_reason_;
  std::string refusal_;
  bool run_open_ = false;
  bool off_ = false;
  bool one_run_;
  bool accounted_ = false;
  bool off_next_ = false;   // once the run that is being stopped is over
  bool resetting_ = false;  // late members of a stop have been ordered to reset
};

}  // namespace weir::control
