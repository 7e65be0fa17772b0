// Filters that misbehave in worker processes: each costs the slices that it misbehaves over.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 6000;
constexpr std::uint64_t kEvery = 1500;
constexpr std::uint64_t kBad = 3;  // slices 1500, 3000, 4500

struct Outcome {
  std::uint64_t poison = 0;
  std::uint64_t wrong = 0;    // poison that should not be, or the other way round
  std::uint64_t unnamed = 0;  // poison slices whose record lacks the reason
};

FarmEnd run_unruly(const TemporaryFolder& folder, const std::string& what, std::uint64_t every,
                   const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"filter.plugin=" + std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/unruly.so",
                                       "filter.parameters.what=" + what,
                                       "filter.parameters.every=" + std::to_string(every),
                                       "filter.isolation=worker",
                                       std::string("filter.timeout_ms=") + (what == "hang" ? "500" : "20000"),
                                       "filter.workers.memory_bytes=96MiB",
                                       "supervisor.lease_ms=120000",
                                       "filter.workers.start_timeout_ms=20000"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return FarmRun(folder, config_file("event-building.yaml"), arguments).finish(Seconds(240));
}

Outcome read_back(const TemporaryFolder& folder, std::uint64_t every, const std::string& word) {
  Outcome outcome;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    const bool poison = slice.head().decision == storage::DecisionKind::poison;
    const bool bad = every > 0 && id > 0 && id % every == 0;
    outcome.poison += poison ? 1 : 0;
    outcome.wrong += poison != bad ? 1 : 0;
    const auto result = slice.filter_result();
    const std::string text(reinterpret_cast<const char*>(result.data()), result.size());
    outcome.unnamed += poison && text.find(word) == std::string::npos ? 1 : 0;
  });
  return outcome;
}

boost::json::value histograms_of(const TemporaryFolder& folder, const std::string& name) {
  const boost::json::value document =
      boost::json::parse(read_file(folder / "out/run-000001-histograms.json"));
  CHECK(document.at("incomplete").as_array().empty());
  for (const boost::json::value& one : document.at("histograms").as_array()) {
    if (one.at("name").as_string() == name) return one;
  }
  FAIL("no histogram " + name);
  return {};
}

// Every slice is filtered and settled once, except those that ended their worker twice. Bin n has the slices
// with n as their last two digits.
void check_histogram(const TemporaryFolder& folder) {
  const boost::json::value ids = histograms_of(folder, "ids");
  CHECK(ids.at("entries").to_number<double>() == static_cast<double>(kSlices - kBad));
  const boost::json::array& contents = ids.at("contents").as_array();
  REQUIRE(contents.size() == 102);
  for (std::size_t i = 0; i < 100; ++i) {
    const std::uint64_t bad = i == 0 ? kBad : 0;
    CHECK(contents[i + 1].to_number<double>() == static_cast<double>(kSlices / 100 - bad));
  }
}

// Checks that every slice is stored with the bytes that its sources made, and that exactly the bad ones are
// poison.
void check_costs_its_slices(const std::string& what, const std::string& word) {
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, what, kEvery);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  const Outcome outcome = read_back(folder, kEvery, word);
  CHECK(outcome.poison == kBad);
  CHECK(outcome.wrong == 0);
  CHECK(outcome.unnamed == 0);
  check_histogram(folder);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
  for (const auto& process : end.summary.json().at("processes").as_array())
    CHECK(process.at("exit_status").as_int64() == 0);  // each DCM lived
  CHECK_THAT(end.logs, Catch::ContainsSubstring("poison slice="));
  CHECK(end.summary.count("filter_workers.slices_poisoned") == kBad);
  CHECK(end.summary.count("filter_workers.slices_retried") >= kBad);
  CHECK(end.summary.count("filter_workers.restarts") >= kBad);
}

void check_costs_nothing(const std::string& what, std::uint64_t every,
                         const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, what, every, more);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(read_back(folder, 0, "").poison == 0);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

}  // namespace

TEST_CASE("a filter that crashes in a worker costs the slices that it crashes over") {
  check_costs_its_slices("crash", "signal 11");
}
TEST_CASE("a filter that aborts in a worker costs its slices") {
  check_costs_its_slices("abort", "signal 6");
}
TEST_CASE("a filter that exits with status 0 in a worker costs its slices") {
  check_costs_its_slices("exit", "exit status 0");
}
TEST_CASE("a filter that hangs in a worker costs its slices") {
  check_costs_its_slices("hang", "took longer than 500 ms");
}
TEST_CASE("a filter that takes all memory in a worker costs its slices") {
  check_costs_its_slices("memory", "out of memory");
}
TEST_CASE("a filter that writes into slice memory costs its slices, and no byte changes") {
  check_costs_its_slices("wild", "signal 11");
}
TEST_CASE("a filter that overwrites memory shared between its worker and the DCM costs its slices") {
  check_costs_its_slices("scribble", "impossible values");
}
TEST_CASE("a filter that forks costs nothing") { check_costs_nothing(GENERATE("fork", "twice"), kEvery); }
TEST_CASE("a filter that leaks costs restarts of its worker and no slice") {
  check_costs_nothing("leak", kEvery, {"filter.workers.memory_bytes=256MiB"});
}
TEST_CASE("output beyond the limits is an error of its slice, in a worker too") {
  const TemporaryFolder folder;
  const FarmEnd end = run_unruly(folder, "overflow", kEvery);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  std::uint64_t unfiltered = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    unfiltered += slice.head().decision == storage::DecisionKind::no_filter ? 1 : 0;
  });
  CHECK(unfiltered == kBad);
}
TEST_CASE("two steps of a slice run in the worker that holds its state") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments =
      sets({"filter.plugin=two-step", "filter.isolation=worker", "filter.workers.count=2"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  const FarmEnd end = FarmRun(folder, config_file("event-building.yaml"), arguments).finish(Seconds(120));
  CHECK_BALANCED(end, 0);
  const TemporaryFolder other;
  arguments = sets({"filter.plugin=two-step"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  const FarmEnd in_process =
      FarmRun(other, config_file("event-building.yaml"), arguments).finish(Seconds(120));
  CHECK(end.summary.count("stored") == in_process.summary.count("stored"));
  CHECK(end.summary.count("rejected") == in_process.summary.count("rejected"));
}
TEST_CASE("the death of a worker costs no slice that was between two steps in it") {
  const TemporaryFolder folder;
  const std::string plugin = std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/stumbles.so";
  std::vector<std::string> arguments =
      sets({"filter.plugin=" + plugin, "filter.parameters.two_steps=true",
            "filter.parameters.dies_every=" + std::to_string(kEvery / 10), "filter.isolation=worker",
            "filter.workers.count=2", "filter.workers.start_timeout_ms=20000", "supervisor.lease_ms=120000"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  const FarmEnd end = FarmRun(folder, config_file("event-building.yaml"), arguments).finish(Seconds(240));
  INFO(describe(end));
  CHECK(end.summary.balanced());
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count("filter_workers.restarts") > 0);
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const bool dies = slice.head().slice.value % (kEvery / 10) == 0;
    const auto expected = dies ? storage::DecisionKind::poison : storage::DecisionKind::filter;
    if (slice.head().decision != expected)
      FAIL_CHECK("slice " << slice.head().slice.value << " has the wrong decision");
    for (std::uint32_t i = 0; i < slice.fragment_count(); ++i) {
      if (slice.fragment(i).record.status != FragmentStatus::ok)
        FAIL_CHECK("slice " << slice.head().slice.value << " lacks fragments, maybe of the second step");
    }
  });
}
TEST_CASE("weir check refuses a time limit that leaves no room for a second try") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, config_file("event-building.yaml"),
               {"--slices", "10", "--set", "filter.isolation=worker", "--set", "filter.timeout_ms=3000"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("filter.timeout_ms") &&
                          Catch::ContainsSubstring("supervisor.lease_ms"));
}
