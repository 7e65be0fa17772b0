#include "farm_run.hpp"
#include "skip.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>

#include <boost/json.hpp>

#include <filesystem>
#include <map>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kHitBytes = 6;

// The recorded slices, read here and by nothing of Weir's: fragment by fragment, by source.
struct Recording {
  std::vector<std::map<std::uint32_t, std::string>> slices;
};

std::string folder() { return std::string(WEIR_SOURCE_DIR) + "/../shared/data/km3net-run6633"; }

bool missing() {
  if (std::filesystem::exists(folder() + "/index.json")) return false;
  weir::skip_test("there is no recorded data at " + folder());
  return true;
}

Recording read_recording() {
  Recording recording;
  const auto index = boost::json::parse(read_file(folder() + "/index.json"));
  for (const auto& slice : index.at("slices").as_array()) {
    const std::string bytes = read_file(folder() + "/" + slice.at("file").as_string().c_str());
    auto& fragments = recording.slices.emplace_back();
    for (const auto& fragment : slice.at("fragments").as_array()) {
      fragments[fragment.at("source").to_number<std::uint32_t>()] =
          bytes.substr(fragment.at("offset").to_number<std::uint64_t>(),
                       kHitBytes * fragment.at("hits").to_number<std::uint64_t>());
    }
  }
  return recording;
}

struct Comparison {
  std::uint64_t slices = 0;
  std::uint64_t fragments = 0;
  std::uint64_t wrong = 0;
};

// Slice k of the run is recorded slice k mod n; a source that has nothing in it is marked missing.
Comparison compare(const StoredRun& run, const Recording& recording) {
  Comparison comparison;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    ++comparison.slices;
    const auto& recorded = recording.slices[slice.head().slice.value % recording.slices.size()];
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      if (!fragment.record.kept) continue;
      const auto original = recorded.find(fragment.record.source.value);
      const std::string_view stored(reinterpret_cast<const char*>(fragment.bytes.data()),
                                    fragment.bytes.size());
      ++found;
      if (original == recorded.end() || original->second != stored) ++comparison.wrong;
    }
    if (found != recorded.size()) ++comparison.wrong;
    comparison.fragments += found;
  });
  return comparison;
}

void run_and_compare(const std::string& slices) {
  const Recording recording = read_recording();
  const TemporaryFolder temporary;
  const FarmEnd end = run_farm(temporary, config_file("replay.yaml"),
                               {"--slices", slices, "--set", "replay.path=" + folder()});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == std::stoull(slices));
  const StoredRun run(temporary / "out");
  const Comparison comparison = compare(run, recording);
  CHECK(comparison.slices == std::stoull(slices));
  CHECK(comparison.fragments == end.summary.count("fragments.received"));
  CHECK(comparison.wrong == 0);
}

}  // namespace

TEST_CASE("recorded slices of a real detector are stored bit for bit through 3 readouts and 2 DCMs") {
  if (missing()) return;
  const Recording recording = read_recording();
  REQUIRE(recording.slices.size() == 2);
  REQUIRE(recording.slices[0].size() == 69);
  run_and_compare("2");
}

TEST_CASE("recorded slices looped to 10000 at full speed are stored bit for bit") {
  if (missing()) return;
  run_and_compare("10000");
}
