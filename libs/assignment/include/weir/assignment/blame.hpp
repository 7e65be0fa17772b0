#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/slice_book.hpp>

#include <cstdint>

namespace weir::assignment {

// Which slice is to blame for the end of an attempt that is followed by another.
enum class Blame : std::uint8_t {
  nobody,
  suspect,  // this slice, or another of its DCM's
  attempt   // this one: it killed or stalled its filter
};

// Poison: what a slice's attempts did to their DCMs, and what follows for the next one. It keeps its counts
// in the slice's entry. Pure.
class BlameRule {
 public:
  // `filtered_max`: kills, then the slice is not filtered. `attempts_max`: kills or losses, then it is
  // discarded.
  BlameRule(std::uint8_t filtered_max, std::uint8_t attempts_max);

  // The DCM died that has the slice, and had said this of its filter last. Only a slice that was in a filter
  // can be to blame; what is decided never is.
  [[nodiscard]] Blame of_death(SliceEntry& entry, const FilterNote& in_filter) const;
  // Its lease ran out. One that waited for data, memory or its turn is not to blame.
  [[nodiscard]] Blame of_expiry(SliceEntry& entry, bool in_filter_for_long) const;
  // It ended filter workers of its DCM, which goes on with it.
  void killed(SliceEntry& entry, std::uint32_t number) const;
  // Returns false if the slice has no further attempt. Else whether the slice is a suspect in that one is in
  // the entry.
  [[nodiscard]] bool try_again(SliceEntry& entry, Blame blame) const;
  [[nodiscard]] bool unfiltered(const SliceEntry& entry) const { return entry.kills >= filtered_max_; }

 private:
  std::uint8_t filtered_max_;
  std::uint8_t attempts_max_;
};

}  // namespace weir::assignment
