#include "recording.hpp"
#include "report.hpp"
#include <weir/filter_try/trial.hpp>

#include <string>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::filter_try;
using namespace weir::filter_try::test;
using filter_job::StepVerdict;

namespace {

TrialOptions parameters(std::vector<std::pair<std::string, std::string>> values) {
  TrialOptions options;
  options.parameters = std::move(values);
  return options;
}

TrialResult tried(const std::string& name, const ingest::RecordedRun& run, const TrialOptions& options,
                  const std::string& folder = WEIR_OWN_PLUGIN_DIR) {
  auto result = run_trial(plugin(name, folder), run, options);
  if (!result) FAIL(result.error());
  return std::move(*result);
}

}  // namespace

TEST_CASE("each recorded slice gets the filter's decision, in order") {
  const auto run = recording(20, 2);
  const TrialResult result = tried("prescale", run, parameters({{"n", "5"}}));
  REQUIRE(result.slices.size() == 20);
  for (std::uint64_t s = 0; s < 20; ++s) {
    CHECK(result.slices[s].slice == SliceId(s));
    CHECK(result.slices[s].verdict == (s % 5 == 0 ? StepVerdict::accept : StepVerdict::reject));
  }
}

TEST_CASE("threads share the slices, and each slice is processed once") {
  const auto run = recording(500, 1);
  TrialOptions options = parameters({{"n", "3"}});
  options.jobs = 4;
  const TrialResult shared = tried("prescale", run, options);
  options.jobs = 1;
  const TrialResult alone = tried("prescale", run, options);
  REQUIRE(shared.slices.size() == 500);
  for (std::size_t i = 0; i < 500; ++i) CHECK(shared.slices[i].verdict == alone.slices[i].verdict);
}

TEST_CASE("one slice alone is tried, and an unrecorded one is an error that names the range") {
  const auto run = recording(20, 2);
  TrialOptions options = parameters({{"n", "5"}});
  options.slice = SliceId(15);
  const TrialResult result = tried("prescale", run, options);
  REQUIRE(result.slices.size() == 1);
  CHECK(result.slices.front().verdict == StepVerdict::accept);
  options.slice = SliceId(99);
  const auto absent = run_trial(plugin("prescale", WEIR_OWN_PLUGIN_DIR), run, options);
  REQUIRE(!absent);
  CHECK_THAT(absent.error(), ContainsSubstring("slice 99 is not recorded") && ContainsSubstring("0 to 19"));
}

TEST_CASE("a refused parameter is the plugin's sentence") {
  const auto refused =
      run_trial(plugin("prescale", WEIR_OWN_PLUGIN_DIR), recording(3, 1), parameters({{"n", "x"}}));
  REQUIRE(!refused);
  CHECK_THAT(refused.error(), ContainsSubstring("'n'"));
}

TEST_CASE("errors of the filter are kept with their slice and listed") {
  const auto run = recording(30, 1);
  const TrialOptions options = parameters({{"do", "throw"}});
  const TrialResult result = tried("scripted", run, options, WEIR_TEST_PLUGIN_DIR);
  CHECK(result.slices.front().verdict == StepVerdict::error);
  const std::string text = trial_text(*plugin("scripted", WEIR_TEST_PLUGIN_DIR), result, options, 2);
  CHECK_THAT(text, ContainsSubstring("slice 0  error: filter 'scripted': hit 7 has no time") &&
                       ContainsSubstring("and 28 more"));
}

TEST_CASE("a decision that depends on more than the slice is found by repeating it") {
  const auto run = recording(10, 1);
  TrialOptions options = parameters({{"do", "alternate"}});
  options.repeat = 2;
  const TrialResult alternating = tried("scripted", run, options, WEIR_TEST_PLUGIN_DIR);
  CHECK(alternating.inconsistent.size() == 10);
  const auto scripted = plugin("scripted", WEIR_TEST_PLUGIN_DIR);
  CHECK_THAT(trial_text(*scripted, alternating, options, 0),
             ContainsSubstring("10 slices with different decisions"));
  options = parameters({{"do", "random"}});
  options.repeat = 3;
  const TrialResult random = tried("scripted", run, options, WEIR_TEST_PLUGIN_DIR);
  CHECK(random.inconsistent.empty());  // the host's random numbers belong to the slice
}

TEST_CASE("two versions are compared slice by slice") {
  const auto run = recording(20, 2);
  const TrialResult first = tried("prescale", run, parameters({{"n", "5"}}));
  const TrialResult second = tried("prescale", run, parameters({{"n", "10"}}));
  const auto different = disagreements(first, second);
  REQUIRE(different.size() == 4);  // 0 and 10 have other prescales, 5 and 15 other verdicts
  CHECK(different[0].first.slice == SliceId(0));
  CHECK(different[1].second.verdict == StepVerdict::reject);
  const std::string text = disagreements_text(different, 0);
  CHECK_THAT(text, ContainsSubstring("disagree on 4 slices") &&
                       ContainsSubstring("slice 5: accept, then reject") &&
                       ContainsSubstring("slice 0: both accept, with different output"));
  CHECK_THAT(disagreements_text({}, 0), ContainsSubstring("agree on every slice"));
}

TEST_CASE("counters and histograms of all instances are added up, and ids beyond 2^53 survive JSON") {
  auto run = recording(12, 1);
  run.slices.back().slice = SliceId((1ULL << 53U) + 1);
  TrialOptions options = parameters({{"do", "accept"}});
  options.jobs = 3;
  const TrialResult result = tried("scripted", run, options, WEIR_TEST_PLUGIN_DIR);
  CHECK(result.metrics.counters.at("processed") == 12);
  CHECK(result.metrics.histograms.at("ids").count == 12);
  CHECK_THAT(slice_json(result.slices.back()), ContainsSubstring("\"9007199254740993\""));
  CHECK_THAT(trial_json(*plugin("scripted", WEIR_TEST_PLUGIN_DIR), result),
             ContainsSubstring("\"accepted\":12"));
}

TEST_CASE("booked histograms have each slice once, whatever the threads and repetitions") {
  const auto run = recording(100, 1);
  TrialOptions options = parameters({{"do", "book_throw_odd"}});
  options.jobs = 3;
  options.repeat = 2;
  const TrialResult result = tried("scripted", run, options, WEIR_TEST_PLUGIN_DIR);
  const histograms::Contents& contents = result.histograms;
  REQUIRE(contents.layout().all().size() == 3);
  CHECK(contents.view(0).entries() == 50);
  CHECK(contents.view(0).content(1) == 10);  // 0, 10, …
  CHECK(contents.view(0).content(2) == 0);   // the filter fails on odd slices
  const auto tried_plugin = plugin("scripted", WEIR_TEST_PLUGIN_DIR);
  CHECK_THAT(trial_text(*tried_plugin, result, options, 0),
             ContainsSubstring("modulo: 50 entries, mean 4, sigma 2.82843; 10 bins from 0 to 10\n"));
  CHECK_THAT(trial_json(*tried_plugin, result),
             ContainsSubstring(R"({"name":"modulo","kind":"1d","x":{"bins":10,"low":0,"high":10})"));
}

TEST_CASE("a filter that cannot end the run is reported with its reason") {
  const TrialResult result =
      tried("scripted", recording(3, 1), parameters({{"do", "throw_in_end_run"}}), WEIR_TEST_PLUGIN_DIR);
  CHECK_THAT(result.end_error, ContainsSubstring("cannot say goodbye"));
  CHECK_THAT(trial_text(*plugin("scripted", WEIR_TEST_PLUGIN_DIR), result, {}, 20),
             ContainsSubstring("the filter could not end the run: "));
}
