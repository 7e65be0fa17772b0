#pragma once

#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/base/time.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

namespace weir::system_test {

constexpr std::uint64_t kHitBytes = 6;

// The recorded slices, parsed here independently of Weir's code: fragment by fragment, by source.
struct Recording {
  std::vector<std::map<std::uint32_t, std::string>> slices;
  std::vector<std::uint64_t> numbers;
  std::vector<std::int64_t> times;  // UTC, ns
};

inline Recording read_recording(const std::string& folder) {
  Recording recording;
  const auto index = boost::json::parse(read_file(folder + "/index.json"));
  for (const auto& slice : index.at("slices").as_array()) {
    const std::string bytes = read_file(folder + "/" + slice.at("file").as_string().c_str());
    auto& fragments = recording.slices.emplace_back();
    recording.numbers.push_back(slice.at("slice").to_number<std::uint64_t>());
    recording.times.push_back(slice.at("utc_s").to_number<std::int64_t>() * kSecond +
                              slice.at("utc_ns").to_number<std::int64_t>());
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
  std::uint64_t wrong_times = 0;  // slices
};

enum class Numbers : std::uint8_t { new_ones, recorded };

// Slice k of the run is recorded slice k mod n, or the one with the same number; a source without a fragment
// in it is marked missing. `slice_ns`: length of each.
inline Comparison compare(const StoredRun& run, const Recording& recording, DurationNs slice_ns,
                          Numbers numbers = Numbers::new_ones) {
  Comparison comparison;
  run.for_each_slice([&](const storage::SliceRecordView& slice) {
    ++comparison.slices;
    const std::uint64_t id = slice.head().slice.value;
    const auto found_number = std::find(recording.numbers.begin(), recording.numbers.end(), id);
    const auto at = numbers == Numbers::recorded
                        ? static_cast<std::size_t>(found_number - recording.numbers.begin())
                        : id % recording.slices.size();
    REQUIRE(at < recording.slices.size());
    const auto& recorded = recording.slices[at];
    if (slice.head().trigger_time != recording.times[at] || slice.head().duration != slice_ns)
      ++comparison.wrong_times;
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

// Replays the recording in `folder` in a farm for `slices` slices, and compares the stored data with the
// recording's files. `absent`: number of fragments that the recording lacks per pass over its slices; each of
// them is marked missing.
inline void run_and_compare(const std::string& folder, std::uint64_t slices, DurationNs slice_ns,
                            std::uint64_t absent = 0) {
  const Recording recording = read_recording(folder);
  const TemporaryFolder temporary;
  const FarmEnd end = run_farm(temporary, config_file("replay.yaml"),
                               {"--slices", std::to_string(slices), "--set", "replay.path=" + folder});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == slices);
  CHECK(end.summary.count_all("fragments.missing") == absent * slices / recording.slices.size());
  const StoredRun run(temporary / "out");
  const Comparison comparison = compare(run, recording, slice_ns);
  CHECK(comparison.slices == slices);
  CHECK(comparison.fragments == end.summary.count("fragments.received"));
  CHECK(comparison.wrong == 0);
  CHECK(comparison.wrong_times == 0);
}

}  // namespace weir::system_test
