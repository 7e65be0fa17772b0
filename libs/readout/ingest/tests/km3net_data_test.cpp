#include "recorded_folder.hpp"
#include "replayed_folder.hpp"
#include "skip.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::ingest;

TEST_CASE("recorded KM3NeT slices are replayed bit for bit, and every hit is in its slice",
          "[replay][data]") {
  const std::string folder = km3net_recording();
  if (!std::filesystem::exists(folder + "/index.json")) {
    weir::skip_test("no recorded data at " + folder);
    return;
  }
  const auto listed = load_recorded_slices(folder);
  REQUIRE(listed);
  for (const RecordedSlice& slice : (*listed)->slices) CHECK(slice.duration == 100 * kMillisecond);
  const Replayed replayed = replay_folder(folder, 100 * kMillisecond);
  CHECK(replayed.slices == 2);
  CHECK(replayed.sources == 69);
  CHECK(replayed.wrong_slices == 0);
  CHECK(replayed.wrong_fragments == 0);
  CHECK(replayed.wrong_hits == 0);
  CHECK(replayed.hits == (294324 + 295458) / 6);
}
