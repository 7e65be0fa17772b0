#include "weir_catch.hpp"
#include <weir/reports/fairness.hpp>
#include <weir/reports/numbers.hpp>

#include <vector>

using namespace weir;
using reports::fairness_of;
using Bytes = std::vector<std::uint64_t>;

TEST_CASE("fairness is 1 for equal bytes, the share of those that have any, and 0 without bytes") {
  CHECK(fairness_of(Bytes{7, 7, 7, 7}) == Approx(1));
  CHECK(fairness_of(Bytes{9, 0, 0, 0}) == Approx(0.25));
  CHECK(fairness_of(Bytes{5, 5, 0, 0}) == Approx(0.5));
  // Four sources with 48 and two with 96 (mixed traffic, figure 11).
  CHECK(fairness_of(Bytes{48, 48, 48, 48, 96, 96}) == Approx(8.0 / 9));
  CHECK(fairness_of(Bytes{0, 0}) == 0);
  CHECK(fairness_of(Bytes{}) == 0);
}

TEST_CASE("the fairness of all flows follows from that of each DCM's flows") {
  const auto dcm = [](const Bytes& flows) {
    v1::Report report;
    reports::ReportCounters counters(report);
    reports::Gauges gauges(report);
    std::uint64_t& sum = counters["fragments.bytes"];
    for (const std::uint64_t bytes : flows) sum += bytes;
    gauges["dcm.flows"] = static_cast<double>(flows.size());
    gauges["dcm.flow_fairness"] = fairness_of(flows);
    return report;
  };
  reports::FlowFairness all;
  CHECK(all.index() == 0);
  all.add(dcm({10, 20, 30}));
  all.add(dcm({5, 5, 0}));
  all.add(dcm({0, 0, 0}));
  all.add({});  // of another role
  CHECK(all.index() == Approx(fairness_of(Bytes{10, 20, 30, 5, 5, 0, 0, 0, 0})));
}
