#include "skip.hpp"
#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/ingest/replay_source.hpp>
#include <weir/source/hit.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace weir;
using namespace weir::ingest;

namespace {

// Real detector data, kept beside the source tree, not in it.
const std::filesystem::path kData =
    std::filesystem::path(WEIR_SOURCE_DIR).parent_path() / "shared" / "data" / "km3net-run6633";

}  // namespace

TEST_CASE("recorded KM3NeT slices are replayed bit for bit, and every hit lies in its slice",
          "[replay][data]") {
  if (!std::filesystem::exists(kData / "index.json")) {
    weir::skip_test("there is no recorded data at " + kData.string());
    return;
  }
  const auto run = load_recorded_run(kData.string());
  REQUIRE(run);
  REQUIRE((*run)->slices.size() == 2);
  CHECK((*run)->slices[0].slice == SliceId(509));
  CHECK((*run)->sources.size() == 69);
  std::size_t hits = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    const RecordedSlice& slice = (*run)->slices[n];
    std::ifstream file(kData / ("slice-" + std::to_string(slice.slice.value) + ".bin"), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::size_t bytes = 0;
    for (const SourceId id : (*run)->sources) {
      ReplaySource source(id, *run, true, true);
      const source::Fragment fragment = source.produce({SliceId(1000 + n), 0, 0, TriggerType()});
      if (fragment.status == FragmentStatus::missing) continue;
      bytes += fragment.bytes.size();
      CHECK(fragment.crc32c == crc32c(fragment.bytes));
      source::HitReader reader(fragment.bytes);
      while (const auto hit = reader.next()) {
        ++hits;
        if (hit->channel > 30 || hit->time_ns >= 100'000'000) FAIL("not a hit of this detector");
      }
      CHECK_FALSE(reader.malformed());
      const auto* text = reinterpret_cast<const char*>(fragment.bytes.data());
      CHECK(content.find(std::string(text, fragment.bytes.size())) != std::string::npos);
    }
    CHECK(bytes == content.size());
  }
  CHECK(hits == (294324 + 295458) / 6);
}
