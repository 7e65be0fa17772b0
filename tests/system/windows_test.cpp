// Farms with build.by: time: front-ends with clocks of their own.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/pieces.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::size_t kSources = 4;
constexpr std::int64_t kSignalUs = 700;
constexpr std::int64_t kOffsetUs = 40'000;  // of the clocks of sources 3 and 4

std::string farm_file(const TemporaryFolder& folder, const std::string& trigger, const std::string& build) {
  const std::string path = folder / "farm.yaml";
  std::ofstream(path)
      << "farm: clocks\ntrigger: " << trigger << "\nbuild: {by: time, " << build
      << "}\nsource: {kind: plugin, plugin: '" << WEIR_SYSTEM_PLUGIN_DIR
      << "/clocks.so', parameters: {signal_us: " << kSignalUs << ", offset_us: " << kOffsetUs
      << ", offset_of: 3}}\n"
         "readout: {count: 2, sources_per_readout: 2}\n"
         "dcm: {count: 2, deadline_ms: 10000}\nsupervisor: {lease_ms: 60000}\nwriter: {count: 1}\n";
  return path;
}

struct Seen {
  std::uint64_t slices = 0;
  std::uint64_t not_ok = 0;
  // By signal: in how many slices at least one source, and all sources have it.
  std::map<std::uint64_t, std::pair<int, int>> signals;
  std::uint64_t outside = 0;  // pieces outside of their window, or with another time than their signal
};

Seen read_back(const TemporaryFolder& folder) {
  Seen seen;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    ++seen.slices;
    std::map<std::uint64_t, std::size_t> here;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const storage::FragmentView fragment = slice.fragment(i);
      const auto pieces = FragmentPieces::read(fragment.bytes);
      if (fragment.record.status != FragmentStatus::ok || !pieces) {
        ++seen.not_ok;
        continue;
      }
      for (const FragmentPiece& piece : *pieces) {
        const auto signal = load_le<std::uint64_t>(piece.bytes.data());
        const bool inside = piece.offset_ns >= -pieces->before_ns() &&
                            piece.offset_ns < pieces->duration_ns() + pieces->after_ns();
        const auto time = static_cast<std::int64_t>(signal) * kSignalUs * 1000;
        if (!inside || (signal != 0 && pieces->time_ns() + piece.offset_ns != time)) ++seen.outside;
        if (signal != 0) ++here[signal];
      }
    }
    for (const auto& [signal, sources] : here) {
      ++seen.signals[signal].first;
      if (sources == kSources) ++seen.signals[signal].second;
    }
  });
  return seen;
}

}  // namespace

TEST_CASE("time slices with overlap have each common signal of four front-ends in one slice") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder,
                               farm_file(folder, "{mode: clock, slice_ms: 10}",
                                         "overlap_us: 500, offsets: [{sources: [3, 4], time_us: -40000}]"),
                               {"--slices", "80"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == 80);
  CHECK(end.summary.count("stored_incomplete") == 0);
  const Seen seen = read_back(folder);
  CHECK(seen.slices == 80);
  CHECK(seen.not_ok == 0);
  CHECK(seen.outside == 0);
  CHECK(seen.signals.size() > 1000);
  std::size_t alone = 0;
  std::size_t twice = 0;
  for (const auto& [signal, slices] : seen.signals) {
    alone += slices.second == 0;
    twice += slices.second == 2;
  }
  CHECK(alone == 0);
  CHECK(twice > 50);  // about one signal in each of the overlaps, of 1 ms
  const std::uint64_t received = end.summary.count("pieces.received");
  CHECK(received > 4000);
  CHECK(received == end.summary.count("pieces.placed") + end.summary.count("pieces.unplaced") +
                        end.summary.count("pieces.held") + end.summary.count("pieces.dropped_run_ended"));
  for (const auto& clock : end.summary.json().at("clocks").as_array())
    CHECK(std::abs(clock.at("correction_us").to_number<double>()) < 20'000);
}

TEST_CASE("the offset of a clock is found within 1 % of the window") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, farm_file(folder, "{mode: clock, slice_ms: 50}", "overlap_us: 500"),
                               {"--slices", "20"});
  CHECK_BALANCED(end, 0);
  std::size_t found = 0;
  for (const auto& clock : end.summary.json().at("clocks").as_array()) {
    const double correction = clock.at("correction_us").to_number<double>();
    const double wanted = clock.at("source").to_number<int>() >= 3 ? -static_cast<double>(kOffsetUs) : 0;
    CAPTURE(correction, wanted);
    CHECK(std::abs(correction - wanted) < 500);
    ++found;
  }
  CHECK(found == kSources);
}

TEST_CASE("events have the data around their triggers, and a clock that is wrong is named") {
  const TemporaryFolder folder;
  const FarmEnd end =
      run_farm(folder, farm_file(folder, "{mode: rate, rate_hz: 100}", "before_us: 3000, after_us: 2000"),
               {"--slices", "80"});
  CHECK_BALANCED(end, 0);
  const Seen seen = read_back(folder);
  CHECK(seen.slices == 80);
  CHECK(seen.signals.size() > 300);
  // The odd sources' clocks are 40 ms ahead: their data of a window are not of its time.
  for (const auto& clock : end.summary.json().at("clocks").as_array()) {
    const double correction = clock.at("correction_us").to_number<double>();
    CHECK(std::abs(correction + (clock.at("source").to_number<int>() >= 3 ? 40'000 : 0)) < 10'000);
  }
}
