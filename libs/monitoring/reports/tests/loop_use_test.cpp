#include "weir_catch.hpp"
#include <weir/reports/loop_use.hpp>
#include <weir/reports/numbers.hpp>

#include <string>
#include <vector>

namespace weir::reports {
namespace {

v1::Report report_at(TimeNs now_ns, double cpu_s, double wait_s) {
  v1::Report report;
  report.set_now_ns(now_ns);
  report.set_incarnation(7);
  Gauges gauges(report);
  gauges["loop.cpu_s"] = cpu_s;
  gauges["loop.wait_s"] = wait_s;
  return report;
}

}  // namespace

TEST_CASE("a process is full with its core, or for lack of one, and not while it sleeps") {
  CHECK(limit_of({0.97, 0.02}) == LoopLimit::core);
  CHECK(limit_of({0.55, 0.42}) == LoopLimit::host);
  CHECK(limit_of({0.3, 0.3}) == LoopLimit::host);
  CHECK(limit_of({0.55, 0.2}) == LoopLimit::none);
  CHECK(limit_of({0.85, 0.06}) == LoopLimit::none);  // nearly full, and hardly waits
  CHECK(limit_of({0, 0}) == LoopLimit::none);
}

TEST_CASE("full processes are named by role with what helps, and hosts without a free core once") {
  const std::vector<NodeUse> nodes = {{"dcm-0", v1::ROLE_DCM, {0.96, 0}},
                                      {"dcm-1", v1::ROLE_DCM, {0.3, 0}},
                                      {"readout-0", v1::ROLE_READOUT, {0.93, 0}},
                                      {"readout-1", v1::ROLE_READOUT, {1.02, 0}},
                                      {"supervisor", v1::ROLE_SUPERVISOR, {0.6, 0.35}},
                                      {"writer-0", v1::ROLE_WRITER, {0.5, 0.5}}};
  const auto said = limits(nodes);
  REQUIRE(said.size() == 3);
  CHECK(
      said[0] ==
      "readout-0, readout-1: 93 to 100 % of a core used, which is all that one process can: give the sources "
      "to more readouts");
  CHECK(said[1] == "dcm-0: 96 % of a core used, which is all that one process can: add DCMs");
  CHECK(said[2] ==
        "supervisor, writer-0: no free core for 35 to 50 % of the time: the host has too few, move processes "
        "to "
        "others");
  CHECK(limits({}).empty());
}

TEST_CASE("the use of the last seconds comes from two reports of one process and one run") {
  LoopWatch watch;
  watch.take(report_at(10 * kSecond, 2, 0));
  CHECK_FALSE(watch.lately());
  watch.take(report_at(12 * kSecond, 4, 0));
  CHECK_FALSE(watch.lately());
  watch.take(report_at(16 * kSecond, 5, 3));
  REQUIRE(watch.lately());
  CHECK(watch.lately()->cpu == 0.5);
  CHECK(watch.lately()->wait == 0.5);
  watch.take(report_at(16 * kSecond, 5, 3));
  CHECK(watch.lately());  // the same report says nothing new

  watch.take(report_at(30 * kSecond, 0.5, 0));  // the next run counts from zero
  CHECK_FALSE(watch.lately());
  v1::Report other = report_at(40 * kSecond, 9, 0);
  other.set_incarnation(8);
  watch.take(other);
  CHECK_FALSE(watch.lately());
}

}  // namespace weir::reports
