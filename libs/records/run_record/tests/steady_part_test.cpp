#include "weir_catch.hpp"
#include <weir/node/report.hpp>
#include <weir/run_record/steady_part.hpp>

#include <string>

namespace weir::run_record {
namespace {

constexpr TimeNs kBegin = 5 * kSecond;

void add_dcm(v1::FarmStatus& status, const std::string& name, double at_s, std::uint64_t bytes,
             const metrics::ValueHistogram& latency, std::uint64_t incarnation = 1) {
  v1::Report& report = *status.add_nodes();
  report.set_name(name);
  report.set_role(v1::ROLE_DCM);
  report.set_incarnation(incarnation);
  report.set_now_ns(kBegin + static_cast<TimeNs>(at_s * static_cast<double>(kSecond)));
  (*report.mutable_counters())["fragments.bytes_arrived"] = bytes;
  (*report.mutable_counters())["net.retransmits"] = bytes / 1000;
  reports::add_histogram(report, "latency_us", latency);
  reports::add_histogram(report, "build_latency_us", latency);
}

v1::FarmStatus status_at(double run_s, const std::string& state = "running") {
  v1::FarmStatus status;
  status.set_state(state);
  status.set_run_ns(static_cast<std::int64_t>(run_s * static_cast<double>(kSecond)));
  return status;
}

void take(SteadyPart& steady, const v1::FarmStatus& status) { steady.take(status, kBegin + status.run_ns()); }

TEST_CASE("the steady part begins with the first report made a second after the run's begin") {
  SteadyPart steady;
  metrics::ValueHistogram latency;
  latency.record(100'000, 7);
  v1::FarmStatus status = status_at(0.1);
  add_dcm(status, "dcm-0", -0.3, 0, {});
  take(steady, status);
  status = status_at(1.1);
  add_dcm(status, "dcm-0", 0.9, 500'000, latency);  // made early, received late
  take(steady, status);
  status = status_at(1.5);
  add_dcm(status, "dcm-0", 1.4, 1'000'000, latency);
  take(steady, status);
  CHECK_FALSE(steady.figures().has_value());
  latency.record(200, 10);
  status = status_at(3.5);
  add_dcm(status, "dcm-0", 3.4, 5'000'000, latency);
  take(steady, status);
  latency.record(1'000'000, 10);
  status = status_at(4, "draining");
  add_dcm(status, "dcm-0", 3.9, 5'000'000, latency);
  take(steady, status);
  const auto figures = steady.figures();
  REQUIRE(figures.has_value());
  CHECK(figures->seconds == Approx(2));
  CHECK(figures->goodput_bytes_per_s == Approx(2e6));
  CHECK(figures->slices_per_s == Approx(5));
  CHECK(figures->latency_us.count() == 10);
  CHECK(figures->latency_us.max() == 203);
  CHECK(figures->retransmits == 4000);
  CHECK(figures->dcm_share_min == 1);
  CHECK(figures->dcm_share_max == 1);
}

TEST_CASE("shares of DCMs are over an equal part, each by its own clock") {
  SteadyPart steady;
  v1::FarmStatus status = status_at(1.5);
  add_dcm(status, "dcm-0", 1.2, 0, {});
  add_dcm(status, "dcm-1", 1.4, 0, {});
  take(steady, status);
  status = status_at(2.5);
  add_dcm(status, "dcm-0", 2.2, 3'000'000, {});
  add_dcm(status, "dcm-1", 2.4, 1'000'000, {});
  take(steady, status);
  const auto figures = steady.figures();
  REQUIRE(figures.has_value());
  CHECK(figures->goodput_bytes_per_s == Approx(4e6));
  CHECK(figures->dcm_share_min == Approx(0.5));
  CHECK(figures->dcm_share_max == Approx(1.5));
}

TEST_CASE("a run in which some DCM has not reported twice has no steady part") {
  SteadyPart steady;
  v1::FarmStatus status = status_at(2);
  add_dcm(status, "dcm-0", 1.5, 0, {});
  take(steady, status);
  status = status_at(3);
  add_dcm(status, "dcm-0", 2.5, 1'000'000, {});
  add_dcm(status, "dcm-1", 2.6, 1'000'000, {});
  take(steady, status);
  CHECK_FALSE(steady.figures().has_value());
}

TEST_CASE("a DCM that was started again counts with each of its lives, and with the time between them") {
  SteadyPart steady;
  for (const double at_s : {1.0, 2.0}) {
    v1::FarmStatus status = status_at(at_s);
    add_dcm(status, "dcm-0", at_s, static_cast<std::uint64_t>(at_s * 1e6), {});
    take(steady, status);
  }
  for (const double at_s : {3.0, 4.0}) {
    v1::FarmStatus status = status_at(at_s);
    add_dcm(status, "dcm-0", at_s, static_cast<std::uint64_t>((at_s - 3) * 3e6), {}, 2);
    take(steady, status);
  }
  const auto figures = steady.figures();
  REQUIRE(figures.has_value());
  CHECK(figures->seconds == Approx(3));
  CHECK(figures->goodput_bytes_per_s == Approx(4e6 / 3));
}

TEST_CASE("the share of a dead DCM, taken over by another one, does not make the farm faster than its port") {
  SteadyPart steady;
  // 1 MB/s through a port, shared equally; from 3 s on dcm-1 has all of it.
  for (int tick = 4; tick <= 20; ++tick) {
    const double at_s = tick / 2.0;
    v1::FarmStatus status = status_at(at_s);
    const double before = std::min(at_s, 3.0);
    if (at_s <= 3) add_dcm(status, "dcm-0", at_s, static_cast<std::uint64_t>(before * 5e5), {});
    add_dcm(status, "dcm-1", at_s + 0.1, static_cast<std::uint64_t>(before * 5e5 + (at_s - before) * 1e6),
            {});
    take(steady, status);
  }
  const auto figures = steady.figures();
  REQUIRE(figures.has_value());
  CHECK(figures->seconds == Approx(8));
  CHECK(figures->goodput_bytes_per_s == Approx(1e6));
}

}  // namespace
}  // namespace weir::run_record
