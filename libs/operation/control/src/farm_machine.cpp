#include <weir/base/assert.hpp>
#include <weir/control/farm_machine.hpp>

#include <algorithm>
#include <utility>

namespace weir::control {
namespace {

Unexpected<std::string> refusal(const std::string& why) { return Unexpected<std::string>(why); }

}  // namespace

FarmMachine::FarmMachine(std::vector<MemberPlan> plan, const Deadlines& deadlines, bool one_run)
    : deadlines_(deadlines), one_run_(one_run) {
  for (MemberPlan& one : plan) members_.emplace_back().plan = std::move(one);
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [](const Member& one) { return one.plan.role == Role::supervisor; });
  WEIR_ASSERT(found != members_.end());  // every plan has one
  supervisor_ = static_cast<std::size_t>(found - members_.begin());
  found->plan.duty = Duty::essential;
}

// ---- commands of an operator

Expected<void, std::string> FarmMachine::command(Command command, RunNumber run, const std::string& reason,
                                                 TimeNs now, FarmActions& out) {
  if (under_way_ && command != Command::reset) {
    return refusal(std::string(name(*under_way_)) + " is under way: wait for it, or reset");
  }
  const std::optional<State> to = after(state_, command);
  if (!to) {
    return refusal("the farm is " + std::string(name(state_)) + ": " + std::string(name(command)) +
                   " is not possible now; possible commands: " + std::string(commands_in(state_)));
  }
  switch (command) {
    case Command::init:
      begin(command, State::standby, deadlines_.init_ns, now);
      break;
    case Command::configure:
      ++epoch_;
      begin(command, State::ready, deadlines_.configure_ns, now);
      break;
    case Command::start:
      if (run <= run_) {
        return refusal("run " + std::to_string(run.value) +
                       ": a run's number is above all before it, the last was " + std::to_string(run_.value));
      }
      run_ = run;
      for (Member& member : members_) {
        member.again = false;
        member.losses = member.deaths = 0;
        member.lost = false;
      }
      run_open_ = true;
      begin(command, State::running, deadlines_.start_ns, now);
      break;
    case Command::stop:
      stop_reason_ = reason.empty() ? "stopped" : reason;
      begin(command, State::ready, deadlines_.stop_ns, now);
      break;
    case Command::pause:
    case Command::continue_run:
      begin(command, State::running, deadlines_.order_ns, now);
      break;
    case Command::reset:
      reason_.clear();
      lose_run(std::string(kResetReason) + (reason.empty() ? "" : ": " + reason), out);
      off_next_ = false;
      begin(command, State::idle, deadlines_.order_ns, now);
      break;
    case Command::off:
      off_next_ = run_open_;
      if (!off_next_) {
        begin_off(now);
        break;
      }
      stop_reason_ = reason.empty() ? "stopped, and the farm ends" : reason;
      begin(Command::stop, State::ready, deadlines_.stop_ns, now);
      break;
  }
  steer(now, out);
  return {};
}

void FarmMachine::begin_off(TimeNs now) {
  off_ = true;
  off_next_ = false;
  begin(Command::off, State::idle, deadlines_.order_ns, now);
}

Expected<void, std::string> FarmMachine::can_remove(std::size_t member, bool on) const {
  WEIR_ASSERT(member < members_.size());
  const MemberPlan& plan = members_[member].plan;
  if (member == supervisor_) return refusal(plan.name + " is the supervisor: no run continues without it");
  if (on && plan.duty == Duty::essential) {
    return refusal(plan.name + " is essential: no run continues without it");
  }
  return {};
}

Expected<void, std::string> FarmMachine::set_removed(std::size_t member, bool on, TimeNs now,
                                                     FarmActions& out, const std::string& by) {
  if (auto possible = can_remove(member, on); !possible) return possible;
  Member& one = members_[member];
  one.removed = on;
  one.removed_ns = on ? now : 0;
  one.removed_by = on ? by : std::string();
  if (!on) {
    one.inactive = false;
    one.again = true;
  }
  out.events.push_back({Level::info, one.plan.name +
                                         (on ? " is removed from the farm" : " takes part again") +
                                         (by.empty() ? "" : ", by " + by)});
  steer(now, out);
  return {};
}

Expected<void, std::string> FarmMachine::readmit(std::size_t member, TimeNs now, FarmActions& out) {
  WEIR_ASSERT(member < members_.size());
  Member& one = members_[member];
  if (member == supervisor_) return refusal(one.plan.name + " is the supervisor: reset the farm");
  if (!one.live || one.told.state != State::error) return refusal(one.plan.name + " is not in error");
  if (one.order) return refusal(one.plan.name + " is carrying out another order");
  out.events.push_back({Level::info, one.plan.name + " was reset"});
  give(member, Command::reset, now, out);
  return {};
}

// ---- messages of members

void FarmMachine::joined(std::size_t member, Incarnation incarnation, const MemberState& state, TimeNs now,
                         FarmActions& out) {
  WEIR_ASSERT(member < members_.size());
  Member& one = members_[member];
  if (one.incarnation != incarnation) {
    if (one.live) count_loss(one, now);
    one.order.reset();
    one.again = false;
  }
  if (!one.live) note_join(one, state, out);
  count_return(one, incarnation);
  one.incarnation = incarnation;
  one.live = true;
  one.inactive = one.retried = false;
  one.heard_ns = now;
  take_state(one, state, out);
  steer(now, out);
}

// A farm that gathers has one event, when it is complete.
void FarmMachine::note_join(const Member& member, const MemberState& state, FarmActions& out) {
  const bool gathers = state_ == State::idle && state.state == State::idle;
  if (!gathers) {
    out.events.push_back({Level::info, member.plan.name + " has joined: " + std::string(name(state.state))});
    return;
  }
  const bool complete = std::all_of(members_.begin(), members_.end(), [&](const Member& other) {
    return &other == &member || other.live || other.removed;
  });
  if (complete)
    out.events.push_back({Level::info, "all " + std::to_string(members_.size()) + " processes have joined"});
}

void FarmMachine::heard(std::size_t member, const MemberState& state, TimeNs now, FarmActions& out) {
  WEIR_ASSERT(member < members_.size());
  Member& one = members_[member];
  if (!one.live) return joined(member, one.incarnation, state, now, out);
  one.heard_ns = now;
  take_state(one, state, out);
}

void FarmMachine::answered(std::size_t member, std::uint64_t order, bool good, const std::string& error,
                           const MemberState& state, TimeNs now, FarmActions& out, bool wrong_settings) {
  WEIR_ASSERT(member < members_.size());
  Member& one = members_[member];
  one.heard_ns = now;
  count_return(one, one.incarnation);
  one.live = true;
  const bool awaited = one.order && one.order->id == order;
  const bool of_pause = awaited && one.order->command == under_way_ && is_pausing();
  const bool of_older_configure =
      awaited && one.order->command == Command::configure && one.order->epoch != epoch_;
  if (awaited) one.order.reset();
  take_state(one, state, out);
  if (!one.retried || arrived(one)) {
    if (one.inactive && (!awaited || one.retried))
      out.events.push_back({Level::info, one.plan.name + " answers again"});
    one.inactive = one.retried = false;
  }
  if (of_pause && !arrived(one)) {
    give_up_pause(
        good ? one.plan.name + " is " + std::string(name(state.state)) : one.plan.name + ": " + error, out);
  } else if (!good && wrong_settings && (of_older_configure || !refusal_.empty())) {
    // That configure is already refused, by another member's answer.
  } else if (!good && wrong_settings && goal_ == State::ready && under_way_ == Command::configure) {
    refuse_configure(one.plan.name + ": " + error, out);
  } else if (!good) {
    set_inactive(one, now);
    if (under_way_ == Command::start && member != supervisor_) out.without.push_back(member);
    out.events.push_back({Level::error, one.plan.name + ": " + error});
    // During a run the member has as long to return to it as a process that is away.
    const bool run_is_on = goal_ == State::running && under_way_ != Command::start;
    if (!run_is_on && waited_for(one) && one.plan.duty == Duty::essential)
      fail(one.plan.name + ": " + error, out);
  }
  steer(now, out);
}

void FarmMachine::left(std::size_t member, TimeNs now, FarmActions& out, bool awaited) {
  WEIR_ASSERT(member < members_.size());
  Member& one = members_[member];
  if (!one.live) return;
  count_loss(one, now);
  one.live = false;
  one.gone_ns = now;
  one.order.reset();
  if (off_) return;
  const bool ends = awaited || is_ending();
  out.events.push_back(
      {ends ? Level::info : Level::warning, one.plan.name + (ends ? " has ended" : " is gone")});
}

// Counts a member that was in the run as lost: how it ended is unknown.
void FarmMachine::count_loss(Member& member, TimeNs now) {
  if (goal_ != State::running || member.removed || !member.told.in_run() || is_ending()) return;
  ++member.losses;
  member.lost_ns = now;
  member.lost = true;
}

// A process that returns as itself has not died: it was stopped, or could not be reached.
void FarmMachine::count_return(Member& member, Incarnation incarnation) {
  if (!std::exchange(member.lost, false) || member.incarnation == incarnation) return;
  ++member.deaths;
  member.died_ns = member.lost_ns;
}

void FarmMachine::take_state(Member& member, const MemberState& state, FarmActions& out) {
  if (state.state == State::error && member.told.state != State::error) {
    out.events.push_back({Level::error, member.plan.name + ": " + state.reason});
  }
  member.told = state;
}

// ---- time

void FarmMachine::tick(TimeNs now, FarmActions& out) {
  watch_silence(now, out);
  watch_orders(now, out);
  close_run(now, out);
  watch_run(now, out);
  steer(now, out);
  watch_transition(now, out);
}

void FarmMachine::watch_silence(TimeNs now, FarmActions& out) {
  for (Member& member : members_) {
    if (!member.live || now - member.heard_ns < deadlines_.silence_ns) continue;
    if (is_ending()) {
      member.live = false;
      member.gone_ns = member.heard_ns;
      continue;
    }
    count_loss(member, member.heard_ns);
    member.live = false;
    member.gone_ns = member.heard_ns;
    member.order.reset();
    out.events.push_back({Level::warning, member.plan.name + " is silent"});
  }
}

void FarmMachine::watch_orders(TimeNs now, FarmActions& out) {
  for (Member& member : members_) {
    if (!member.order || now < member.order_until_ns) continue;
    out.events.push_back({Level::warning, member.plan.name + " does not answer to " +
                                              std::string(name(member.order->command)) + ": inactive"});
    member.order.reset();
    set_inactive(member, now);
  }
}

void FarmMachine::set_inactive(Member& member, TimeNs now) {
  if (member.live && !member.inactive) member.gone_ns = now;
  member.inactive = true;
  member.retried = false;
}

// Watches a run for errors, pauses and lost members, which no operator has requested.
void FarmMachine::watch_run(TimeNs now, FarmActions& out) {
  if (goal_ != State::running) return;
  const Member& leader = supervisor();
  if (leader.live && leader.told.state == State::error)
    return fail(leader.plan.name + ": " + leader.told.reason, out);
  if (state_ == State::running || state_ == State::paused) {
    if (!under_way_ && leader.live && leader.told.run == run_ && leader.told.begun)
      state_ = leader.told.state;
    for (const Member& member : members_) {
      if (member.plan.duty != Duty::essential || (member.live && !member.inactive)) continue;
      if (now - member.gone_ns < deadlines_.return_ns) continue;
      const std::string why =
          member.plan.name + " is essential and " + (member.live ? "does not follow" : "did not return");
      if (&member == &leader) {
        lose_run(why, out);
        return fail(why, out);
      }
      out.events.push_back({Level::error, why + ": the run is stopped"});
      stop_reason_ = why;
      begin(Command::stop, State::ready, deadlines_.stop_ns, now);
      return;
    }
  }
}

// Closes the run when the supervisor has ended it, on request or on its own.
void FarmMachine::close_run(TimeNs now, FarmActions& out) {
  const Member& leader = supervisor();
  if (!run_open_ || !leader.live || leader.told.run != run_ || !leader.told.ended) return;
  run_open_ = false;
  out.run_over = true;
  if (under_way_ == Command::start) {
    out.events.push_back({Level::error, "the run ended before it began: " + leader.told.reason});
  }
  if (goal_ == State::running || under_way_ == Command::stop) {
    begin(Command::stop, State::ready, deadlines_.order_ns, now);
  }
}

void FarmMachine::begin(Command command, State goal, DurationNs limit, TimeNs now) {
  under_way_ = command;
  goal_ = goal;
  until_ns_ = now + limit;
  resetting_ = false;
  refusal_.clear();
  // The new command applies to all members that are connected, inactive ones included: they follow if they
  // can. A start does not wait for them, nor a stop for those that are not in the run.
  for (Member& member : members_) {
    const bool needless = member.plan.duty != Duty::essential &&
                          (command == Command::start || (command == Command::stop && !member.told.in_run()));
    member.retried = member.inactive && member.live && needless;
    member.inactive = member.inactive && (!member.live || needless);
    if (command == Command::reset || command == Command::off || member.retried) member.order.reset();
  }
}

void FarmMachine::watch_transition(TimeNs now, FarmActions& out) {
  if (!under_way_) return;
  const bool done = std::all_of(members_.begin(), members_.end(), [this](const Member& member) {
    return !waited_for(member) || arrived(member);
  });
  if (done) {
    switch (*under_way_) {
      case Command::pause:
        return end_transition(State::paused, out);
      case Command::continue_run:
        return end_transition(State::running, out);
      default:
        end_transition(goal_, out);
        if (off_next_) begin_off(now);
        return;
    }
  }
  if (now >= until_ns_) transition_late(now, out);
}

void FarmMachine::lose_run(const std::string& why, FarmActions& out) {
  if (!run_open_) return;
  run_open_ = false;
  out.lost = LostRun{run_, state_ == State::running || state_ == State::paused, why};
}

void FarmMachine::transition_late(TimeNs now, FarmActions& out) {
  const Command command = *under_way_;
  const std::string late = names_of_late(false);
  const std::string blocking = names_of_late(true);
  if (is_pausing()) return give_up_pause(late + " did not follow in time", out);
  out.events.push_back({Level::warning, std::string(name(command)) + " was held up by " + late});
  if (command == Command::stop && !resetting_) {
    // A member that has not ended its part of the run by now is reset, and led to `ready` again.
    resetting_ = true;
    if (run_open_) out.events.push_back({Level::error, "the run ends without an account"});
    lose_run("its supervisor sent no account in time: " + late + " held the stop up", out);
    until_ns_ = now + 2 * deadlines_.order_ns;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      member.order.reset();
      if (member.live && member.told.in_run()) give(i, Command::reset, now, out);
    }
    return;
  }
  bool possible = true;
  for (Member& member : members_) {
    if (!waited_for(member) || arrived(member)) continue;
    set_inactive(member, now);
    member.order.reset();
    possible = possible && member.plan.duty != Duty::essential;
  }
  if (possible || command == Command::reset || command == Command::off) {
    end_transition(goal_, out);
  } else {
    fail(std::string(name(command)) + " failed: " + blocking + " did not follow in time", out);
  }
  if (off_next_) begin_off(now);
}

// The farm is not ready with these settings: `configure` must be given again, with others.
void FarmMachine::refuse_configure(const std::string& why, FarmActions& out) {
  out.events.push_back({Level::error, "configure is refused: " + why});
  state_ = goal_ = State::standby;
  under_way_.reset();
  refusal_ = why;
}

// Gives up a `pause` or `continue`: the run stays in its state.
void FarmMachine::give_up_pause(const std::string& why, FarmActions& out) {
  out.events.push_back({Level::error, std::string(name(*under_way_)) + " failed: " + why});
  under_way_.reset();
}

void FarmMachine::end_transition(State state, FarmActions& out) {
  out.events.push_back({Level::info, "the farm is " + std::string(name(state))});
  state_ = state;
  under_way_.reset();
  if (state != State::error) reason_.clear();
}

void FarmMachine::fail(const std::string& reason, FarmActions& out) {
  if (state_ == State::error && !under_way_) return;
  out.events.push_back({Level::error, "the farm is in error: " + reason});
  lose_run(reason, out);
  state_ = State::error;
  goal_ = State::error;
  under_way_.reset();
  reason_ = reason;
}

}  // namespace weir::control
