// How members are led, order by order, to the farm's goal.
#include <weir/base/assert.hpp>
#include <weir/control/farm_machine.hpp>

#include <algorithm>

namespace weir::control {

std::string_view name(Duty duty) {
  return duty == Duty::essential ? "essential" : duty == Duty::dynamic ? "dynamic" : "transient";
}

bool FarmMachine::waited_for(const Member& member) const {
  if (member.removed || member.plan.duty == Duty::transient) return false;
  if (is_pausing()) return &member == &supervisor();
  if (off_) return member.live;
  if (member.plan.duty == Duty::essential) return true;
  if (member.inactive) return false;
  // Only a reset gets it out of this state.
  if (member.live && member.told.state == State::error && goal_ != State::idle) return false;
  // `init` waits for all members; later commands do not wait for absent ones.
  return member.live || under_way_ == Command::init;
}

bool FarmMachine::arrived(const Member& member) const {
  if (off_) return !member.live;
  if (!member.live || member.order) return false;
  const MemberState& told = member.told;
  switch (goal_) {
    case State::idle:
      return told.state == State::idle;
    case State::standby:
      return told.state == State::standby;
    case State::ready:
      return told.state == State::ready && told.epoch == epoch_;
    case State::running: {
      if (told.run == run_ && told.ended) return true;  // removed from the run
      const bool in_run = told.run == run_ && told.in_run();
      if (member.plan.role != Role::supervisor) return in_run;
      // One that was started again does not know yet whether its run is paused.
      if (!in_run || !told.begun) return false;
      if (under_way_ == Command::pause) return told.state == State::paused;
      if (under_way_ == Command::continue_run) return told.state == State::running;
      return true;
    }
    default:
      return true;
  }
}

bool FarmMachine::run_has_supervisor() const {
  const Member& leader = supervisor();
  return leader.live && leader.told.run == run_ && !leader.told.ended && leader.told.in_run();
}

// Returns the supervisor's next command in the current run.
std::optional<Command> FarmMachine::step_in_run(const MemberState& told) const {
  if (under_way_ == Command::stop) return Command::stop;
  if (!told.begun) return std::nullopt;
  if (under_way_ == Command::pause && told.state == State::running) return Command::pause;
  if (under_way_ == Command::continue_run && told.state == State::paused) return Command::continue_run;
  return std::nullopt;
}

// Returns the next command on this member's way to the goal.
std::optional<Command> FarmMachine::next_step(const Member& member) const {
  const MemberState& told = member.told;
  if (off_) return told.in_run() ? Command::reset : Command::off;
  if (told.state == State::error) {
    if (goal_ == State::idle) return Command::reset;
    return std::nullopt;
  }
  switch (goal_) {
    case State::idle:
      if (told.state != State::idle) return Command::reset;
      return std::nullopt;
    case State::standby:
      if (told.state == State::idle) return Command::init;
      return std::nullopt;
    case State::ready:
    case State::running:
      break;
    default:
      return std::nullopt;
  }
  if (told.state == State::idle) return Command::init;
  if (told.state == State::standby) return Command::configure;
  const bool is_supervisor = &member == &supervisor();
  if (told.in_run()) {
    // In a run from before a restart of run control.
    if (told.run != run_) return Command::reset;
    // A supervisor that returns after its run was given up still has the account.
    if (is_supervisor && !run_open_ && told.begun && !told.ended) return Command::stop;
    // The others end their part when the supervisor reports the end of the run.
    return is_supervisor ? step_in_run(told) : std::nullopt;
  }
  if (told.epoch != epoch_) return Command::configure;
  // A run that is being stopped continues until it has stopped, and needs a member that returns.
  if (!run_open_ || (told.run == run_ && told.ended && !member.again)) return std::nullopt;
  return is_supervisor || run_has_supervisor() ? std::optional(Command::start) : std::nullopt;
}

void FarmMachine::give(std::size_t index, Command command, TimeNs now, FarmActions& out) {
  Member& member = members_[index];
  Order order;
  order.member = index;
  order.id = ++last_order_;
  order.command = command;
  order.epoch = epoch_;
  order.run = run_;
  if (command == Command::stop) order.reason = stop_reason_;
  if (command == Command::start) {
    member.again = false;
    for (const Member& other : members_) {
      if (!other.live || other.removed || other.inactive) order.absent.push_back(other.plan.name);
    }
  }
  DurationNs limit = deadlines_.order_ns;
  if (command == Command::configure) limit = order.limit_ns = deadlines_.configure_ns;
  if (command == Command::start) limit = order.limit_ns = deadlines_.start_ns;
  if (command == Command::stop) limit = order.limit_ns = deadlines_.stop_ns;
  // If this transition began earlier, less time is left.
  if (order.limit_ns > 0 && under_way_ == command)
    order.limit_ns = std::max<DurationNs>(kMillisecond, until_ns_ - now);
  member.order = order;
  member.order_until_ns = now + limit;
  out.orders.push_back(std::move(order));
}

void FarmMachine::steer(TimeNs now, FarmActions& out) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (!member.live || (member.inactive && !member.retried) || member.order) continue;
    if (member.removed && !off_ && goal_ != State::idle) continue;
    if (const auto step = next_step(member)) give(i, *step, now, out);
  }
}

std::string FarmMachine::names_of_late(bool essential_only) const {
  std::string names;
  for (const Member& member : members_) {
    if (!waited_for(member) || arrived(member)) continue;
    if (essential_only && member.plan.duty != Duty::essential) continue;
    names += (names.empty() ? "" : ", ") + member.plan.name;
    names += member.live ? " (" + std::string(name(member.told.state)) + ")" : " (not there)";
  }
  return names;
}

std::vector<std::string> FarmMachine::waits_for() const {
  std::vector<std::string> names;
  for (const Member& member : members_) {
    if (under_way_ && waited_for(member) && !arrived(member)) names.push_back(member.plan.name);
  }
  return names;
}

std::optional<std::size_t> FarmMachine::find(std::string_view wanted) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& one) { return one.plan.name == wanted; });
  if (found == members_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - members_.begin());
}

bool FarmMachine::all_gone() const {
  return off_ && std::none_of(members_.begin(), members_.end(), [](const Member& one) { return one.live; });
}

Remembered FarmMachine::remembered() const {
  Remembered kept{goal_, run_, epoch_, run_open_, {}};
  for (const Member& member : members_) {
    if (member.removed) kept.removed.push_back({member.plan.name, member.removed_by});
  }
  return kept;
}

void FarmMachine::recall(const Remembered& remembered, TimeNs now) {
  WEIR_ASSERT(!under_way_ && epoch_ == 0);
  run_ = remembered.run;
  epoch_ = remembered.epoch;
  run_open_ = remembered.run_open;
  for (const Remembered::Removed& one : remembered.removed) {
    const auto member = find(one.name);
    if (!member) continue;
    members_[*member].removed = true;
    members_[*member].removed_by = one.by;
  }
  goal_ = remembered.goal;
  state_ = goal_;
  if (run_open_ && goal_ == State::ready) {
    // The run was being stopped, and its supervisor has not reported the end.
    state_ = State::running;
    stop_reason_ = "stopped";
    begin(Command::stop, State::ready, deadlines_.stop_ns, now);
  }
  if (goal_ == State::error) reason_ = "it was before run control restarted";
  // Each member has as long to report as a lost process has to return.
  for (Member& member : members_) member.gone_ns = now;
}

}  // namespace weir::control
