#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The states of a process and of a farm, as one table, after the run control of ANTARES (antares-2002,
// section 5.3, Fig. 5.3), with `error` added.
namespace weir::control {

enum class State : std::uint8_t {
  idle,     // the process is running
  standby,  // its farm file is read and agreed
  ready,    // it has its parameters and waits for a run
  running,
  paused,  // a run without triggers
  error,   // it needs an operator's `reset`
};
constexpr std::size_t kStates = 6;

enum class Command : std::uint8_t { init, configure, start, pause, continue_run, stop, reset, off };
constexpr std::size_t kCommands = 8;

struct StateTransition {
  State from;
  Command command;
  State to;
};

// Returns all transitions. `off` ends the process in every state outside a run.
[[nodiscard]] std::span<const StateTransition> transitions();
// Returns nothing if the command is not possible in that state.
[[nodiscard]] std::optional<State> after(State from, Command command);

// Returns "idle", …; "init", …, "continue" for continue_run.
[[nodiscard]] std::string_view name(State state);
[[nodiscard]] std::string_view name(Command command);
[[nodiscard]] std::optional<State> state_of(std::string_view name);
[[nodiscard]] std::optional<Command> command_of(std::string_view name);

// Other requests to run control and processes, which do not change the state.
enum class RequestKind : std::uint8_t {
  status,
  watch,
  tap,
  add,
  remove,
  set,
  log_level,
  kill,
  restart,
  unset,
  burst,
  annotate,
  alarm,
  preflight,
  sequence,
  try_settings,
  form,
  switches
};
constexpr std::size_t kRequests = 18;
[[nodiscard]] std::string_view name(RequestKind request);  // "status", …, "log-level"
[[nodiscard]] std::optional<RequestKind> request_of(std::string_view name);

// Returns the commands that are possible in a state, for people: "pause, stop, reset".
[[nodiscard]] std::string_view commands_in(State state);

}  // namespace weir::control
