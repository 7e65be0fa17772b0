// Tests of push running: readouts send unrequested; the DCM requests fragments that did not arrive.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 400;
constexpr std::uint64_t kSources = 8;

// Two seconds of slices of 5 ms, with long timeouts, so that a busy machine loses no fragments.
std::string farm(const TemporaryFolder& folder) {
  return folder.write("push.yaml",
                      "farm: push\n"
                      "run: {mode: push}\n"
                      "trigger: {mode: clock, slice_ms: 5}\n"
                      "supervisor: {status_interval_ms: 100, lease_ms: 60000}\n"
                      "source: {kind: dummy, distribution: exponential, size_bytes: 8000}\n"
                      "readout: {count: 4, sources_per_readout: 2, barrel_group: 2}\n"
                      "dcm: {count: 2, deadline_ms: 20000, grace_ms: 20000, push_wait_ms: 300}\n"
                      "filter: {plugin: accept-all}\n");
}

std::vector<std::string> arguments(const std::vector<std::string>& settings) {
  std::vector<std::string> all = sets(settings);
  all.insert(all.end(), {"--slices", std::to_string(kSlices)});
  return all;
}

void check_all_there(const TemporaryFolder& folder, const FarmEnd& end, int status) {
  CHECK_BALANCED(end, status);
  CHECK(end.summary.count("triggered") == kSlices);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count("stored_incomplete") == 0);
  const StoredRun run(folder / "out");
  CHECK(run.ids().size() == kSlices);
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == kSlices * kSources);
}

}  // namespace

TEST_CASE("in push running every slice is stored as its sources made it") {
  const auto shaper = GENERATE("barrel", "direct");
  const auto overrun = GENERATE("fall-behind", "requeue");
  CAPTURE(shaper, overrun);
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(
      folder, farm(folder),
      arguments({std::string("readout.shaper=") + shaper, std::string("readout.on_overrun=") + overrun}));
  check_all_there(folder, end, 0);
}

TEST_CASE("in push running a filter sees one step after the other, and stores what its steps have named") {
  const TemporaryFolder folder;
  const std::string isolation = GENERATE("in-process", "worker");
  const bool whole = GENERATE(true, false);
  CAPTURE(isolation, whole);
  const std::string plugin = whole ? std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/stumbles.so" : "accept-all";
  std::vector<std::string> settings{"filter.plugin=" + plugin, "filter.isolation=" + isolation};
  settings.emplace_back(whole ? "filter.parameters.two_steps=true" : "filter.first_sources=[1,2]");
  const FarmEnd end = run_farm(folder, farm(folder), arguments(settings));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  std::uint64_t unseen = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    unseen += slice.head().decision != storage::DecisionKind::filter ? 1 : 0;
  });
  CHECK(unseen == 0);
  const DummyCheck check = check_dummy_data(StoredRun(folder / "out"));
  CHECK(check.wrong == "");
  CHECK(check.not_requested == (whole ? 0 : kSlices * (kSources - 2)));
}

TEST_CASE("fragments longer than a piece are pushed whole") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, farm(folder),
                               arguments({"source.distribution=fixed", "source.size_bytes=150001",
                                          "trigger.slice_ms=20", "run.checksums=true"}));
  check_all_there(folder, end, 0);
}

TEST_CASE("slices that were pushed to a killed DCM are requested by another and stored once") {
  const auto restart = GENERATE("on-failure", "never");
  CAPTURE(restart);
  const TemporaryFolder folder;
  FarmRun run(folder, farm(folder), arguments({std::string("run.restart=") + restart}));
  REQUIRE(run.wait_for_data(2'000'000));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  check_all_there(folder, run.finish(), 3);
}

TEST_CASE("fragments that a frozen readout has not pushed arrive in the end") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(folder), arguments({}));
  REQUIRE(run.wait_for_data(2'000'000));
  const pid_t readout = run.pid_of("readout-1");
  REQUIRE(readout != 0);
  REQUIRE(::kill(readout, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, Seconds(0.7));
  REQUIRE(::kill(readout, SIGCONT) == 0);
  check_all_there(folder, run.finish(), 0);
}

TEST_CASE("a readout that is killed in push running costs its own fragments, each marked missing") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(folder), arguments({"dcm.grace_ms=300"}));
  REQUIRE(run.wait_for_data(2'000'000));
  REQUIRE(run.send_signal("readout-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == kSlices);
  const DummyCheck check = check_dummy_data(StoredRun(folder / "out"));
  CHECK(check.wrong == "");
  CHECK(check.fragments + check.missing == kSlices * kSources);
  CHECK(check.missing < kSlices);
  CHECK(end.summary.count_all("fragments.missing") == check.missing);
}

TEST_CASE("fragments above the limit are stored cut, marked and counted under truncate") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, farm(folder),
                               arguments({"readout.on_overrun=truncate", "readout.overrun_bytes=5000"}));
  CHECK_BALANCED(end, 0);
  std::uint64_t truncated = 0;
  std::uint64_t wrong = 0;
  const StoredRun run(folder / "out");
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const auto fragment = slice.fragment(i);
      const bool cut = fragment.record.status == FragmentStatus::truncated;
      truncated += cut ? 1 : 0;
      if (cut ? fragment.bytes.size() != 5000 : fragment.bytes.size() > 5000) ++wrong;
    }
  });
  // Exponential sizes of mean 8000: about 53 % are above 5000.
  CHECK(truncated > kSlices * kSources / 3);
  CHECK(wrong == 0);
  CHECK(end.summary.count("fragments.truncated") == truncated);
}

TEST_CASE("the middle of a burst is suppressed, and each suppressed fragment is counted") {
  const TemporaryFolder folder;
  // One burst that lasts the whole run.
  const FarmEnd end = run_farm(folder, farm(folder),
                               arguments({"source.distribution=fixed", "source.size_bytes=4000",
                                          "readout.cut_off_bytes=3000", "trigger.slice_ms=10"}));
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == kSlices);
  const std::uint64_t suppressed = end.summary.count("fragments.suppressed");
  CHECK(suppressed <= (kSlices - 8) * kSources);
  CHECK(suppressed > kSlices * kSources / 2);
  CHECK(end.summary.count("bytes_in") == (kSlices * kSources - suppressed) * 4000);
}
