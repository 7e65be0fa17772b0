#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir {

// The counter and the clock of a front-end, as it sent them with a fragment.
struct Stamp {
  bool has_counter = false;
  bool has_time = false;
  std::uint64_t counter = 0;
  UtcNs time = 0;           // start of the data, by its own clock
  DurationNs duration = 0;  // of the data; 0: a moment

  [[nodiscard]] bool any() const { return has_counter || has_time; }
  bool operator==(const Stamp&) const = default;
};

}  // namespace weir
