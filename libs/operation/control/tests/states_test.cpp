#include "weir_catch.hpp"
#include <weir/control/states.hpp>

#include <set>
#include <utility>

using namespace weir::control;

TEST_CASE("every state and command has a name that is found again") {
  for (std::size_t i = 0; i < kStates; ++i)
    CHECK(state_of(name(static_cast<State>(i))) == static_cast<State>(i));
  for (std::size_t i = 0; i < kCommands; ++i)
    CHECK(command_of(name(static_cast<Command>(i))) == static_cast<Command>(i));
  CHECK_FALSE(state_of("asleep"));
  CHECK_FALSE(command_of("begin"));
}

TEST_CASE("each command has one effect in a state, and all others are refused") {
  std::set<std::pair<State, Command>> seen;
  for (const StateTransition& one : transitions()) {
    CHECK(seen.insert({one.from, one.command}).second);
    CHECK(after(one.from, one.command) == one.to);
  }
  for (std::size_t s = 0; s < kStates; ++s) {
    for (std::size_t c = 0; c < kCommands; ++c) {
      const auto from = static_cast<State>(s);
      const auto command = static_cast<Command>(c);
      CHECK(after(from, command).has_value() == (seen.count({from, command}) == 1));
    }
  }
}

TEST_CASE("reset and off lead out of every state, and a run begins from ready alone") {
  for (std::size_t s = 0; s < kStates; ++s) {
    const auto from = static_cast<State>(s);
    CHECK(after(from, Command::reset) == State::idle);
    const bool run_is_on = from == State::running || from == State::paused;
    CHECK(after(from, Command::off) == State::idle);
    CHECK(after(from, Command::start).has_value() == (from == State::ready));
    CHECK(after(from, Command::stop).has_value() == run_is_on);
  }
  CHECK(commands_in(State::running) == "pause, stop, reset, off");
}
