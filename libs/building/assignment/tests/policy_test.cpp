#include "../src/learning_policy.hpp"
#include "weir_catch.hpp"
#include <weir/assignment/policy.hpp>

#include <map>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr TimeNs kNow = kSecond;

DcmView dcm(std::uint32_t credits, std::uint32_t credits_free) {
  return {true, credits, credits_free, false};
}
const DcmView kGone{};
const DcmView kClosed{true, 2, 0, true};

}  // namespace

TEST_CASE("credits is round robin over the DCMs with a free credit") {
  const auto policy = make_policy("credits").value();
  const std::vector<DcmView> dcms = {dcm(2, 2), dcm(2, 0), kGone, dcm(2, 1)};
  CHECK(policy->choose(SliceId(0), dcms, kNow) == NodeIndex(0));
  CHECK(policy->choose(SliceId(1), dcms, kNow) == NodeIndex(3));
  CHECK(policy->choose(SliceId(2), dcms, kNow) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(3), std::vector<DcmView>{dcm(1, 0)}, kNow));
}

TEST_CASE("credits deals slices that wait together in runs, and no DCM gets more of them than in turn") {
  const auto policy = make_policy("credits").value();
  const auto dealt = [&](std::size_t waiting, std::vector<DcmView> dcms) {
    std::vector<std::size_t> order;
    policy->begin_round(waiting, dcms);
    for (std::size_t slice = 0; slice < waiting; ++slice) {
      const auto chosen = policy->choose(SliceId(slice), dcms, kNow);
      if (!chosen) break;
      order.push_back(chosen->value);
      --dcms[chosen->value].credits_free;
    }
    return order;
  };
  using Order = std::vector<std::size_t>;
  CHECK(dealt(7, {dcm(9, 9), dcm(9, 9), kGone, dcm(9, 9)}) == Order{0, 0, 1, 1, 3, 3, 0});
  CHECK(dealt(2, {dcm(9, 9), dcm(9, 9), kGone, dcm(9, 9)}) == Order{1, 3});  // the turn goes on
  CHECK(dealt(6, {dcm(9, 9), dcm(9, 1), kGone}) == Order{0, 0, 0, 1, 0, 0});
  CHECK(dealt(100, {dcm(9, 2), dcm(9, 2), kClosed}) == Order{1, 1, 0, 0});
  CHECK(dealt(40, {dcm(99, 99), dcm(99, 99)}).at(16) == 0);  // the longest run
  CHECK(dealt(5, {kGone, kClosed}).empty());
}

TEST_CASE("static gives slice s to DCM s mod N, waits for its credit, and skips absent DCMs") {
  const auto policy = make_policy("static").value();
  const std::vector<DcmView> dcms = {dcm(2, 2), dcm(2, 0), kGone, kClosed};
  CHECK(policy->choose(SliceId(40), dcms, kNow) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(41), dcms, kNow));
  CHECK(policy->choose(SliceId(42), dcms, kNow) == NodeIndex(0));
  CHECK(policy->choose(SliceId(43), dcms, kNow) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(1), std::vector<DcmView>(3), kNow));
}

TEST_CASE("a schedule table gives each DCM its share, evenly spread") {
  const auto policy = make_policy({"schedule-table", {2, 4}}).value();  // and 1 for the third
  const std::vector<DcmView> dcms(3, dcm(9, 9));
  std::map<std::uint16_t, int> turns;
  int longest_wait = 0;
  int wait = 0;
  for (std::uint64_t slice = 0; slice < 700; ++slice) {
    const auto chosen = policy->choose(SliceId(slice), dcms, kNow);
    REQUIRE(chosen.has_value());
    ++turns[chosen->value];
    wait = chosen == NodeIndex(1) ? 0 : wait + 1;
    longest_wait = std::max(longest_wait, wait);
  }
  CHECK(turns[0] == 200);
  CHECK(turns[1] == 400);
  CHECK(turns[2] == 100);
  CHECK(longest_wait <= 1);
}

TEST_CASE("a schedule table skips DCMs without a free credit, and refuses a weight of 0") {
  const auto policy = make_policy({"schedule-table", {1, 1000}}).value();
  const std::vector<DcmView> dcms = {dcm(2, 1), dcm(2, 0)};
  for (std::uint64_t slice = 0; slice < 5; ++slice)
    CHECK(policy->choose(SliceId(slice), dcms, kNow) == NodeIndex(0));
  CHECK_FALSE(policy->choose(SliceId(9), std::vector<DcmView>{dcm(2, 0), kGone}, kNow));
  CHECK(make_policy({"schedule-table", {1, 0}}).error().message ==
        "assignment: a weight of the schedule table is 0; the least is 1");
}

TEST_CASE("the least loaded DCM is the one with the smallest share of its credits in use") {
  const auto policy = make_policy("least-loaded").value();
  CHECK(policy->choose(SliceId(0), std::vector<DcmView>{dcm(4, 2), dcm(40, 30), kGone, kClosed}, kNow) ==
        NodeIndex(1));
  CHECK(policy->choose(SliceId(0), std::vector<DcmView>{dcm(4, 0), dcm(40, 1)}, kNow) == NodeIndex(1));
  const std::vector<DcmView> equal(3, dcm(4, 4));
  std::map<std::uint16_t, int> turns;
  for (std::uint64_t slice = 0; slice < 30; ++slice)
    ++turns[policy->choose(SliceId(slice), equal, kNow)->value];
  CHECK(turns == std::map<std::uint16_t, int>{{0, 10}, {1, 10}, {2, 10}});
}

TEST_CASE("unknown DCMs are tried, and then the DCM with the earliest decision is chosen") {
  LearningPolicy policy;
  const std::vector<DcmView> idle(2, dcm(8, 8));
  const auto first = policy.choose(SliceId(0), idle, kNow);
  const auto second = policy.choose(SliceId(1), idle, kNow);
  REQUIRE(first.has_value());
  // Neither is known: in turn.
  CHECK(first != second);
  policy.decided(NodeIndex(0), 0, 20 * kMillisecond, kNow);
  policy.decided(NodeIndex(1), 0, 10 * kMillisecond, kNow);
  for (std::uint64_t slice = 2; slice < 10; ++slice)
    CHECK(policy.choose(SliceId(slice), idle, kNow) == NodeIndex(1));
}

TEST_CASE("a DCM that slows down with more slices gets those that another finishes sooner") {
  LearningPolicy policy;
  policy.decided(NodeIndex(0), 0, 10 * kMillisecond, kNow);
  policy.decided(NodeIndex(0), 1, 20 * kMillisecond, kNow);
  policy.decided(NodeIndex(1), 0, 15 * kMillisecond, kNow);
  CHECK(policy.choose(SliceId(0), std::vector<DcmView>{dcm(8, 8), dcm(8, 8)}, kNow) == NodeIndex(0));
  CHECK(policy.choose(SliceId(1), std::vector<DcmView>{dcm(8, 7), dcm(8, 8)}, kNow) == NodeIndex(1));
  // Unmeasured above 2: scaled from 2 with 20 ms.
  CHECK(policy.expected(NodeIndex(0), 5, kNow) == 60 * kMillisecond);
}

TEST_CASE("a DCM that becomes slow loses its slices within a few decisions") {
  LearningPolicy policy;
  TimeNs now = kNow;
  policy.decided(NodeIndex(0), 0, 5 * kMillisecond, now);
  policy.decided(NodeIndex(1), 0, 10 * kMillisecond, now);
  const std::vector<DcmView> idle(2, dcm(8, 8));
  CHECK(policy.choose(SliceId(0), idle, now) == NodeIndex(0));
  int decisions = 0;
  while (policy.choose(SliceId(1), idle, now) == NodeIndex(0) && decisions < 100) {
    ++decisions;
    policy.decided(NodeIndex(0), 0, 40 * kMillisecond, now);
  }
  CHECK(decisions <= 3);
}

TEST_CASE("a DCM that has slices and is silent is expected to be as slow as that") {
  LearningPolicy policy;
  policy.decided(NodeIndex(0), 0, 5 * kMillisecond, kNow);
  policy.decided(NodeIndex(1), 0, 20 * kMillisecond, kNow);
  const std::vector<DcmView> one_busy = {dcm(8, 7), dcm(8, 8)};
  CHECK(policy.choose(SliceId(0), one_busy, kNow + kMillisecond) == NodeIndex(0));
  CHECK(policy.choose(SliceId(0), one_busy, kNow + 30 * kMillisecond) == NodeIndex(1));
}

TEST_CASE("a DCM that was slow is tried again, rarely, and has its slices back when it is fast") {
  LearningPolicy policy;
  TimeNs now = kNow;
  policy.decided(NodeIndex(0), 0, 100 * kMillisecond, now);
  int tried = 0;
  const std::vector<DcmView> idle(2, dcm(8, 8));
  for (int i = 0; i < 1000; ++i) {  // 10 s, with the other at 10 ms
    const auto chosen = policy.choose(SliceId(0), idle, now);
    now += 10 * kMillisecond;
    if (chosen == NodeIndex(0)) ++tried;
    policy.decided(*chosen, 0, chosen == NodeIndex(0) ? 100 * kMillisecond : 10 * kMillisecond, now);
  }
  CHECK(tried >= 4);
  CHECK(tried <= 6);
  int chosen_when_fast = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto chosen = policy.choose(SliceId(0), idle, now);
    now += 10 * kMillisecond;
    if (chosen == NodeIndex(0)) ++chosen_when_fast;
    policy.decided(*chosen, 0, chosen == NodeIndex(0) ? 2 * kMillisecond : 10 * kMillisecond, now);
  }
  CHECK(chosen_when_fast > 750);  // it is tried anew after 2 s at the latest
}

TEST_CASE("a new process is unknown") {
  LearningPolicy policy;
  policy.decided(NodeIndex(0), 0, kSecond, kNow);
  policy.decided(NodeIndex(1), 0, kMillisecond, kNow);
  policy.joined(NodeIndex(0));
  CHECK(policy.expected(NodeIndex(0), 0, kNow) == 0);
  CHECK(policy.expected(NodeIndex(0), 1, kNow) > kSecond);  // one slice is enough
  CHECK(policy.choose(SliceId(0), std::vector<DcmView>(2, dcm(8, 8)), kNow) == NodeIndex(0));
}

TEST_CASE("an unknown policy is refused with the names of those there are") {
  CHECK(make_policy("random").error().message ==
        "assignment: unknown policy 'random'; there are credits, static, schedule-table, least-loaded, "
        "learning");
  for (const std::string_view each : policy_names()) CHECK(make_policy(each).value()->name() == each);
}
