#include "isolation.hpp"

#include "weir_catch.hpp"

#include <vector>

using namespace weir;
using namespace weir::dcm;

namespace {

constexpr DurationNs kPatience = 100;
constexpr std::size_t kUnits = 4;

// Suspects that wait, in order, as the DCM has them.
struct Suspects {
  assembly::BuiltSlice first{1};
  assembly::BuiltSlice second{2};
  std::vector<assembly::BuiltSlice*> waiting;

  explicit Suspects(int count) : waiting{&first, &second} { waiting.resize(static_cast<std::size_t>(count)); }
  // Runs one step; a suspect that goes to the units no longer waits.
  Isolation::Step step(Isolation& isolation, TimeNs now_ns, std::size_t with_units) {
    const Isolation::Step step =
        isolation.step(now_ns, with_units, waiting.empty() ? nullptr : waiting.front());
    if (step.job != nullptr) std::erase(waiting, step.job);
    return step;
  }
};

}  // namespace

TEST_CASE("a suspect goes to the filter when no other job runs and the supervisor has answered, not before") {
  Isolation isolation(kPatience, kUnits);
  CHECK(isolation.is_open());
  Suspects suspects(2);
  const auto nothing = [](const Isolation::Step& step) { return !step.tell && step.job == nullptr; };
  CHECK(nothing(suspects.step(isolation, 0, 3)));
  CHECK_FALSE(isolation.is_open());
  CHECK(nothing(suspects.step(isolation, 10, 1)));
  const Isolation::Step rest = suspects.step(isolation, 20, 0);
  REQUIRE(rest.tell);
  CHECK(isolation.suspect() == &suspects.first);
  const std::uint64_t told = isolation.next_serial();
  CHECK(nothing(suspects.step(isolation, 1000, 0)));  // without a time limit
  isolation.answered(told - 1);
  CHECK(nothing(suspects.step(isolation, 1000, 0)));
  isolation.answered(told);
  const Isolation::Step goes = suspects.step(isolation, 1000, 0);
  REQUIRE(goes.job);
  CHECK(goes.job == &suspects.first);
  CHECK_FALSE(isolation.is_open());
  CHECK(nothing(suspects.step(isolation, 1010, 1)));
  isolation.returned(suspects.second);
  CHECK(nothing(suspects.step(isolation, 1020, 1)));
  isolation.returned(suspects.first);
  const Isolation::Step over = suspects.step(isolation, 1030, 0);
  REQUIRE(over.tell);
  CHECK_FALSE(isolation.suspect());
  CHECK_FALSE(isolation.is_open());
  const std::uint64_t lifted = isolation.next_serial();
  CHECK(nothing(suspects.step(isolation, 1040, 0)));
  isolation.answered(lifted);
  CHECK(suspects.step(isolation, 1050, 0).tell);  // the next one
  CHECK(isolation.suspect() == &suspects.second);
}

TEST_CASE("ordinary jobs resume after a suspect when the supervisor has learned that it left the filter") {
  Isolation isolation(kPatience, kUnits);
  Suspects suspects(1);
  REQUIRE(suspects.step(isolation, 0, 0).tell);
  isolation.answered(isolation.next_serial());
  REQUIRE(suspects.step(isolation, 0, 0).job);
  isolation.returned(suspects.first);
  REQUIRE(suspects.step(isolation, 0, 0).tell);
  isolation.answered(isolation.next_serial());
  (void)suspects.step(isolation, 0, 0);
  CHECK(isolation.is_open());
}

TEST_CASE("if a unit hangs, a suspect runs after a while") {
  Isolation isolation(kPatience, kUnits);
  Suspects suspects(1);
  CHECK_FALSE(suspects.step(isolation, 0, 1).tell);
  CHECK_FALSE(suspects.step(isolation, kPatience - 1, 1).tell);
  CHECK(suspects.step(isolation, kPatience, 1).tell);
  CHECK(isolation.suspect() == &suspects.first);
}

TEST_CASE("while all units hang, no suspect goes to them, and no other job after one") {
  Isolation isolation(kPatience, 1);
  Suspects suspects(2);
  CHECK_FALSE(suspects.step(isolation, 0, 1).tell);
  CHECK_FALSE(suspects.step(isolation, 100 * kPatience, 1).tell);
  REQUIRE(suspects.step(isolation, 101 * kPatience, 0).tell);
  isolation.answered(isolation.next_serial());
  REQUIRE(suspects.step(isolation, 101 * kPatience, 0).job == &suspects.first);
  CHECK_FALSE(suspects.step(isolation, 200 * kPatience, 1).tell);
  CHECK(isolation.suspect() == &suspects.first);
  isolation.returned(suspects.first);
  CHECK(suspects.step(isolation, 201 * kPatience, 0).tell);
}

TEST_CASE("a suspect that hangs in the filter delays the other slices only for a while") {
  Isolation isolation(kPatience, kUnits);
  Suspects suspects(1);
  REQUIRE(suspects.step(isolation, 0, 0).tell);
  isolation.answered(isolation.next_serial());
  REQUIRE(suspects.step(isolation, 0, 0).job);
  CHECK_FALSE(suspects.step(isolation, kPatience - 1, 1).tell);
  CHECK(suspects.step(isolation, kPatience, 1).tell);
  isolation.answered(isolation.next_serial());
  (void)suspects.step(isolation, kPatience, 1);
  CHECK(isolation.is_open());
}

TEST_CASE("if the last suspect is released before its turn, ordinary jobs continue") {
  Isolation isolation(kPatience, kUnits);
  Suspects suspects(1);
  CHECK_FALSE(suspects.step(isolation, 0, 1).tell);
  CHECK_FALSE(isolation.is_open());
  suspects.waiting.clear();
  CHECK_FALSE(suspects.step(isolation, 1, 1).tell);
  CHECK(isolation.is_open());
}

TEST_CASE("without a supervisor no suspect waits, and ordinary jobs continue") {
  Isolation isolation(kPatience, kUnits);
  Suspects suspects(2);
  REQUIRE(suspects.step(isolation, 0, 0).tell);
  isolation.clear();
  suspects.waiting.clear();
  CHECK(isolation.is_open());
  CHECK_FALSE(isolation.suspect());
  CHECK_FALSE(suspects.step(isolation, 1, 0).tell);
}
