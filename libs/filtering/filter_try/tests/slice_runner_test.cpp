#include "recording.hpp"
#include <weir/filter_try/trial.hpp>

using namespace weir;
using namespace weir::filter_try;
using namespace weir::filter_try::test;
using filter_job::StepVerdict;

TEST_CASE("a filter sees the fragments of its first step alone, then those that it asks for") {
  const auto run = recording(100, 3);  // slice s: s, 2 s and 3 s bytes
  TrialOptions options;
  options.parameters = {{"first", "10"}, {"minimum_bytes", "50"}};
  auto result = run_trial(plugin("two-step", WEIR_OWN_PLUGIN_DIR), run, options);
  if (!result) FAIL(result.error());
  for (const SliceOutcome& slice : result->slices) {
    const std::uint64_t bytes = slice.slice.value;
    CHECK(slice.recorded_bytes == 6 * bytes);
    if (bytes < 50) {
      CHECK(slice.verdict == StepVerdict::reject);
      CHECK(slice.steps == 1);
      CHECK(slice.requested_bytes == bytes);
    } else {
      CHECK(slice.verdict == StepVerdict::accept);
      CHECK(slice.steps == 2);
      CHECK(slice.requested_bytes == 6 * bytes);
    }
  }
}

TEST_CASE("a source that a slice lacks is missing, and the slice is incomplete") {
  auto run = recording(2, 2);
  run.slices[1].fragments.pop_back();
  TrialOptions options;
  options.parameters = {{"do", "bytes"}};
  const auto result = run_trial(plugin("scripted", WEIR_TEST_PLUGIN_DIR), run, options);
  REQUIRE(result.has_value());
  CHECK(result->slices[1].verdict == StepVerdict::accept);
  CHECK(result->slices[1].recorded_bytes == 1);
}

TEST_CASE("a filter that asks for nothing new fails instead of looping") {
  TrialOptions options;
  options.parameters = {{"do", "need_none"}};
  const auto result = run_trial(plugin("scripted", WEIR_TEST_PLUGIN_DIR), recording(1, 2), options);
  REQUIRE(result.has_value());
  CHECK(result->slices.front().verdict == StepVerdict::error);
  CHECK_FALSE(result->slices.front().error.empty());
}
