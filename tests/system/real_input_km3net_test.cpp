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
  run_and_compare(km3net_recording(), 2);
}

TEST_CASE("recorded slices looped to 10000 at full speed are stored bit for bit") {
  if (missing()) return;
  run_and_compare(km3net_recording(), 10'000);
}
