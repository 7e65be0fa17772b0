#include "../src/start_up.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr double kStart = 100;

StartUp::Seen at_port(double rate, bool queues) { return {kStart, rate, false, 0, queues}; }
StartUp::Seen on_line(double rate) { return {kStart, rate, true, 1000 * rate, false}; }

}  // namespace

TEST_CASE("a window grows while the rate does, and is reduced by a step when a queue forms") {
  StartUp start;
  for (const double rate : {0.1, 0.12, 0.14}) {
    CHECK(start.epoch(at_port(rate, false)) == 1.25 * kStart);
    CHECK_FALSE(start.over());
  }
  CHECK(start.epoch(at_port(0.1401, true)) == kStart / 1.25);
  CHECK(start.over());
}

TEST_CASE("a queue while the rate still grows much is one of uplinks") {
  StartUp start;
  (void)start.epoch(at_port(0.1, false));
  CHECK(start.epoch(at_port(0.116, true)) > kStart);
  CHECK(start.epoch(at_port(0.13, true)) < kStart);  // 12 %
}

TEST_CASE("without a queue the fourth epoch in a row that brings no more is the last") {
  StartUp start;
  (void)start.epoch(at_port(0.1, false));
  for (int i = 0; i < 3; ++i) CHECK(start.epoch(at_port(0.1, false)) > kStart);
  CHECK(start.epoch(at_port(0.11, false)) > kStart);  // counts from zero
  for (int i = 0; i < 3; ++i) {
    (void)start.epoch(at_port(0.11, false));
    CHECK_FALSE(start.over());
  }
  CHECK(start.epoch(at_port(0.11, false)) == kStart);
  CHECK(start.over());
}

TEST_CASE("on a line the window follows the received bytes while the rate grows") {
  StartUp start;
  CHECK(start.line_grows());
  CHECK(start.epoch(on_line(0.1)) == 2 * 100);
  CHECK(start.epoch(on_line(0.114)) == kStart);  // 14 %
  CHECK_FALSE(start.line_grows());
  CHECK(start.epoch(on_line(0.16)) > kStart);
  CHECK(start.line_grows());
  for (int i = 0; i < 3; ++i) {
    CHECK(start.epoch(on_line(0.16)) == kStart);
    CHECK_FALSE(start.over());
  }
  (void)start.epoch(on_line(0.16));
  CHECK(start.over());
}

}  // namespace weir::shaping
