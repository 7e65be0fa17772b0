// Disks that fill: rates, limits and sentences.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"
#include <weir/control/disk_space.hpp>

namespace weir::control {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint64_t kGb = 1'000'000'000;
constexpr DurationNs kHour = 3600 * kSecond;

// Fills from `free_bytes` on at a rate, for so long.
void fill(DiskFlow& flow, double& free_bytes, double per_s, DurationNs time, TimeNs& now,
          std::uint64_t total = 1000 * kGb) {
  for (const TimeNs end = now + time; now < end; now += kSecond) {
    flow.take({static_cast<std::uint64_t>(free_bytes), total}, now);
    free_bytes -= per_s;
  }
}

}  // namespace

TEST_CASE("the rate of a disk is known after half a minute, and is that of the last three minutes") {
  DiskFlow flow;
  double free_bytes = 500.0 * kGb;
  TimeNs now = 0;
  fill(flow, free_bytes, 1e7, 29 * kSecond, now);
  CHECK(flow.fill_per_s() == 0);
  CHECK_FALSE(flow.left());
  fill(flow, free_bytes, 1e7, 20 * kSecond, now);
  CHECK(flow.fill_per_s() == Approx(1e7));
  CHECK(*flow.left() / kHour == 13);
  fill(flow, free_bytes, 1e8, 200 * kSecond, now);
  CHECK(flow.fill_per_s() == Approx(1e8));
  fill(flow, free_bytes, -1e8, 400 * kSecond, now);
  CHECK(flow.fill_per_s() == 0);
  CHECK_FALSE(flow.left());
}

TEST_CASE("a disk is short from a limit until the limit is exceeded by a tenth") {
  const DiskLimits limits{0.1, 2 * kHour};
  const auto is_short = [&](DiskFlow& flow, double share, TimeNs now) {
    flow.take({static_cast<std::uint64_t>(share * 1000 * kGb), 1000 * kGb}, now);
    return flow.is_short(limits);
  };
  DiskFlow flow;
  CHECK_FALSE(flow.is_short(limits));
  CHECK_FALSE(is_short(flow, 0.11, 0));
  CHECK(is_short(flow, 0.09, 400 * kSecond));
  CHECK(is_short(flow, 0.105, 800 * kSecond));
  CHECK_FALSE(is_short(flow, 0.12, 1200 * kSecond));

  // By its rate: 500 GB at 80 MB/s last 1 h 44 min, at 60 MB/s 2 h 18 min.
  DiskFlow fast;
  double free_bytes = 500.0 * kGb;
  TimeNs now = 0;
  fill(fast, free_bytes, 8e7, 60 * kSecond, now);
  CHECK(fast.is_short(limits));
  fill(fast, free_bytes, 6e7, 200 * kSecond, now);
  CHECK_FALSE(fast.is_short(limits));
}

TEST_CASE("another file system at the same place begins anew") {
  DiskFlow flow;
  double free_bytes = 500.0 * kGb;
  TimeNs now = 0;
  fill(flow, free_bytes, 1e9, 60 * kSecond, now);
  CHECK(flow.left());
  flow.take({10 * kGb, 20 * kGb}, now + 60 * kSecond);
  CHECK_FALSE(flow.left());
  CHECK(flow.space().total_bytes == 20 * kGb);
}

TEST_CASE("a disk that fills is named with host, folder, users, space, time and remedy") {
  DiskUse use{
      {"writer-0", "supervisor"}, "daq-3", "/data/out", {45 * kGb, 500 * kGb}, 6.8e6, 6600 * kSecond, true};
  CHECK(sentence(use) ==
        "daq-3 '/data/out' (writer-0, supervisor): 45.0 GB free (9 %), full in 1 h 50 min at 6.80 MB/s: move "
        "or delete files there, or let the next run write to another disk");
  use.left.reset();
  CHECK_THAT(sentence(use), ContainsSubstring("(9 %): move"));
  CHECK(duration_text(12 * kSecond) == "12 s");
  CHECK(duration_text(720 * kSecond) == "12 min");
  CHECK(duration_text(2 * kHour) == "2 h");
  CHECK(duration_text(76 * kHour) == "3 d 4 h");

  HealthView view = test::running();
  view.disks = {use};
  const auto findings = health_of(view);
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().gravity == Gravity::warning);
  CHECK(findings.front().word == "disk fills");
  view = test::in_state(State::idle);
  view.disks = {use};
  CHECK(health_of(view).front().word == "disk fills");
  view.disks.front().is_short = false;
  CHECK(health_of(view).front().word == "idle");
}

TEST_CASE("the disk that is full first is the one to show") {
  const auto use = [](std::uint64_t free_gb, std::optional<DurationNs> left) {
    return DiskUse{{}, {}, std::to_string(free_gb), {free_gb * kGb, 1000 * kGb}, 0, left, false};
  };
  CHECK(shortest({}) == nullptr);
  CHECK(shortest({use(300, {}), use(200, {}), use(400, {})})->folder == "200");
  CHECK(shortest({use(300, {}), use(600, 5 * kHour), use(400, 9 * kHour)})->folder == "600");
}

}  // namespace weir::control
