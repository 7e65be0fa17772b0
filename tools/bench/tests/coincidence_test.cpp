#include "weir_catch.hpp"
#include "written_text.hpp"
#include <weir/bench/coincidence.hpp>
#include <weir/bench/emulated_trigger.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using namespace weir;
using namespace weir::bench;

namespace {

constexpr double kPairWindowNs = 20;

double number_after(const std::string& line, const std::string& key) {
  const std::size_t at = line.find("\"" + key + "\": ");
  REQUIRE(at != std::string::npos);
  return std::strtod(line.c_str() + at + key.size() + 4, nullptr);
}

}  // namespace

TEST_CASE("an event without a track's hits is not the track's, and its own light is") {
  emulation::HitsSettings settings;
  settings.track_rate_hz = 500;
  emulation::HitsGroup group(settings, false);
  EmulatedTrigger trigger(settings, {{"minimum", "3"}}, {WEIR_PLUGIN_DIR});
  TriggerScore score;
  std::uint64_t others = 0;
  for (std::uint64_t id = 1; id <= 50; ++id) {
    const EmulatedSlice slice(group, id);
    const auto tracks = slice.tracks(kPairWindowNs);
    const auto foreign = EmulatedSlice(group, id + 1000).tracks(kPairWindowNs);
    const auto& result = trigger.process(slice);
    score.add(slice, tracks, result, trigger.cpu_ns());
    for (const auto& event : result.events) {
      for (const TrackLight& track : foreign) others += is_of_track(result, event, track) ? 1 : 0;
    }
  }
  CHECK(score.true_events > 50);
  CHECK(score.long_tracks(3).share() > 0.9);
  CHECK(score.long_tracks(0).tracks > score.long_tracks(3).tracks);
  CHECK(score.bright_tracks(0).tracks == score.long_tracks(0).tracks);
  CHECK(others == 0);
  CHECK(score.bytes_in > 20 * score.bytes_out);
  CHECK(score.bytes_out > 0);
}

TEST_CASE("the benchmark varies length, background, bursts and search, and all searches agree") {
  CoincidenceOptions options;
  options.slices = 10;
  options.large_slices = 2;
  options.search_path = {WEIR_PLUGIN_DIR};
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  REQUIRE(run_coincidence(options, out, stderr) == 0);
  const std::string text = written_text(out);
  std::map<std::string, int> varied;
  std::map<double, int> events_of_searches;
  for (std::size_t at = 0; at < text.size();) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    const std::size_t name = line.find("\"varied\": \"") + 11;
    const std::string what = line.substr(name, line.find('"', name) - name);
    ++varied[what];
    CHECK(number_after(line, "long_tracks_found") <= number_after(line, "long_tracks"));
    if (what == "search") ++events_of_searches[number_after(line, "events")];
  }
  CHECK(varied == std::map<std::string, int>{
                      {"background", 12}, {"bursts", 15}, {"length", 6}, {"reduction", 1}, {"search", 3}});
  CHECK(events_of_searches.size() == 1);
}
