#include "../src/start_up.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

using Move = StartUp::Move;

StartUp::Seen at_port(double rate, bool queues) { return {rate, false, 0, queues}; }
StartUp::Seen on_line(double rate) { return {rate, true, 1000 * rate, false}; }

}  // namespace

TEST_CASE("a window grows while the rate does, and is reduced by a step when a queue forms") {
  StartUp start;
  for (const double rate : {0.1, 0.12, 0.14}) {
    const StartUp::Step step = start.epoch(at_port(rate, false));
    CHECK(step.move == Move::grow);
    CHECK_FALSE(step.over);
  }
  const StartUp::Step step = start.epoch(at_port(0.1401, true));
  CHECK(step.move == Move::shrink);
  CHECK(step.over);
}

TEST_CASE("a queue while the rate still grows much is one of uplinks") {
  StartUp start;
  (void)start.epoch(at_port(0.1, false));
  CHECK(start.epoch(at_port(0.116, true)).move == Move::grow);
  CHECK(start.epoch(at_port(0.13, true)).move == Move::shrink);  // 12 %
}

TEST_CASE("without a queue the fourth epoch in a row that brings no more is the last") {
  StartUp start;
  (void)start.epoch(at_port(0.1, false));
  for (int i = 0; i < 3; ++i) CHECK(start.epoch(at_port(0.1, false)).move == Move::grow);
  CHECK(start.epoch(at_port(0.11, false)).move == Move::grow);  // counts from zero
  for (int i = 0; i < 3; ++i) CHECK_FALSE(start.epoch(at_port(0.11, false)).over);
  const StartUp::Step last = start.epoch(at_port(0.11, false));
  CHECK(last.move == Move::stay);
  CHECK(last.over);
}

TEST_CASE("on a line the window follows the received bytes while the rate grows") {
  StartUp start;
  CHECK(start.line_grows());
  const StartUp::Step step = start.epoch(on_line(0.1));
  CHECK(step.move == Move::follow);
  CHECK(step.least == 2 * 100);
  CHECK(start.epoch(on_line(0.114)).move == Move::stay);  // 14 %
  CHECK_FALSE(start.line_grows());
  CHECK(start.epoch(on_line(0.16)).move == Move::follow);
  CHECK(start.line_grows());
  for (int i = 0; i < 3; ++i) CHECK_FALSE(start.epoch(on_line(0.16)).over);
  CHECK(start.epoch(on_line(0.16)).over);
}

}  // namespace weir::shaping
