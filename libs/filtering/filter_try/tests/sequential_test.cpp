// The plugin `sequential`, played step by step.
#include "recording.hpp"
#include <weir/filter_try/trial.hpp>

#include <string>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::filter_try;
using namespace weir::filter_try::test;
using filter_job::StepVerdict;

namespace {

constexpr std::uint32_t kSources = 8;

TrialResult sequence(const ingest::RecordedRun& run,
                     std::vector<std::pair<std::string, std::string>> parameters, std::uint32_t jobs = 1) {
  TrialOptions options;
  options.parameters = std::move(parameters);
  options.jobs = jobs;
  auto result = run_trial(plugin("sequential", WEIR_OWN_PLUGIN_DIR), run, options);
  if (!result) FAIL(result.error());
  return std::move(*result);
}

}  // namespace

TEST_CASE("sequential requests its sources step by step, and survivors whole") {
  const auto run = recording(50, kSources);
  const TrialResult selected = sequence(run, {{"steps", "3"}, {"sources_per_step", "1"}, {"build", "none"}});
  CHECK(selected.metrics.counters.at("step_3_slices") == 50);
  for (const SliceOutcome& slice : selected.slices) {
    CHECK(slice.verdict == StepVerdict::accept);
    CHECK(slice.steps == 4);  // the first call requests, the last one accepts
    CHECK(slice.requested_bytes <= slice.recorded_bytes);
  }
  const TrialResult built = sequence(run, {{"steps", "3"}, {"sources_per_step", "1"}});
  for (const SliceOutcome& slice : built.slices) {
    CHECK(slice.steps == 5);
    CHECK(slice.requested_bytes == slice.recorded_bytes);
  }
}

TEST_CASE("a reject at the first step moves the bytes of that step alone") {
  const auto run = recording(200, kSources);
  const TrialResult result = sequence(run, {{"steps", "2"}, {"sources_per_step", "2"}, {"reject", "1"}});
  std::uint64_t requested = 0;
  for (const SliceOutcome& slice : result.slices) {
    CHECK(slice.verdict == StepVerdict::reject);
    requested += slice.requested_bytes;
  }
  CHECK(result.metrics.counters.at("step_1_rejected") == 200);
  CHECK(result.metrics.counters.at("step_1_bytes") == requested);
  CHECK(result.metrics.counters.at("step_2_slices") == 0);
}

TEST_CASE("each step rejects its share, the same slices in every instance") {
  const auto run = recording(1000, kSources);
  const std::vector<std::pair<std::string, std::string>> parameters{
      {"steps", "2"}, {"sources_per_step", "2"}, {"reject", "0.5"}};
  const TrialResult alone = sequence(run, parameters);
  const TrialResult shared = sequence(run, parameters, 3);
  std::uint64_t accepted = 0;
  for (std::size_t i = 0; i < alone.slices.size(); ++i) {
    CHECK(alone.slices[i].same_decision(shared.slices[i]));
    CHECK(alone.slices[i].requested_bytes == shared.slices[i].requested_bytes);
    accepted += alone.slices[i].verdict == StepVerdict::accept ? 1 : 0;
  }
  CHECK(accepted > 190);
  CHECK(accepted < 310);
}

TEST_CASE("a step of a group draws among the sources of its group") {
  const auto run = recording(100, kSources);
  const TrialResult result =
      sequence(run, {{"steps", "4"}, {"sources_per_step", "2"}, {"draw", "group"}, {"build", "none"}});
  // Two sources belong to each step, so every source is requested once.
  for (const SliceOutcome& slice : result.slices) CHECK(slice.requested_bytes == slice.recorded_bytes);
}

TEST_CASE("steps over source groups request their groups, and each step rejects its own share") {
  const auto run = recording(1000, kSources);
  TrialOptions options;
  options.groups = {{"calorimeter", {10, 20}}, {"muon", {30, 40, 50}}};
  options.parameters = {{"groups", "calorimeter,muon"}, {"reject", "0.9,0"}, {"prefetch", "next"}};
  const auto result = run_trial(plugin("sequential", WEIR_OWN_PLUGIN_DIR), run, options);
  REQUIRE(result.has_value());
  const auto& counters = result->metrics.counters;
  CHECK(counters.at("step_1_slices") == 1000);
  CHECK(counters.at("step_1_rejected") > 850);
  CHECK(counters.at("step_2_slices") == 1000 - counters.at("step_1_rejected"));
  CHECK(counters.at("step_2_rejected") == 0);
  for (const SliceOutcome& slice : result->slices) {
    // Source i has slice * (i + 1) bytes; a reject moves those of the first two.
    if (slice.verdict == StepVerdict::reject) CHECK(slice.requested_bytes == slice.slice.value * 3);
    if (slice.verdict == StepVerdict::accept) CHECK(slice.requested_bytes == slice.recorded_bytes);
  }
}

TEST_CASE("the farm's first sources go before the filter's own choice") {
  const auto run = recording(3, kSources);
  TrialOptions options;
  options.groups = {{"calorimeter", {10, 20}}};
  options.parameters = {{"groups", "calorimeter"}, {"build", "none"}};
  options.first_sources = {10, 20, 80};
  const auto result = run_trial(plugin("sequential", WEIR_OWN_PLUGIN_DIR), run, options);
  REQUIRE(result.has_value());
  CHECK(result->slices[2].requested_bytes == 2 * (1 + 2 + 8));
}

TEST_CASE("an unknown source group keeps a filter from starting, and the farm's groups are listed") {
  const auto run = recording(3, kSources);
  TrialOptions options;
  options.groups = {{"calorimeter", {10}}, {"muon", {20}}};
  options.parameters = {{"groups", "muons"}};
  const auto result = run_trial(plugin("sequential", WEIR_OWN_PLUGIN_DIR), run, options);
  REQUIRE_FALSE(result.has_value());
  CHECK_THAT(result.error(), ContainsSubstring("no source group 'muons'"));
  CHECK_THAT(result.error(), ContainsSubstring("its groups are calorimeter, muon"));
}

TEST_CASE("a menu that needs more sources than a slice has is an error that says so") {
  const auto run = recording(3, 2);
  const TrialResult result = sequence(run, {{"steps", "3"}, {"sources_per_step", "1"}});
  CHECK(result.slices.front().verdict == StepVerdict::error);
  CHECK_THAT(result.slices.front().error, ContainsSubstring("step 3 has no source left"));
}
