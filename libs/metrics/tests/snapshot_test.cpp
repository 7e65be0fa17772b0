#include "weir_catch.hpp"
#include <weir/metrics/snapshot.hpp>

using namespace weir::metrics;

TEST_CASE("snapshots of several processes merge: counters and gauges add up, histograms join") {
  Histogram fast;
  fast.record(10, 99);
  Histogram slow;
  slow.record(1000);
  Snapshot first;
  REQUIRE(first.add("slices", Counter(3)));
  REQUIRE(first.add("latency_us", fast));
  REQUIRE(first.add("in_flight", Gauge(5)));
  Snapshot second;
  REQUIRE(second.add("slices", Counter(4)));
  REQUIRE(second.add("latency_us", slow));
  REQUIRE(second.add("in_flight", Gauge(-2)));
  REQUIRE(second.add("only_here", Counter(1)));

  REQUIRE(first.merge(second));
  CHECK(first.counter("slices") == 7);
  CHECK(first.counter("only_here") == 1);
  CHECK(std::get<Gauge>(*first.find("in_flight")).value() == 3);
  const auto& latency = std::get<Histogram>(*first.find("latency_us"));
  CHECK(latency.count() == 100);
  CHECK(latency.percentile(50) == 10);
  CHECK(latency.max() == 1000);
}

TEST_CASE("a snapshot lists its metrics in the order of their names") {
  Snapshot snapshot;
  REQUIRE(snapshot.add("b", Counter(2)));
  REQUIRE(snapshot.add("a", Counter(1)));
  std::string names;
  for (const auto& [metric_name, value] : snapshot.values()) names += metric_name;
  CHECK(names == "ab");
  CHECK(snapshot.find("c") == nullptr);
  CHECK(snapshot.counter("c") == 0);
}

TEST_CASE("a name of two kinds is refused, and the snapshot stays as it was") {
  Snapshot snapshot;
  REQUIRE(snapshot.add("x", Counter(2)));
  CHECK(snapshot.add("x", Gauge(2)).error() == MetricsError::kind_mismatch);
  Snapshot other;
  REQUIRE(other.add("a", Counter(1)));
  REQUIRE(other.add("x", Gauge(1)));
  CHECK(snapshot.merge(other).error() == MetricsError::kind_mismatch);
  CHECK(snapshot.find("a") == nullptr);
  CHECK(snapshot.counter("x") == 2);
  CHECK(name(MetricsError::kind_mismatch) == "kind_mismatch");
}
