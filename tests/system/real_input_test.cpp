#include "recorded_folder.hpp"
#include "replayed_run.hpp"

using namespace weir;
using namespace weir::system_test;

TEST_CASE("a recording of the emulated detector is stored bit for bit through 3 readouts and 2 DCMs") {
  const TemporaryFolder folder;
  write_recording(folder / "recording");
  run_and_compare(folder / "recording", kRecordedSlices, kRecordedWindow, 1);
}

TEST_CASE("a recording looped to 9999 slices at full speed is stored bit for bit") {
  const TemporaryFolder folder;
  write_recording(folder / "recording");
  run_and_compare(folder / "recording", 9999, kRecordedWindow, 1);
}
