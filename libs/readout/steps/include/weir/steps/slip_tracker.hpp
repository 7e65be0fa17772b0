#pragma once

#include <weir/base/ids.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::steps {

// The difference of a fragment from its slice.
struct Deviation {
  std::int64_t slip = 0;
  bool known = true;  // false: it does not fit, but no slice is found that it fits
  bool operator==(const Deviation&) const = default;
};

// Finds out from fragment after fragment of one source whether it has slipped, and since when. Single wrong
// ones, losses and small changes of order do not count.
class SlipTracker {
 public:
  static constexpr std::uint32_t kHold = 5;       // equal deviations in a row that make a slip
  static constexpr std::size_t kRemembered = 32;  // deviations searched for its begin

  // Returns whether state() has changed.
  bool see(SliceId slice, const Deviation& deviation);
  void reset();
  // Begins with this state, known from elsewhere.
  void recall(const Deviation& state, SliceId since);

  [[nodiscard]] const Deviation& state() const { return state_; }
  [[nodiscard]] bool in_step() const { return state_ == Deviation{}; }
  // Returns the first slice with this state.
  [[nodiscard]] SliceId since() const { return since_; }

 private:
  struct Seen {
    SliceId slice;
    Deviation deviation;
  };
  [[nodiscard]] SliceId begin_of(const Deviation& now) const;

  Deviation state_;
  SliceId since_;
  Deviation candidate_;
  std::uint32_t count_ = 0;
  std::array<Seen, kRemembered> seen_{};
  std::size_t seen_count_ = 0;
};

}  // namespace weir::steps
