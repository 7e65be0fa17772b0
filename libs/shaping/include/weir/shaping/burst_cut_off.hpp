#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::shaping {

// Which fragments of a burst are not sent: all but the first `slices` and the last `slices` of it (van
// Rantwijk 2002, section 4.3.3). A burst is a row of fragments of one source above `bytes`. To know the
// last ones, slices have to be held back for as many slots. Pure; one thread.
class BurstCutOff {
 public:
  BurstCutOff(std::uint32_t bytes, std::uint32_t slices, std::uint32_t sources)
      : bytes_(bytes), slices_(slices), bursts_(sources) {}

  // Each source's fragments in order of slices. Returns the slice whose fragment of the same source is now
  // known to be in the middle of a burst.
  [[nodiscard]] std::optional<SliceId> saw(std::uint32_t source, SliceId slice, std::uint64_t fragment_bytes);

 private:
  struct Burst {
    std::uint64_t length = 0;
    std::deque<SliceId> last;  // not the first ones; at most slices_
  };

  std::uint32_t bytes_;
  std::uint32_t slices_;
  std::vector<Burst> bursts_;  // by source
};

}  // namespace weir::shaping
