#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/slice_book.hpp>

#include <cstdint>

namespace weir::assignment {

// The slice to blame for a failed attempt.
enum class Blame : std::uint8_t {
  nobody,
  suspect,  // this slice, or another one of its DCM
  attempt   // this slice: it killed or stalled its filter
};

// The poison rule: counts the damage that a slice's attempts did to their DCMs, and decides how the next
// attempt runs. The counts are in the slice's entry. Pure.
class BlameRule {
 public:
  // `filtered_max`: kills after which the slice is not filtered. `attempts_max`: kills or losses after which
  // it is discarded.
  BlameRule(std::uint8_t filtered_max, std::uint8_t attempts_max);

  // The DCM of the slice died; `in_filter` is its last note. Only a slice that was in a filter can be to
  // blame: each that the note names. A decided slice never is.
  [[nodiscard]] Blame of_death(SliceEntry& entry, const FilterNote& in_filter) const;
  // The slice's lease ran out. A slice that waited for data, memory or its turn is not to blame.
  [[nodiscard]] Blame of_expiry(SliceEntry& entry, bool in_filter_for_long) const;
  // The slice killed filter workers of its DCM, which keeps the slice.
  void killed(SliceEntry& entry, std::uint32_t number) const;
  // Returns false if the slice gets no further attempt. Otherwise sets in the entry whether it is a suspect
  // in that attempt.
  [[nodiscard]] bool try_again(SliceEntry& entry, Blame blame) const;
  [[nodiscard]] bool unfiltered(const SliceEntry& entry) const { return entry.kills >= filtered_max_; }

 private:
  std::uint8_t filtered_max_;
  std::uint8_t attempts_max_;
};

}  // namespace weir::assignment
