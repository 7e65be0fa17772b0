#include "weir_catch.hpp"
#include <weir/control/soak_plan.hpp>

#include <algorithm>

namespace weir::control {
namespace {

using Kind = SoakStep::Kind;

std::vector<SoakStep> steps_of(std::uint64_t seed, int runs, const SoakSettings& settings) {
  SoakPlan plan(seed, settings);
  std::vector<SoakStep> all;
  for (int i = 0; i < runs; ++i) {
    const std::vector<SoakStep> steps = plan.next_run();
    all.insert(all.end(), steps.begin(), steps.end());
  }
  return all;
}

TEST_CASE("a seed always gives the same steps, another seed gives others") {
  const SoakSettings settings{20, 3, 10};
  const std::vector<SoakStep> steps = steps_of(1, 5, settings);
  const std::vector<SoakStep> same = steps_of(1, 5, settings);
  REQUIRE(steps.size() == same.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].after_s == same[i].after_s);
    CHECK(steps[i].victim == same[i].victim);
  }
  CHECK(steps_of(2, 1, settings).front().after_s != steps.front().after_s);
}

TEST_CASE("a run ends once, after half to one and a half of its mean length, with kills and pauses before") {
  SoakPlan plan(7, {20, 2, 8});
  double kills = 0;
  double pauses = 0;
  double total_s = 0;
  for (int run = 0; run < 200; ++run) {
    const std::vector<SoakStep> steps = plan.next_run();
    double length_s = 0;
    for (const SoakStep& step : steps) {
      CHECK(step.after_s >= 0);
      length_s += step.after_s;
      kills += step.kind == Kind::kill ? 1 : 0;
      pauses += step.kind == Kind::pause ? 1 : 0;
      if (step.kind == Kind::pause) CHECK((step.lasts_s >= 0.1 && step.lasts_s <= 2));
      CHECK((step.kind == Kind::run_ends) == (&step == &steps.back()));
    }
    CHECK((length_s >= 10 && length_s < 30));
    total_s += length_s;
  }
  CHECK(kills / total_s == Approx(0.5).epsilon(0.1));
  CHECK(pauses / total_s == Approx(0.125).epsilon(0.2));
}

TEST_CASE("without kills and pauses a run only ends, and one in four farms is reset") {
  SoakPlan plan(3, {1, 0, 0});
  int resets = 0;
  for (int run = 0; run < 400; ++run) {
    CHECK(plan.next_run().size() == 1);
    resets += plan.resets_next() ? 1 : 0;
  }
  CHECK((resets > 70 && resets < 130));
}

TEST_CASE("runs that fail, do not balance, or lose slices are findings; kills alone are not") {
  SoakAccount account;
  account.add({1, true, "", 100, 60, 39, 1, 4});
  CHECK(account.is_good());
  CHECK_THAT(account.text(),
             Catch::ContainsSubstring("100 slices triggered = 60 stored + 39 rejected + 1 discarded") &&
                 Catch::ContainsSubstring("4 faults") && Catch::ContainsSubstring("no findings"));
  account.add({2, false, "", 10, 10, 0, 0, 0});
  account.add({3, true, "", 10, 9, 0, 0, 0});
  account.add({4, true, "no account", 0, 0, 0, 0, 0});
  CHECK_FALSE(account.is_good());
  REQUIRE(account.findings().size() == 3);
  CHECK(account.findings()[0] == "run 2: the ledger does not balance");
  CHECK(account.findings()[1] == "run 3: 10 slices triggered, 9 with an outcome");
  CHECK(account.findings()[2] == "run 4: no account");
}

TEST_CASE("findings beyond the limit are counted") {
  SoakAccount account;
  for (std::size_t i = 0; i < SoakAccount::kFindingsMax + 5; ++i) account.add_finding("x");
  CHECK(account.findings().size() == SoakAccount::kFindingsMax);
  CHECK_THAT(account.text(),
             Catch::ContainsSubstring("105 findings") && Catch::ContainsSubstring("and 5 more"));
}

}  // namespace
}  // namespace weir::control
