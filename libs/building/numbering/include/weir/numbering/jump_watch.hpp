#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>

namespace weir::numbering {

// How far the numbers of a source are from those of the farm.
struct Jump {
  std::int64_t slip = 0;  // the number that fragments belong to, less the one that they come with; 0: none
  SliceId since;          // the first number that they belong to
  bool operator==(const Jump&) const = default;
};

// Finds out whether the counter of one source has jumped, by kFar numbers or more, from its numbers, their
// times and the announced slices alone. A loss of as many fragments looks alike at first, but the farm
// reaches the next number when it arrives. A source is ahead if a slice below its number is announced
// although that began later. It is behind if its numbers stay below those that it has sent, while the farm's
// ascend as fast; in a run that it joins, below those of the farm, for longer. One thread; uses no
// clock.
class JumpWatch {
 public:
  static constexpr std::uint64_t kFar = 32;
  static constexpr std::uint32_t kAhead = 5;    // fragments that show that a source is ahead
  static constexpr std::uint32_t kBehind = 16;  // or behind, for at least kBehindFor
  static constexpr DurationNs kBehindFor = 500 * kMillisecond;
  static constexpr DurationNs kJoinedBehindFor = 800 * kMillisecond;  // of a source that joins

  // `apart_ns`: how much later than its fragment a slice may begin: differences of clocks and transport.
  explicit JumpWatch(DurationNs apart_ns) : apart_ns_(apart_ns) {}

  // Begins a run, or joins one that is on, from this number on.
  void begin(std::optional<SliceId> joins = std::nullopt);
  // Begins with this state, which an earlier process has found. Ignored after the first fragment.
  void recall(const Jump& known);
  // Returns whether state() has changed. `time`: of the fragment, by the clock of the slices' times; without
  // one the source is not found to be ahead.
  bool see(SliceId number, std::optional<UtcNs> time, TimeNs now);
  // This is the highest slice that was announced, or vetoed, and when it began. Returns whether state() has
  // changed.
  bool announced(SliceId slice, std::optional<UtcNs> time);

  [[nodiscard]] const Jump& state() const { return state_; }
  [[nodiscard]] bool has_delivered() const { return delivered_; }

 private:
  // Numbers that do not follow the previous ones. All are without the slip that is known.
  struct Candidate {
    SliceId first;
    SliceId last;
    std::optional<UtcNs> time;  // of the first one
    TimeNs since = 0;
    SliceId farm;  // the highest announced slice then
    std::uint32_t count = 0;
  };
  [[nodiscard]] bool is_behind() const { return candidate_->first <= *last_; }
  void confirm();

  DurationNs apart_ns_;
  Jump state_;
  // The highest one in sequence, without the slip; of a source that joins at first the farm's.
  std::optional<SliceId> last_;
  bool delivered_ = false;
  bool joins_ = false;  // no number was in sequence yet
  std::optional<Candidate> candidate_;
  SliceId farm_;
};

}  // namespace weir::numbering
