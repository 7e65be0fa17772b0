// Sequential selection: steps over source groups, prefetches, and the bytes that they move.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 4000;
constexpr std::uint64_t kSources = 16;
constexpr std::uint64_t kBytes = 1000;  // of a fragment

constexpr const char* kFarm = R"(farm: selection
source:
  size_bytes: 1000
  groups:
    - {name: calorimeter, ranges: ['1-4']}
    - {name: muon, readouts: [readout-1]}
    - {name: rest, ranges: ['5-16']}
readout: {count: 4, sources_per_readout: 4}
dcm: {count: 2, credits: 16, processing_units: 2}
)";

FarmEnd select(const TemporaryFolder& folder, const std::string& filter,
               const std::vector<std::string>& settings = {}) {
  std::vector<std::string> arguments = sets(settings);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return run_farm(folder, folder.write("selection.yaml", kFarm + filter), arguments);
}

// One step, on a quarter of the bytes, that rejects nine slices of ten; the others are built whole.
std::string one_step(const std::string& more) {
  return "filter:\n  plugin: sequential\n  first_groups: [calorimeter]\n  parameters: {groups: calorimeter, "
         "reject: 0.9, microseconds: 20}\n" +
         more;
}

}  // namespace

TEST_CASE("a selection that rejects nine of ten at its first step moves as many bytes as it reports") {
  const TemporaryFolder folder;
  const FarmEnd end = select(folder, one_step(""));
  CHECK_BALANCED(end, 0);
  const Summary& summary = end.summary;
  const std::uint64_t whole = kSlices * kSources * kBytes;
  const double first_share = 4.0 / kSources;
  const double expected = first_share + 0.1 * (1 - first_share);
  CHECK(static_cast<double>(summary.count("bytes_in")) <= 1.05 * expected * static_cast<double>(whole));
  CHECK(summary.count("bytes_in") > kSlices * 4 * kBytes);
  CHECK(summary.count("bytes_in") ==
        kSlices * 4 * kBytes + summary.count("stored") * (kSources - 4) * kBytes);
  CHECK(summary.count("rejected") + summary.count("stored") == kSlices);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("with prefetch a selection decides the same, stores the same, and states the bytes in vain") {
  const TemporaryFolder plain_folder;
  const TemporaryFolder folder;
  const FarmEnd plain = select(plain_folder, one_step(""));
  const FarmEnd ahead = select(folder, one_step("  steps: [{prefetch: [rest]}]\n"));
  CHECK_BALANCED(plain, 0);
  CHECK_BALANCED(ahead, 0);
  CHECK(StoredRun(folder / "out").ids() == StoredRun(plain_folder / "out").ids());
  const DummyCheck check = check_dummy_data(StoredRun(folder / "out"));
  CHECK(check.wrong == "");
  CHECK(check.fragments == ahead.summary.count("stored") * kSources);
  const Summary& summary = ahead.summary;
  CHECK(summary.count("prefetch.fragments") > 0);
  CHECK(summary.count("prefetch.fragments") ==
        summary.count("prefetch.used") + summary.count("prefetch.unused"));
  CHECK(summary.count("bytes_in") <=
        plain.summary.count("bytes_in") + summary.count("prefetch.wasted_bytes"));
}

TEST_CASE("steps over groups are counted one by one, in threads and in workers") {
  const std::string isolation = GENERATE("in-process", "worker");
  CAPTURE(isolation);
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, config_file("trigger-menu.yaml"),
                               {"--slices", "2000", "--set", "filter.isolation=" + isolation, "--set",
                                "trigger.mode=max", "--set", "filter.steps=[{prefetch: [muon]}]"});
  CHECK_BALANCED(end, 0);
  const auto& steps = end.summary.json().at("steps").as_array();
  REQUIRE(steps.size() == 4);
  const auto count = [&](std::size_t step, const char* key) {
    return steps[step].at(key).to_number<double>();
  };
  CHECK(count(0, "slices") == 2000);
  CHECK(count(0, "bytes") == 2000 * 4 * 2000);
  for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
    CAPTURE(step);
    CHECK(count(step + 1, "slices") == count(step, "slices") - count(step, "rejected"));
    CHECK(count(step, "cpu_us") > 0);
    CHECK(count(step, "process_us") > 0);
  }
  CHECK(count(3, "slices") == static_cast<double>(end.summary.count("stored")));
  CHECK(count(3, "bytes") == count(3, "slices") * 6 * 2000);  // the others were in groups
  CHECK(end.summary.json().at("cpu").at("filter_s").as_double() > 0);
  CHECK(end.summary.json().at("cpu").at("transport_s").as_double() > 0);
}

TEST_CASE(
    "a filter that names an unknown source group is refused before the run, and the groups are listed") {
  const TemporaryFolder folder;
  const FarmEnd end =
      select(folder, "filter: {plugin: sequential, parameters: {groups: 'calorimeter,muons'}}\n");
  CHECK(end.status != 0);
  CHECK_THAT(end.err + end.out, Catch::ContainsSubstring("source group 'muons'"));
  CHECK_THAT(end.err + end.out, Catch::ContainsSubstring("its groups are calorimeter, muon, rest"));
}
