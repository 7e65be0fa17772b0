#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace weir::run_record {

// How many of an emulated detector's true tracks are in stored slices, by the number of modules that saw
// their light: the turn-on of the trigger.
struct TruthComparison {
  struct Bin {
    std::uint64_t modules_min = 0;
    std::uint64_t modules_max = 0;  // UINT64_MAX: no limit
    std::uint64_t tracks = 0;
    std::uint64_t stored = 0;  // tracks in stored slices
  };
  std::vector<Bin> bins;                   // by ascending number of modules; empty without tracks
  std::uint64_t tracks = 0;                // all tracks
  std::uint64_t stored_without_track = 0;  // stored slices without a track that any module saw
};

// Compares with the truth of the readout of kind `hits`, one JSON object per line; lines of other runs and
// other objects are skipped. Requires: `stored` ascends.
[[nodiscard]] TruthComparison compare_with_truth(std::istream& truth, RunNumber run,
                                                 const std::vector<std::uint64_t>& stored);

}  // namespace weir::run_record
