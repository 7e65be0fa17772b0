#include "weir_catch.hpp"
#include <weir/base/held_up.hpp>

using namespace weir;

TEST_CASE("a process's hold-up is read as it was written") {
  const Hold hold = GENERATE(Hold::throttled, Hold::blocked);
  const std::string cause = GENERATE("", "writer-1");
  const std::string state = held_up_state(hold, "WRITER_DISK_FULL", cause);
  CHECK(state == std::string(name(hold)) + ": WRITER_DISK_FULL" + (cause.empty() ? "" : " writer-1"));
  const HeldUp held = held_up_of(state);
  CHECK(held.hold == hold);
  CHECK(held.reason == "WRITER_DISK_FULL");
  CHECK(held.cause == cause);
}

TEST_CASE("the cause of a hold-up does not include its duration") {
  const HeldUp held = held_up_of("blocked: WRITER_DISK_STALLS writer-0 for 3 s");
  CHECK(held.hold == Hold::blocked);
  CHECK(held.reason == "WRITER_DISK_STALLS");
  CHECK(held.cause == "writer-0");
  CHECK(held.told == "WRITER_DISK_STALLS writer-0 for 3 s");
}

TEST_CASE("a state of another form contains no hold-up") {
  for (const char* state : {"", "running", "blocked", "blocked:", "dead: signal 9 (Killed)", "none: nothing",
                            "cut off from readouts that others reach"}) {
    CAPTURE(state);
    CHECK(held_up_of(state).hold == Hold::none);
    CHECK(held_up_of(state).reason.empty());
  }
}
