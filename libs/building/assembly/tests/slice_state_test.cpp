#include "weir_catch.hpp"
#include <weir/assembly/slice_state.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

using namespace weir::assembly;
using enum BuildState;

namespace {

std::vector<BuildState> all_states() {
  std::vector<BuildState> states;
  for (std::size_t i = 0; i < kSliceStates; ++i) states.push_back(static_cast<BuildState>(i));
  return states;
}

// Returns the states reachable from `from` without passing through `without`.
std::set<BuildState> reached(BuildState from, const std::set<BuildState>& without = {}) {
  std::set<BuildState> found;
  std::vector<BuildState> next{from};
  while (!next.empty()) {
    const BuildState here = next.back();
    next.pop_back();
    for (const BuildState to : all_states()) {
      if (kSliceTransitions.allow(here, to) && !without.contains(to) && found.insert(to).second)
        next.push_back(to);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the table has each transition once, and refuses all others") {
  std::set<std::pair<BuildState, BuildState>> seen;
  for (const auto& one : kSliceTransitions) {
    CHECK(seen.insert({one.from, one.to}).second);
    CHECK(kSliceTransitions.allow(one.from, one.to));
  }
  for (const BuildState from : all_states()) {
    for (const BuildState to : all_states()) {
      CAPTURE(name(from), name(to));
      CHECK(kSliceTransitions.allow(from, to) == seen.contains({from, to}));
    }
  }
}

TEST_CASE("every state of a slice has a unique name") {
  std::set<std::string_view> names;
  for (const BuildState state : all_states()) CHECK(names.insert(name(state)).second);
  CHECK(name(waiting_for_memory) == "waiting_for_memory");
  CHECK(name(released) == "released");
}

TEST_CASE("a slice begins with its assignment, ends as a spare, and enters and leaves every state") {
  for (const BuildState to : all_states()) CHECK(kSliceTransitions.allow(spare, to) == (to == assigned));
  CHECK(reached(spare).size() == kSliceStates);
  for (const BuildState from : all_states()) {
    CAPTURE(name(from));
    CHECK(reached(from).contains(spare));
  }
}

TEST_CASE("an open slice closes only by its release") {
  for (const auto& one : kSliceTransitions) {
    CAPTURE(name(one.from), name(one.to));
    if (is_open(one.from) && !is_open(one.to)) CHECK(one.to == released);
    if (!is_open(one.from) && is_open(one.to)) CHECK(one.to == waiting_for_memory);
  }
  CHECK(reached(released, {spare}).empty());
}

TEST_CASE("slices in the processing units are released only after they return") {
  CHECK_FALSE(kSliceTransitions.allow(filtering, released));
  for (const BuildState to : all_states()) CHECK(kSliceTransitions.allow(abandoned, to) == (to == released));
}

TEST_CASE("only reported slices are stored, and none is decided after its report") {
  CHECK_FALSE(reached(assigned, {reported, spare}).contains(storing));
  const std::set<BuildState> after = reached(reported, {spare});
  for (const BuildState state : after) {
    CAPTURE(name(state));
    CHECK((is_reported(state) || state == released));
  }
}

TEST_CASE("a slice sent to a writer waits for its connections before its release") {
  // A connection may refer to its memory: whether one does is looked at in `stored` and `given_up`.
  CHECK_FALSE(kSliceTransitions.allow(storing, released));
  CHECK(kSliceTransitions.allow(stored, released));
  CHECK(kSliceTransitions.allow(given_up, released));
  for (const BuildState to : all_states()) CHECK(kSliceTransitions.allow(given_up, to) == (to == released));
}
