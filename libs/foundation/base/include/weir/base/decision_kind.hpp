#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace weir {

// Why a slice is kept. The numbers are part of the file format: never reuse one.
enum class DecisionKind : std::uint8_t {
  filter = 0,      // the filter accepted it
  prescale = 1,    // the filter would have rejected it; one in `prescale` is kept
  no_filter = 2,   // no filter is configured, or it failed
  incomplete = 3,  // incomplete slices bypass the filter by configuration
  poison = 4,      // the slice killed or stalled its filter too often
  undecided = 5,   // a sample taken before the filter's decision; only in files written by a tap
  burst = 6,       // rejected by the filter; only in files of an alert
};

[[nodiscard]] constexpr std::string_view name(DecisionKind kind) {
  constexpr std::string_view kNames[] = {"filter", "prescale",  "no_filter", "incomplete",
                                         "poison", "undecided", "burst"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

}  // namespace weir
