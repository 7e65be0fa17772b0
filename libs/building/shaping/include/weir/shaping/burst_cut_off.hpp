#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::shaping {

// Selects the fragments of a burst that are not sent: all except its first `slices` and last `slices` (van
// Rantwijk 2002, section 4.3.3). A burst is a sequence of fragments of one source above `bytes`. Slices have
// to be held back for as many slots, until the last ones are known. Pure; not thread-safe.
class BurstCutOff {
 public:
  BurstCutOff(std::uint32_t bytes, std::uint32_t slices, std::uint32_t sources)
      : bytes_(bytes), slices_(slices), bursts_(sources) {}

  // Takes each source's fragments in order of slices. Returns a slice if its fragment of the same source is
  // now known to be in the middle of a burst.
  [[nodiscard]] std::optional<SliceId> saw(std::uint32_t source, SliceId slice, std::uint64_t fragment_bytes);

 private:
  struct Burst {
    std::uint64_t length = 0;
    std::deque<SliceId> last;  // except the first ones; at most slices_
  };

  std::uint32_t bytes_;
  std::uint32_t slices_;
  std::vector<Burst> bursts_;  // by source
};

}  // namespace weir::shaping
