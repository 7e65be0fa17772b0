#include "isolation.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::dcm;

namespace {

constexpr DurationNs kPatience = 100;

filter_host::Job job(std::uint64_t token) { return {nullptr, token}; }

}  // namespace

TEST_CASE(
    "a suspect goes to the filter when nothing else is there and the supervisor has answered, not before") {
  Isolation isolation(kPatience);
  CHECK(isolation.is_open());
  isolation.add(job(1));
  isolation.add(job(2));
  const auto nothing = [](const Isolation::Step& step) { return !step.tell && !step.job; };
  CHECK(nothing(isolation.step(0, 3)));
  CHECK_FALSE(isolation.is_open());
  CHECK(nothing(isolation.step(10, 1)));
  const Isolation::Step rest = isolation.step(20, 0);
  REQUIRE(rest.tell);
  CHECK(isolation.suspect()->token == 1);
  CHECK(isolation.alone());
  const std::uint64_t told = isolation.next_serial();
  CHECK(nothing(isolation.step(1000, 0)));  // for as long as it takes
  isolation.answered(told - 1);
  CHECK(nothing(isolation.step(1000, 0)));
  isolation.answered(told);
  const Isolation::Step goes = isolation.step(1000, 0);
  REQUIRE(goes.job);
  CHECK(goes.job->token == 1);
  CHECK_FALSE(isolation.is_open());
  CHECK(nothing(isolation.step(1010, 1)));
  isolation.returned(7);
  CHECK(nothing(isolation.step(1020, 1)));
  isolation.returned(1);
  const Isolation::Step over = isolation.step(1030, 0);
  REQUIRE(over.tell);
  CHECK_FALSE(isolation.suspect());
  CHECK_FALSE(isolation.is_open());
  const std::uint64_t lifted = isolation.next_serial();
  CHECK(nothing(isolation.step(1040, 0)));
  isolation.answered(lifted);
  CHECK(isolation.step(1050, 0).tell);  // the next one
  CHECK(isolation.suspect()->token == 2);
}

TEST_CASE("ordinary jobs go on after a suspect when the supervisor knows that it is out of the filter") {
  Isolation isolation(kPatience);
  isolation.add(job(1));
  REQUIRE(isolation.step(0, 0).tell);
  isolation.answered(isolation.next_serial());
  REQUIRE(isolation.step(0, 0).job);
  isolation.returned(1);
  REQUIRE(isolation.step(0, 0).tell);
  isolation.answered(isolation.next_serial());
  (void)isolation.step(0, 0);
  CHECK(isolation.is_open());
}

TEST_CASE("where a unit hangs a suspect goes after a while, and is not told to be alone") {
  Isolation isolation(kPatience);
  isolation.add(job(1));
  CHECK_FALSE(isolation.step(0, 1).tell);
  CHECK_FALSE(isolation.step(kPatience - 1, 1).tell);
  CHECK(isolation.step(kPatience, 1).tell);
  CHECK_FALSE(isolation.alone());
}

TEST_CASE("a suspect that hangs in the filter holds the other slices up for a while only") {
  Isolation isolation(kPatience);
  isolation.add(job(1));
  REQUIRE(isolation.step(0, 0).tell);
  isolation.answered(isolation.next_serial());
  REQUIRE(isolation.step(0, 0).job);
  CHECK_FALSE(isolation.step(kPatience - 1, 1).tell);
  CHECK(isolation.step(kPatience, 1).tell);
  isolation.answered(isolation.next_serial());
  (void)isolation.step(kPatience, 1);
  CHECK(isolation.is_open());
}

TEST_CASE("without a supervisor no suspect waits, and ordinary jobs go on") {
  Isolation isolation(kPatience);
  isolation.add(job(1));
  isolation.add(job(2));
  REQUIRE(isolation.step(0, 0).tell);
  isolation.clear();
  CHECK(isolation.is_open());
  CHECK(isolation.waiting() == 0);
  CHECK_FALSE(isolation.suspect());
  CHECK_FALSE(isolation.step(1, 0).tell);
}
