#include <weir/control/states.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace weir::control {
namespace {

constexpr std::array kTransitions = {
    StateTransition{State::idle, Command::init, State::standby},
    StateTransition{State::idle, Command::reset, State::idle},
    StateTransition{State::idle, Command::off, State::idle},
    StateTransition{State::standby, Command::configure, State::ready},
    StateTransition{State::standby, Command::reset, State::idle},
    StateTransition{State::standby, Command::off, State::idle},
    StateTransition{State::ready, Command::configure, State::ready},
    StateTransition{State::ready, Command::start, State::running},
    StateTransition{State::ready, Command::reset, State::idle},
    StateTransition{State::ready, Command::off, State::idle},
    StateTransition{State::running, Command::pause, State::paused},
    StateTransition{State::running, Command::stop, State::ready},
    StateTransition{State::running, Command::reset, State::idle},
    StateTransition{State::running, Command::off, State::idle},
    StateTransition{State::paused, Command::continue_run, State::running},
    StateTransition{State::paused, Command::stop, State::ready},
    StateTransition{State::paused, Command::reset, State::idle},
    StateTransition{State::paused, Command::off, State::idle},
    StateTransition{State::error, Command::reset, State::idle},
    StateTransition{State::error, Command::off, State::idle},
};

constexpr std::array<std::string_view, kStates> kStateNames = {"idle",    "standby", "ready",
                                                               "running", "paused",  "error"};
constexpr std::array<std::string_view, kCommands> kCommandNames = {"init",     "configure", "start", "pause",
                                                                   "continue", "stop",      "reset", "off"};
constexpr std::array<std::string_view, kRequests> kRequestNames = {
    "status", "watch", "tap",      "add",   "remove",    "set",      "log-level",    "kill", "restart",
    "unset",  "burst", "annotate", "alarm", "preflight", "sequence", "try-settings", "form", "switches"};

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::span<const StateTransition> transitions() { return kTransitions; }

std::optional<State> after(State from, Command command) {
  const auto found = std::find_if(kTransitions.begin(), kTransitions.end(), [&](const StateTransition& one) {
    return one.from == from && one.command == command;
  });
  if (found == kTransitions.end()) return std::nullopt;
  return found->to;
}

std::string_view name(State state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::string_view name(Command command) { return kCommandNames[static_cast<std::size_t>(command)]; }
std::string_view name(RequestKind request) { return kRequestNames[static_cast<std::size_t>(request)]; }
std::optional<State> state_of(std::string_view name) { return find<State>(kStateNames, name); }
std::optional<Command> command_of(std::string_view name) { return find<Command>(kCommandNames, name); }
std::optional<RequestKind> request_of(std::string_view name) {
  return find<RequestKind>(kRequestNames, name);
}

std::string_view commands_in(State state) {
  static const std::array<std::string, kStates> lists = [] {
    std::array<std::string, kStates> made;
    for (const StateTransition& one : kTransitions) {
      std::string& list = made[static_cast<std::size_t>(one.from)];
      list += (list.empty() ? "" : ", ") + std::string(name(one.command));
    }
    return made;
  }();
  return lists[static_cast<std::size_t>(state)];
}

}  // namespace weir::control
