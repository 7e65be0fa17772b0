#pragma once

#include <weir/control/health.hpp>

#include <stdexcept>
#include <string>
#include <vector>

// A farm in which nothing is wrong, and ways to spoil it.
namespace weir::control::test {

using Process = HealthView::Process;

inline Process process(const std::string& name, Role role) {
  Process one;
  one.name = name;
  one.role = role;
  one.live = true;
  one.known = true;
  one.state = State::running;
  return one;
}

// Three readouts, three DCMs and two writers, in run 5.
inline HealthView running() {
  HealthView view;
  view.state = State::running;
  view.run = RunNumber(5);
  view.up_ns = 600 * kSecond;
  view.processes = {process("supervisor", Role::supervisor),
                    process("readout-0", Role::readout),
                    process("readout-1", Role::readout),
                    process("readout-2", Role::readout),
                    process("dcm-0", Role::dcm),
                    process("dcm-1", Role::dcm),
                    process("dcm-2", Role::dcm),
                    process("writer-0", Role::writer),
                    process("writer-1", Role::writer)};
  view.processes[0].essential = true;
  return view;
}

inline HealthView in_state(State state) {
  HealthView view = running();
  view.state = state;
  for (Process& one : view.processes) one.state = state;
  view.last = HealthView::LastRun{view.run, true, true, false, "stopped", "", ""};
  return view;
}

inline Process& of(HealthView& view, const std::string& name) {
  for (Process& one : view.processes) {
    if (one.name == name) return one;
  }
  throw std::out_of_range("no process " + name);
}

inline void lose(HealthView& view, const std::string& name, DurationNs silent = 7 * kSecond) {
  of(view, name).live = false;
  of(view, name).silent_ns = silent;
}

inline void hold(HealthView& view, const std::string& name, Hold held, const std::string& reason,
                 const std::string& cause) {
  Process& one = of(view, name);
  one.held = held;
  one.held_by = reason;
  one.cause = cause;
  one.sentence = "a sentence";
}

inline std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += std::string(name(one.gravity)) + " " + sentence(one) + "\n";
  return text;
}

}  // namespace weir::control::test
