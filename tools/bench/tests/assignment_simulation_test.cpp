#include "weir_catch.hpp"
#include <weir/bench/assignment.hpp>

using namespace weir;
using namespace weir::bench;

namespace {

AssignmentResult run(const std::string& policy, const std::vector<Slowdown>& slowdowns = {}) {
  AssignmentCase one = rcnp_case();
  one.policy = policy;
  one.seconds_ns = 30 * kSecond;
  one.slowdowns = slowdowns;
  auto result = simulate(one);
  REQUIRE(result.has_value());
  return std::move(*result);
}

double ms(std::uint64_t us) { return static_cast<double>(us) / 1000; }

}  // namespace

TEST_CASE("the RCNP case sustains the paper's 2 kHz") {
  CHECK(capacity_hz(rcnp_case()) == Approx(2000).epsilon(0.02));
}

TEST_CASE("at half load credits alone leave slow destinations full, and a schedule table does not") {
  const AssignmentResult credits = run("credits");
  CHECK(credits.mean_ms > 50);
  CHECK(ms(credits.latency_us.percentile(90)) == Approx(200).epsilon(0.1));
  const AssignmentResult table = run("schedule-table");
  CHECK(table.mean_ms < 15);
  CHECK(table.shares.front() == Approx(1.0 / 17).epsilon(0.05));
}

TEST_CASE(
    "at half load least-loaded and learning are as fast as the schedule table, without configured speeds") {
  const double table = run("schedule-table").mean_ms;
  CHECK(run("least-loaded").mean_ms <= table);
  CHECK(run("learning").mean_ms <= table);
}

TEST_CASE("learning avoids a server that becomes slow, and uses it again when it is fast") {
  // In the third to fifth tenth of the measured time, which begins at 10 s; a tenth is 3 s.
  const Slowdown slow{10, 16 * kSecond, 25 * kSecond, 20};
  const AssignmentResult quiet = run("learning");
  const AssignmentResult changing = run("learning", {slow});
  const AssignmentResult told = run("schedule-table", {slow});
  CHECK(changing.tenths_ms[3] < 2 * quiet.tenths_ms[3]);
  CHECK(told.tenths_ms[3] > 1.8 * quiet.tenths_ms[3]);
  CHECK(changing.tenths_ms[9] < 1.1 * quiet.tenths_ms[9]);
  // While it was fast, the server has its usual share.
  CHECK(changing.shares[10] > 0.5 * quiet.shares[10]);
  CHECK(changing.shares[10] < 0.85 * quiet.shares[10]);
}

TEST_CASE("the same seed gives the same figures, and an unknown policy an error") {
  CHECK(line_of(run("learning")) == line_of(run("learning")));
  AssignmentCase one = rcnp_case();
  one.policy = "guess";
  CHECK(simulate(one).error().starts_with("assignment: unknown policy 'guess'"));
}
