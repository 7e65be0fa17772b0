#pragma once

#include <weir/base/ids.hpp>
#include <weir/emulation/tracks.hpp>
#include <weir/slice_codec/announce.hpp>
#include <weir/v1/control.pb.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace weir::readout {

// Counts true tracks and those in stored slices, by the modules with light: the turn-on of the trigger.
// Tracks count when their slice is settled. Holds the tracks of open slices only.
class TurnOn {
 public:
  // Takes the tracks of an announced slice: modules with light, by track.
  void expect(SliceId slice, std::vector<std::uint32_t> modules);
  // Slices without tracks are skipped.
  void settle(const slice_codec::ClearedSlices& cleared);
  // Forgets slices that were settled while the supervisor was away: their outcome is unknown.
  // Requires: `open` ascends.
  void forget_all_but(std::span<const SliceId> open);
  void add_to(v1::Report& report) const;

 private:
  struct Bin {
    std::uint64_t tracks = 0;
    std::uint64_t stored = 0;
  };
  std::map<SliceId, std::vector<std::uint32_t>> open_;
  std::array<Bin, emulation::kModuleBins.size()> bins_{};
};

}  // namespace weir::readout
