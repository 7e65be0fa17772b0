#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace weir::run_record {

// How many of the true tracks of an emulated detector are in stored slices, by the number of modules that saw
// light of them: the turn-on of the trigger.
struct TruthComparison {
  struct Bin {
    std::uint64_t modules_min = 0;
    std::uint64_t modules_max = 0;  // UINT64_MAX: no limit
    std::uint64_t tracks = 0;
    std::uint64_t stored = 0;  // of them, in slices that are stored
  };
  std::vector<Bin> bins;                   // by ascending number of modules; empty when there are no tracks
  std::uint64_t tracks = 0;                // all of them
  std::uint64_t stored_without_track = 0;  // stored slices in which no track was seen by any module
};

// `truth` has a JSON object per line, as the readout of kind `hits` writes it; lines of other runs, and those
// that are no such object, are passed over. `stored` ascends.
[[nodiscard]] TruthComparison compare_with_truth(std::istream& truth, RunNumber run,
                                                 const std::vector<std::uint64_t>& stored);

}  // namespace weir::run_record
