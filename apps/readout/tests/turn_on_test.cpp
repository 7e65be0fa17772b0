// Tracks in settled slices, by the modules that saw them.
#include "../src/turn_on.hpp"

#include "weir_catch.hpp"

#include <array>
#include <initializer_list>
#include <map>
#include <string>

namespace weir::readout {
namespace {

slice_codec::ClearedSlices cleared(std::initializer_list<std::uint64_t> slices,
                                   std::initializer_list<std::uint64_t> stored) {
  slice_codec::ClearedSlices clear;
  for (const std::uint64_t slice : slices) clear.slices.emplace_back(slice);
  for (const std::uint64_t slice : stored) clear.stored.emplace_back(slice);
  return clear;
}

std::map<std::string, std::uint64_t> counters(const TurnOn& turn_on) {
  v1::Report report;
  turn_on.add_to(report);
  return {report.counters().begin(), report.counters().end()};
}

}  // namespace

TEST_CASE("a track counts when its slice is settled, in the bin of its modules") {
  TurnOn turn_on;
  turn_on.expect(SliceId(1), {0, 4, 5});
  turn_on.expect(SliceId(2), {9, 1000});
  turn_on.expect(SliceId(3), {});
  CHECK(counters(turn_on).empty());
  turn_on.settle(cleared({1, 3}, {3}));
  CHECK(counters(turn_on) == std::map<std::string, std::uint64_t>{{"truth.tracks.0", 1},
                                                                  {"truth.stored.0", 0},
                                                                  {"truth.tracks.3", 1},
                                                                  {"truth.stored.3", 0},
                                                                  {"truth.tracks.5", 1},
                                                                  {"truth.stored.5", 0}});
  turn_on.settle(cleared({2, 2, 77}, {2, 77}));
  CHECK(counters(turn_on).at("truth.tracks.5") == 2);
  CHECK(counters(turn_on).at("truth.stored.5") == 1);
  CHECK(counters(turn_on).at("truth.stored.100") == 1);
}

TEST_CASE("a slice that is listed as stored and not as settled stays open") {
  TurnOn turn_on;
  turn_on.expect(SliceId(1), {7});
  turn_on.settle(cleared({}, {1}));
  CHECK(counters(turn_on).empty());
  turn_on.settle(cleared({1}, {1}));
  CHECK(counters(turn_on).at("truth.stored.5") == 1);
}

TEST_CASE("tracks of slices that were settled while the supervisor was away do not count") {
  TurnOn turn_on;
  turn_on.expect(SliceId(1), {7});
  turn_on.expect(SliceId(2), {7});
  turn_on.forget_all_but(std::array{SliceId(2), SliceId(5)});
  turn_on.settle(cleared({1, 2}, {1, 2}));
  CHECK(counters(turn_on).at("truth.tracks.5") == 1);
}

}  // namespace weir::readout
