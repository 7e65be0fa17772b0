#include "recorded_folder.hpp"
#include "replayed_folder.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::ingest;

TEST_CASE("a recording of the emulated detector is replayed bit for bit, and every hit is in its slice",
          "[replay][data]") {
  const test::TemporaryFolder folder;
  write_recording(folder / "recording");
  const Replayed replayed = replay_folder(folder / "recording", kRecordedWindow);
  CHECK(replayed.slices == kRecordedSlices);
  CHECK(replayed.sources == kRecordedSources);
  CHECK(replayed.missing == 1);
  CHECK(replayed.wrong_slices == 0);
  CHECK(replayed.wrong_fragments == 0);
  CHECK(replayed.wrong_hits == 0);
  CHECK(replayed.hits > 10'000);
}
