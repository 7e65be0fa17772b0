#include "recorded_folder.hpp"
#include "replayed_run.hpp"
#include "skip.hpp"

using namespace weir;
using namespace weir::system_test;

namespace {

bool missing() {
  if (std::filesystem::exists(km3net_recording() + "/index.json")) return false;
  weir::skip_test("no recorded data at " + km3net_recording());
  return true;
}

}  // namespace

TEST_CASE("recorded slices of a real detector are stored bit for bit through 3 readouts and 2 DCMs") {
  if (missing()) return;
  const Recording recording = read_recording(km3net_recording());
  REQUIRE(recording.slices.size() == 2);
  REQUIRE(recording.slices[0].size() == 69);
  run_and_compare(km3net_recording(), 2, 100 * kMillisecond);
}

TEST_CASE("recorded slices looped to 10000 at full speed are stored bit for bit") {
  if (missing()) return;
  run_and_compare(km3net_recording(), 10'000, 100 * kMillisecond);
}

TEST_CASE("recorded slices that are replayed once keep number, time and length in every mode") {
  if (missing()) return;
  const Recording recording = read_recording(km3net_recording());
  for (const std::string mode : {"pull", "push"}) {
    const TemporaryFolder folder;
    const FarmEnd end =
        run_farm(folder, config_file("replay.yaml"),
                 {"--set", "replay.path=" + km3net_recording(), "--set", "replay.loop=false", "--set",
                  "run.mode=" + mode, "--set", "trigger.mode=rate", "--set", "trigger.rate_hz=20"});
    CHECK_BALANCED(end, 0);
    CHECK(end.summary.count("stored") == 2);
    CHECK(end.summary.count_all("fragments.missing") == 0);
    const Comparison comparison =
        compare(StoredRun(folder / "out"), recording, 100 * kMillisecond, Numbers::recorded);
    CHECK(comparison.slices == 2);
    CHECK(comparison.wrong == 0);
    CHECK(comparison.wrong_times == 0);
  }
}
