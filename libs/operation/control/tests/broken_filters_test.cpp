// Findings about filters that fail, crash or hang, on simulated time.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"

#include <functional>
#include <string>
#include <utility>

namespace weir::control {
namespace {

using namespace test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

constexpr std::uint64_t kRate = 100;  // slices of dcm-0 per second

// Lets dcm-0 filter for some seconds, each of which changes its totals.
HealthView after(int seconds, const std::function<void(FilterFlow::Counts&)>& each_second,
                 const std::string& group = {}) {
  FilterFlow flow;
  FilterFlow::Counts totals;
  totals.group = group;
  TimeNs now = kSecond;
  for (int i = 0; i <= seconds; ++i, now += kSecond) {
    flow.take("dcm-0", totals, now);
    totals.filtered += kRate;
    each_second(totals);
  }
  HealthView view = running();
  view.filters = flow.lately(now - kSecond);
  return view;
}

void crash(FilterFlow::Counts& totals, std::uint64_t slices) {
  totals.poisoned += slices;
  totals.ends["signal"] += 2 * slices;
  totals.end = "signal: signal 11 (Segmentation fault)";
}

void fail(FilterFlow::Counts& totals, std::uint64_t slices) {
  totals.errors += slices;
  totals.error = "KeyError: 'x' (my_filter.py:31)";
}

}  // namespace

TEST_CASE("a filter that crashes its workers is named with signal and share, and outranks slow filters") {
  HealthView view = after(60, [](FilterFlow::Counts& totals) { crash(totals, 5); });
  hold(view, "dcm-0", Hold::throttled, "FILTER_TOO_SLOW", "dcm-0");
  hold(view, "supervisor", Hold::throttled, "SLICES_PENDING", "supervisor");
  const auto health = health_of(view);
  INFO(all_of(health));
  CHECK(health[0].gravity == Gravity::error);
  CHECK(health[0].word == "filter workers crash");
  CHECK_THAT(health[0].reason,
             StartsWith("dcm-0: signal 11 (Segmentation fault): 5 % of the slices of the last 10 s "
                        "went unfiltered (50 of 1000)"));
  CHECK_THAT(health[1].reason, ContainsSubstring("SLICES_PENDING"));
  CHECK_THAT(all_of(health), !ContainsSubstring("FILTER_TOO_SLOW"));
}

TEST_CASE(
    "an exception on half of the slices is an error with share and place, and slow filters stay named") {
  HealthView view = after(12, [](FilterFlow::Counts& totals) { fail(totals, kRate / 2); });
  hold(view, "dcm-1", Hold::throttled, "FILTER_TOO_SLOW", "dcm-1");
  const auto health = health_of(view);
  INFO(all_of(health));
  CHECK(health[0] == Finding{Gravity::error, "filter fails",
                             "50 % of the slices of the last 10 s went unfiltered (500 of 1000): dcm-0: "
                             "KeyError: 'x' (my_filter.py:31)"});
  CHECK_THAT(all_of(health), ContainsSubstring("FILTER_TOO_SLOW"));
}

TEST_CASE("a share below filter.error_share_max is a warning, and few slices have none") {
  CHECK(health_of(after(60,
                        [](FilterFlow::Counts& totals) {
                          if (totals.filtered % 1000 == 0) fail(totals, 1);
                        }))
            .front()
            .gravity == Gravity::warning);
  HealthView lenient = after(60, [](FilterFlow::Counts& totals) { fail(totals, kRate); });
  CHECK(health_of(lenient).front().gravity == Gravity::error);
  lenient.filter_error_share_max = 1;
  CHECK(health_of(lenient).front().gravity == Gravity::warning);
  lenient.filters[0].filtered_in_all = 19;
  lenient.filter_error_share_max = 0.01;
  CHECK(health_of(lenient).front().gravity == Gravity::warning);
}

TEST_CASE("workers that end without a lost slice are named, an error above the share") {
  HealthView view = after(12, [](FilterFlow::Counts& totals) {
    totals.ends["exit"] += 2;
    totals.end = "exit: exit status 3";
  });
  CHECK(health_of(view).front().gravity == Gravity::error);
  CHECK_THAT(sentence(health_of(view).front()),
             StartsWith("filter workers exit: dcm-0: exit status 3: 20 times in the last 10 s"));
  view.filters[0].filtered = 100000;
  CHECK(health_of(view).front().gravity == Gravity::warning);
}

TEST_CASE("a group's filter is named with its group, and others are not") {
  const auto health = health_of(after(
      12, [](FilterFlow::Counts& totals) { fail(totals, 100); }, "full"));
  REQUIRE(health.size() == 1);
  CHECK_THAT(health[0].reason, StartsWith("group full: 100 % of the slices"));
}

TEST_CASE("a filter that hangs is named with its slice, and with what ends it") {
  HealthView view = running();
  of(view, "dcm-0").filter_held = "150";
  of(view, "dcm-0").filter_held_ns = 9 * kSecond;
  CHECK(health_of(view).front().gravity == Gravity::good);
  of(view, "dcm-0").filter_held_ns = 42 * kSecond;
  hold(view, "dcm-0", Hold::throttled, "FILTER_TOO_SLOW", "dcm-0");
  lose(view, "dcm-2");
  auto health = health_of(view);
  CHECK(health[0] == Finding{Gravity::error, "filter hangs",
                             "dcm-0's filter holds slice 150: weir ctl kill dcm-0, and for the "
                             "next run filter.isolation: worker"});
  CHECK(health[1].word == "DCM lost");
  CHECK_THAT(all_of(health), !ContainsSubstring("FILTER_TOO_SLOW"));
  of(view, "dcm-0").has_workers = true;
  CHECK_THAT(health_of(view)[0].reason, ContainsSubstring("filter.timeout_ms"));
}

TEST_CASE("a filter's failures are over ten seconds after the last, and a new process counts from zero") {
  FilterFlow flow;
  FilterFlow::Counts totals;
  TimeNs now = kSecond;
  const auto second = [&](std::uint64_t errors) {
    totals.filtered += kRate;
    totals.errors += errors;
    flow.take("dcm-0", totals, now += kSecond);
    return flow.lately(now);
  };
  // Counts of the first report are not recent.
  totals.errors = 1000;
  CHECK(second(0).empty());
  CHECK(second(3).at(0).errors == 3);
  for (int i = 0; i < 9; ++i) CHECK(second(0).size() == 1);
  CHECK(second(0).empty());
  totals = {};
  CHECK(second(7).at(0).errors == 7);
  CHECK(flow.lately(now).at(0).filtered == kRate);
  // A DCM that is gone has no share in the present.
  CHECK(flow.lately(now + FilterFlow::kWindow).empty());
}

}  // namespace weir::control
