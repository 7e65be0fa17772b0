#include "weir_catch.hpp"
#include <weir/bench/changing_farm.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <string>

namespace weir::bench {
namespace {

using Catch::Matchers::ContainsSubstring;

// Ten reports a second; from the change at 5 s the old rate continues for `late_s`.
std::vector<StoredUntil> two_rates(double first_hz, double second_hz, double late_s) {
  std::vector<StoredUntil> stored;
  double count = 0;
  for (int i = 0; i <= 100; ++i) {
    const double at_s = i * 0.1;
    stored.push_back({at_s, static_cast<std::uint64_t>(count + 0.5)});
    count += 0.1 * (at_s < 5 + late_s ? first_hz : second_hz);
  }
  return stored;
}

const std::vector<FarmChange> kChanges = {{0, "begin", 4}, {5, "remove dcm-3", 3}};

TEST_CASE(
    "a rate between two reports is in proportion, and nothing happens before the first or after the last") {
  const std::vector<StoredUntil> stored = {{0, 0}, {1, 100}, {2, 300}};
  CHECK(rate_between(stored, 0, 2) == Approx(150));
  CHECK(rate_between(stored, 0.5, 1.5) == Approx(150));
  CHECK(rate_between(stored, 1, 3) == Approx(100));
  CHECK(rate_between(stored, 1, 1) == 0);
  CHECK(rate_between({}, 0, 1) == 0);
}

TEST_CASE("a phase is judged by the share of present DCMs, once the rate has followed") {
  const auto phases = phases_of(two_rates(400, 300, 0.6), kChanges);
  REQUIRE(phases.size() == 2);
  CHECK(phases[0].rate_hz == Approx(400).epsilon(0.01));
  CHECK(phases[1].expected_hz == Approx(300).epsilon(0.01));
  REQUIRE(phases[1].followed_s);
  CHECK(*phases[1].followed_s > 0.3);
  CHECK(*phases[1].followed_s <= 0.6);
  CHECK(phases[1].good());
  CHECK(phases[1].deviation() < 0.02);
}

TEST_CASE("a rate that does not follow is never good") {
  const auto phases = phases_of(two_rates(400, 400, 0), kChanges);
  REQUIRE(phases.size() == 2);
  CHECK_FALSE(phases[1].followed_s);
  CHECK_FALSE(phases[1].good());
  const auto below = phases_of(two_rates(400, 270, 0), kChanges);
  CHECK_FALSE(below[1].good());
}

TEST_CASE("the rate of an unlike DCM is the difference that its first removal makes") {
  // a, b, c have 10, 4 and 2 slices per second; `back_hz`: the rate once a is back.
  const auto phases_with = [](double back_hz) {
    const std::vector<FarmChange> changes = {
        {0, "begin", 3}, {20, "remove a", 2, "a"}, {40, "remove b", 1, "b"}, {60, "add a", 2, "a"}};
    const double rates[] = {16, 6, 2, back_hz};
    std::vector<StoredUntil> stored;
    double count = 0;
    for (int i = 0; i <= 800; ++i) {
      stored.push_back({i * 0.1, static_cast<std::uint64_t>(count)});
      count += 0.1 * rates[std::min(i / 200, 3)];
    }
    return phases_of_unlike(stored, changes);
  };
  const std::vector<Phase> phases = phases_with(12);
  REQUIRE(phases.size() == 4);
  CHECK(phases[3].expected_hz == Approx(12).epsilon(0.03));
  CHECK(phases[3].good());
  CHECK_FALSE(phases_with(6)[3].good());
  CHECK(phases_of_unlike({}, {}).empty());
}

TEST_CASE("the paper's remote nodes are a farm and a lab that are valid together") {
  const auto farm = config::read_farm(remote_nodes_farm(remote_nodes(), 0.25, "remote-nodes"), "farm.yaml");
  REQUIRE(farm);
  const auto plan = config::expand(farm->farm, farm->locations);
  REQUIRE(plan);
  const auto lab = config::read_lab(remote_nodes_lab(remote_nodes(), 0.25), "lab.yaml");
  REQUIRE(lab);
  const auto planned = lab::plan_lab(*lab, &*plan);
  REQUIRE(planned);
  CHECK(planned->line);
  std::uint32_t present = 3;
  for (const RemoteNodeChange& change : remote_nodes().changes) {
    present += change.removes ? -1U : 1U;
    CHECK(plan->of_role(Role::dcm).size() > present);
  }
  CHECK(present == 3);
}

TEST_CASE("every DCM that leaves rejoins, and half of them stay") {
  const auto steps = changing_farm_steps(3);
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].kind == FarmStep::Kind::remove);
  CHECK(steps[0].dcm == "dcm-2");
  CHECK(steps[1].kind == FarmStep::Kind::add);
  CHECK(steps[1].dcm == "dcm-2");
  CHECK(steps[2].kind == FarmStep::Kind::kill);
  CHECK(steps[3].kind == FarmStep::Kind::start);
  CHECK(changing_farm_steps(6).size() == 8);
}

TEST_CASE("table and line name each change") {
  ChangingFarmOptions options;
  options.dcms = 4;
  ChangingFarmResult result;
  result.stored = two_rates(400, 300, 0);
  result.phases = phases_of(result.stored, kChanges);
  result.balanced = true;
  const Line line = line_of(result, options);
  CHECK_THAT(changing_farm_page(line, options, "here"), ContainsSubstring("| remove dcm-3 | 3 |"));
  CHECK(is_set(line, "ledger_balanced"));
  CHECK(line.at("rate_hz").as_array().at(0) == 400.0);
  CHECK(line.at("rate_hz").as_array().at(1) == 400.0);
}

}  // namespace
}  // namespace weir::bench
