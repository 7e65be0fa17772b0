#pragma once

#include <weir/control/farm_machine.hpp>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

// Simulated processes of a farm that follow orders, for tests of run control's decisions.
namespace weir::control::test {

// supervisor-0, writer-0, readout-0, readout-1, dcm-0, dcm-1
inline std::vector<MemberPlan> small_plan() {
  return {{"supervisor-0", Role::supervisor, Duty::essential},
          {"writer-0", Role::writer, Duty::dynamic},
          {"readout-0", Role::readout, Duty::dynamic},
          {"readout-1", Role::readout, Duty::dynamic},
          {"dcm-0", Role::dcm, Duty::dynamic},
          {"dcm-1", Role::dcm, Duty::transient}};
}

struct ModelProcess {
  bool alive = false;
  bool deaf = false;  // ignores orders
  Incarnation incarnation;
  MemberState state;
  std::string refuses;  // answers every order with this
  bool ignores_pause = false;
  // A supervisor's journal, which its process may have to read before it knows whether its run is paused.
  RunNumber journal_run;
  bool journal_paused = false;
  int reads_journal = 0;  // for so many passes
};

class Farm {
 public:
  explicit Farm(std::vector<MemberPlan> plan = small_plan(), const Deadlines& deadlines = {})
      : machine(std::move(plan), deadlines), processes(machine.members().size()) {}

  void start_process(std::size_t i) {
    ModelProcess& one = processes[i];
    one.alive = true;
    one.deaf = false;
    one.incarnation = Incarnation(++incarnations_);
    one.state = MemberState{};
    one.reads_journal = 0;
    machine.joined(i, one.incarnation, one.state, now, out);
  }
  void start_all() {
    for (std::size_t i = 0; i < processes.size(); ++i) start_process(i);
  }
  void kill(std::size_t i) {
    processes[i].alive = false;
    machine.left(i, now, out);
  }
  // Advances 100 ms: heartbeats, orders carried out, a tick.
  void pass() {
    now += 100 * kMillisecond;
    for (ModelProcess& one : processes) {
      if (one.reads_journal == 0 || --one.reads_journal > 0) continue;
      one.state.begun = true;
      if (one.journal_paused) one.state.state = State::paused;
    }
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes[i].alive) machine.heard(i, processes[i].state, now, out);
    }
    machine.tick(now, out);
    FarmActions taken = std::move(out);
    out = {};
    for (Event& event : taken.events) events.push_back(event.text);
    runs_over += taken.run_over ? 1 : 0;
    without.insert(without.end(), taken.without.begin(), taken.without.end());
    for (const Order& order : taken.orders) carry_out(order);
  }
  // Runs until no transition is in progress, for at most this many seconds.
  void settle(int seconds = 100) {
    for (int i = 0; i < seconds * 10; ++i) {
      pass();
      if (!machine.under_way()) return;
    }
  }
  bool command(Command command, std::uint32_t run = 0) {
    const auto done = machine.command(command, RunNumber(run), "", now, out);
    if (!done) refused = done.error();
    return done.has_value();
  }
  void to_ready() {
    start_all();
    command(Command::init);
    settle();
    command(Command::configure);
    settle();
  }
  void to_running(std::uint32_t run = 1) {
    to_ready();
    command(Command::start, run);
    settle();
  }
  // The supervisor ends the run, and all other processes with it.
  void end_run() {
    for (ModelProcess& one : processes) {
      if (!one.alive || one.deaf || (one.state.state != State::running && one.state.state != State::paused))
        continue;
      one.state.state = State::ready;
      one.state.ended = true;
    }
  }
  [[nodiscard]] bool has_event(const std::string& text) const {
    for (const std::string& one : events) {
      if (one.find(text) != one.npos) return true;
    }
    return false;
  }
  [[nodiscard]] State state_of(std::size_t i) const { return processes[i].state.state; }

  void carry_out(const Order& order) {
    orders.push_back(order);
    ModelProcess& one = processes[order.member];
    if (!one.alive || one.deaf) return;
    if (!one.refuses.empty()) {
      return machine.answered(order.member, order.id, false, one.refuses, one.state, now, out);
    }
    const auto to = after(one.state.state, order.command);
    illegal += to ? 0 : 1;
    if (!to) return machine.answered(order.member, order.id, false, "not possible now", one.state, now, out);
    one.state.state = *to;
    if (one.ignores_pause && (order.command == Command::pause || order.command == Command::continue_run))
      one.state.state = order.command == Command::pause ? State::running : State::paused;
    switch (order.command) {
      case Command::configure:
        one.state.epoch = order.epoch;
        break;
      case Command::start:
        one.state.run = order.run;
        one.state.ended = false;
        one.reads_journal = one.journal_run == order.run ? 3 : 0;
        one.state.begun = one.reads_journal == 0;
        if (one.state.begun) one.journal_paused = false;
        if (order.member == 0) one.journal_run = order.run;
        break;
      case Command::pause:
      case Command::continue_run:
        one.journal_paused = one.state.state == State::paused;
        break;
      case Command::stop:
        one.state.state = State::running;
        end_run();
        break;
      case Command::off:
        machine.answered(order.member, order.id, true, "", one.state, now, out);
        return kill(order.member);
      default:
        break;
    }
    machine.answered(order.member, order.id, true, "", one.state, now, out);
  }

  TimeNs now = kSecond;
  FarmMachine machine;
  FarmActions out;
  std::vector<ModelProcess> processes;
  std::vector<Order> orders;
  std::vector<std::string> events;
  std::vector<std::size_t> without;
  std::string refused;
  int runs_over = 0;
  int illegal = 0;

 private:
  std::uint64_t incarnations_ = 0;
};

}  // namespace weir::control::test
