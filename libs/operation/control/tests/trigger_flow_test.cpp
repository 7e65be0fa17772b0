#include "weir_catch.hpp"
#include <weir/control/trigger_flow.hpp>

using namespace weir;
using namespace weir::control;

namespace {

// Simulates a supervisor that reports once a second.
struct Reports {
  void second(std::uint64_t triggers, DurationNs lost = 0) {
    now += kSecond;
    offered += triggers;
    lost_ns += lost;
    flow.take({run, offered, lost_ns, now}, now);
  }
  void seconds(int count, std::uint64_t triggers, DurationNs lost = 0) {
    for (int i = 0; i < count; ++i) second(triggers, lost);
  }
  TriggerFlow flow;
  RunNumber run{1};
  std::uint64_t offered = 0;
  DurationNs lost_ns = 0;
  TimeNs now = 1000 * kSecond;
};

}  // namespace

TEST_CASE("missing triggers are noticed after three seconds, and forgotten when they return") {
  Reports reports;
  const FlowLimits limits;
  CHECK_FALSE(reports.flow.is_silent(limits));
  reports.seconds(30, 100);
  CHECK_FALSE(reports.flow.is_silent(limits));
  reports.seconds(2, 0);
  CHECK_FALSE(reports.flow.is_silent(limits));
  reports.second(0);
  CHECK(reports.flow.is_silent(limits));
  CHECK(reports.flow.silent_ns() == 3 * kSecond);
  reports.second(1);
  CHECK_FALSE(reports.flow.is_silent(limits));
}

TEST_CASE("a run without a first trigger is silent, too") {
  Reports reports;
  reports.seconds(4, 0);
  CHECK(reports.flow.is_silent({}));
  CHECK_FALSE(reports.flow.had_triggers());
}

TEST_CASE("rare triggers are missed after twenty of their mean intervals") {
  Reports reports;
  for (int i = 0; i < 60; ++i) {
    reports.second(1);
    reports.second(0);
  }
  reports.seconds(30, 0);
  CHECK_FALSE(reports.flow.is_silent({}));  // 0.5 Hz: silent after 40 s
  reports.seconds(40, 0);
  CHECK(reports.flow.is_silent({}));
  FlowLimits limits;
  limits.no_triggers_ns = 100 * kSecond;
  CHECK_FALSE(reports.flow.is_silent(limits));
}

TEST_CASE("missing reports show nothing about triggers") {
  Reports reports;
  reports.seconds(30, 100);
  reports.now += 100 * kSecond;
  CHECK_FALSE(reports.flow.is_silent({}));
}

TEST_CASE("a rate far below its own mean is noticed, and a slow farm as such is not") {
  Reports reports;
  reports.seconds(60, 10);
  CHECK(reports.flow.mean_rate() == 10.0);
  CHECK_FALSE(reports.flow.is_slow({}));
  reports.seconds(12, 2);
  CHECK(reports.flow.rate() == 2.0);
  CHECK(reports.flow.is_slow({}));
  FlowLimits limits;
  limits.rate_below = 0.1;
  CHECK_FALSE(reports.flow.is_slow(limits));
  reports.seconds(12, 10);
  CHECK_FALSE(reports.flow.is_slow({}));
}

TEST_CASE("the mean is unknown without a history, and another run begins one") {
  Reports reports;
  reports.seconds(15, 100);
  CHECK_FALSE(reports.flow.mean_rate());
  reports.seconds(30, 1);
  CHECK(reports.flow.is_slow({}));
  reports.run = RunNumber(2);
  reports.offered = 0;
  reports.second(1);
  CHECK_FALSE(reports.flow.is_slow({}));
  CHECK_FALSE(reports.flow.rate());
}

TEST_CASE("the live share is that of the last ten seconds") {
  Reports reports;
  CHECK_FALSE(reports.flow.live_share());
  reports.seconds(20, 100);
  CHECK(reports.flow.live_share() == 1.0);
  reports.seconds(10, 100, kSecond / 4 * 3);
  CHECK(reports.flow.live_share() == 0.25);
  CHECK(reports.flow.is_dead({}));
  reports.seconds(10, 100);
  CHECK_FALSE(reports.flow.is_dead({}));
}

TEST_CASE("seldom triggers are neither silent nor slow by chance") {
  // Poisson, 0.1 Hz: gaps of 10 s and more are usual from the begin of the run on.
  FlowLimits limits;
  limits.expected_rate = 0.1;
  Reports reports;
  reports.seconds(1, 1);
  reports.seconds(60, 0);
  CHECK(reports.flow.is_silent({}));
  CHECK_FALSE(reports.flow.is_silent(limits));
  CHECK_FALSE(reports.flow.is_slow(limits));
  reports.seconds(150, 0);
  CHECK(reports.flow.is_silent(limits));
  // Once a mean is known, it counts instead.
  Reports frequent;
  frequent.seconds(60, 10);
  frequent.seconds(4, 0);
  CHECK(frequent.flow.is_silent(limits));
}
