#include "weir_catch.hpp"
#include <weir/assignment/policy.hpp>

using namespace weir;
using namespace weir::assignment;

TEST_CASE("credits goes round the DCMs that have a credit free") {
  const auto policy = make_policy("credits").value();
  const std::vector<DcmView> dcms = {{true, 2, 2}, {true, 2, 0}, {false, 0, 0}, {true, 2, 1}};
  CHECK(policy->choose(SliceId(0), dcms) == NodeIndex(0));
  CHECK(policy->choose(SliceId(1), dcms) == NodeIndex(3));
  CHECK(policy->choose(SliceId(2), dcms) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(3), std::vector<DcmView>{{true, 1, 0}}));
}

TEST_CASE("static gives slice s to DCM s mod N, waits for its credit, and passes over the dead") {
  const auto policy = make_policy("static").value();
  const std::vector<DcmView> dcms = {{true, 2, 2}, {true, 2, 0}, {false, 0, 0}};
  CHECK(policy->choose(SliceId(30), dcms) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(31), dcms));
  CHECK(policy->choose(SliceId(32), dcms) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(1), std::vector<DcmView>(3)));
}

TEST_CASE("an unknown policy is refused with the names of those there are") {
  CHECK(make_policy("random").error().message ==
        "assignment: unknown policy 'random'; there are credits, static");
  for (const std::string_view each : policy_names()) CHECK(make_policy(each).value()->name() == each);
}
