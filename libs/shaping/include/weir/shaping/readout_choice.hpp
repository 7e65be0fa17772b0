#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir::shaping {

// Which of the readouts that a slice still wants something of is asked next.
enum class ReadoutOrder : std::uint8_t {
  in_order,  // the first one of the farm
  rotated,   // the first one from this DCM's own place on: DCMs do not all begin with the same readout
  // The one that owes this DCM least; among equals the one that most is left to be asked of, so that all of a
  // slice's readouts come to their end together; then as rotated (barrel shifting).
  least_loaded,
};

// One readout that may be asked.
struct Candidate {
  std::uint32_t readout = 0;  // index
  std::uint64_t owed = 0;     // bytes that it was asked for and has not sent
  std::uint64_t left = 0;     // bytes of the slice that it was not yet asked for
  bool open = true;           // it may be asked now
};

// The index into `candidates` of the one to ask; nothing when none is open. `first`: this DCM's own place
// among `readouts` readouts.
[[nodiscard]] std::optional<std::size_t> choose(ReadoutOrder order, std::span<const Candidate> candidates,
                                                std::uint32_t first, std::uint32_t readouts);

}  // namespace weir::shaping
