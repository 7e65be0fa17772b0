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

// What a farm does without a member.
enum class Duty : std::uint8_t {
  essential,  // there is no run without it: one that is on is stopped when it stays away
  dynamic,  // it is waited for at each transition while it is there; the run goes on without it, and takes it
            // back
  transient,  // it is never waited for
};
[[nodiscard]] std::string_view name(Duty duty);

struct MemberPlan {
  std::string name;
  Role role = Role::readout;
  Duty duty = Duty::dynamic;
};

struct Deadlines {
  DurationNs order_ns = 10 * kSecond;      // from an order to its answer; then the member is inactive
  DurationNs configure_ns = 20 * kSecond;  // the same of `configure`
  DurationNs init_ns = 20 * kSecond;       // for members of the plan to appear at `init`
  DurationNs start_ns = 30 * kSecond;      // from `start` to the run's begin
  DurationNs stop_ns = 60 * kSecond;       // from `stop` to `ready`, then members that are not are reset
  DurationNs silence_ns = 5 * kSecond;     // a member that says nothing for so long is not there
  DurationNs return_ns = 30 * kSecond;     // for an essential member to be back in a run
};

// What a member says of itself.
struct MemberState {
  State state = State::idle;
  RunNumber run;            // that is on, or the last one
  std::uint64_t epoch = 0;  // of its configuration
  bool begun = false;       // supervisor: the run has begun
  bool ended = false;       // its part of `run` is over
  bool draining = false;    // supervisor: no more triggers in this run
  std::string reason;       // of an error; or what holds it up
  [[nodiscard]] bool in_run() const { return state == State::running || state == State::paused; }
};

// To one member. `id` comes back with its answer.
struct Order {
  std::size_t member = 0;
  std::uint64_t id = 0;
  Command command = Command::init;
  RunNumber run;                    // start
  std::uint64_t epoch = 0;          // configure
  std::vector<std::string> absent;  // start, to the supervisor: the nodes that it does not wait for
  std::string reason;               // stop
  DurationNs limit_ns =
      0;  // configure: for the answer; start: until the run has begun; stop: until the account is due
};

enum class Level : std::uint8_t { info, warning, error };
struct Event {
  Level level = Level::info;
  std::string text;  // a sentence
};

// Begins LostRun::why of a run that an operator reset.
inline constexpr std::string_view kResetReason = "it was reset";

// A run that is given up: its supervisor has not ended it, and is not waited for any more.
struct LostRun {
  RunNumber run;
  bool begun = false;
  std::string why;  // a sentence without a full stop
};

struct Actions {
  std::vector<Order> orders;
  std::vector<Event> events;
  bool run_over = false;  // the supervisor has ended its run
  std::optional<LostRun> lost;
  void clear() { *this = {}; }
};

// One process as the farm sees it.
struct Member {
  MemberPlan plan;
  bool live = false;
  bool inactive = false;  // refused what it was told, or did not do it in time; not waited for until it joins
                          // anew, answers after all, or an operator wants something else
  bool excluded = false;  // removed by an operator
  Incarnation incarnation;
  MemberState told;
  TimeNs heard_ns = 0;
  TimeNs gone_ns = 0;        // since when it is not live, or inactive
  std::uint32_t losses = 0;  // times that it was lost in the run that is on,
  TimeNs lost_ns = 0;        // and when last
  std::optional<Order> order;
  TimeNs order_until_ns = 0;
  bool again = false;  // takes part again in a run that it was sent away from
};

// What has to outlive run control's process.
struct Remembered {
  State goal = State::idle;
  RunNumber run;
  std::uint64_t epoch = 0;
  bool run_open = false;  // the run was started, and its supervisor has not said that it is over
  std::vector<std::string> excluded;
  bool operator==(const Remembered&) const = default;
};

// Run control's decisions: where the farm is to be, where each member is, and what each is ordered next. Each
// member is led to the goal step by step, so one that comes late, or comes back, takes the way of all others.
// Pure: time comes in, orders go out. Members are named by their place in the plan; calls with others are
// bugs (asserted).
class FarmMachine {
 public:
  // `one_run`: processes end with the run, which is not a loss.
  FarmMachine(std::vector<MemberPlan> plan, const Deadlines& deadlines, bool one_run = false);

  // An operator's command. The error is a sentence: it has no place now, or a transition is under way.
  // `start` needs a `run` above all before it; `stop`, a reason. `off` stops the run that is on first.
  [[nodiscard]] Expected<void, std::string> command(Command command, RunNumber run, const std::string& reason,
                                                    TimeNs now, Actions& out);
  // Takes a member out of the farm, or in again. In a run the supervisor has to be told too.
  [[nodiscard]] Expected<void, std::string> exclude(std::size_t member, bool on, TimeNs now, Actions& out);
  // Whether exclude() takes it; the error is the same. What other members do changes nothing.
  [[nodiscard]] Expected<void, std::string> can_exclude(std::size_t member, bool on) const;
  // Takes a member out of `error`: it is reset, and led to where the farm is. One that is not in error, and
  // the supervisor, whose errors are the farm's, are refused.
  [[nodiscard]] Expected<void, std::string> readmit(std::size_t member, TimeNs now, Actions& out);

  // The process says that it is there: a new one, or one that run control lost sight of.
  void joined(std::size_t member, Incarnation incarnation, const MemberState& state, TimeNs now,
              Actions& out);
  void heard(std::size_t member, const MemberState& state, TimeNs now, Actions& out);
  // `wrong_settings`: it refuses the settings of the farm. `configure` is then refused as a whole.
  void answered(std::size_t member, std::uint64_t order, bool good, const std::string& error,
                const MemberState& state, TimeNs now, Actions& out, bool wrong_settings = false);
  // `awaited`: its run is over, and it was to end with it.
  void left(std::size_t member, TimeNs now, Actions& out, bool awaited = false);
  // The run's account has arrived; of one run, before its supervisor ends.
  void accounted() { accounted_ = true; }
  void tick(TimeNs now, Actions& out);

  // Where the farm is; during a transition, where it comes from.
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::optional<Command> under_way() const { return under_way_; }
  [[nodiscard]] std::vector<std::string> waits_for() const;  // names of those that the transition waits for
  [[nodiscard]] const std::string& reason() const { return reason_; }  // of `error`
  // Why the last `configure` was refused; empty: it was not, or another transition has begun since.
  [[nodiscard]] const std::string& why_refused() const { return refusal_; }
  [[nodiscard]] RunNumber run() const { return run_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] bool going_off() const { return off_; }  // no process of the farm is to come back
  [[nodiscard]] bool all_gone() const;                   // after `off`
  // No process is expected any more: `off`, or the one run is over.
  [[nodiscard]] bool is_over() const {
    return off_ || (one_run_ && (accounted_ || (run_.value != 0 && !run_open_)));
  }
  // A farm of one run whose processes end now, one after another.
  [[nodiscard]] bool is_ending() const { return is_over() || (one_run_ && supervisor().told.draining); }

  [[nodiscard]] Remembered remembered() const;
  // Before anything else: goes on from what an earlier process knew. Members say where they are.
  void recall(const Remembered& remembered, TimeNs now);

 private:
  [[nodiscard]] bool waited_for(const Member& member) const;
  [[nodiscard]] bool arrived(const Member& member) const;
  [[nodiscard]] std::optional<Command> next_step(const Member& member) const;
  [[nodiscard]] std::optional<Command> step_in_run(const MemberState& told) const;
  [[nodiscard]] bool run_has_supervisor() const;
  // `pause` or `continue` is under way: the supervisor alone does it.
  [[nodiscard]] bool is_pausing() const {
    return under_way_ == Command::pause || under_way_ == Command::go_on;
  }
  void count_loss(Member& member, TimeNs now);
  void take_state(Member& member, const MemberState& state, Actions& out);
  void begin(Command command, State goal, DurationNs limit, TimeNs now);
  void give(std::size_t member, Command command, TimeNs now, Actions& out);
  void steer(TimeNs now, Actions& out);
  void watch_orders(TimeNs now, Actions& out);
  void watch_silence(TimeNs now, Actions& out);
  void watch_run(TimeNs now, Actions& out);
  void watch_transition(TimeNs now, Actions& out);
  void transition_late(TimeNs now, Actions& out);
  void set_inactive(Member& member, TimeNs now);
  void refuse_configure(const std::string& why, Actions& out);
  void give_up_pause(const std::string& why, Actions& out);
  void end_transition(State state, Actions& out);
  void close_run(TimeNs now, Actions& out);
  void lose_run(const std::string& why, Actions& out);
  void begin_off(TimeNs now);
  void fail(const std::string& reason, Actions& out);
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
  bool off_next_ = false;   // when the run that is being stopped is over
  bool resetting_ = false;  // stragglers of a stop were told to reset
};

}  // namespace weir::control
