#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>
#include <optional>

namespace weir::numbering {

struct CounterSettings {
  std::uint32_t bits;   // width of the counter, 8 to 64
  std::int64_t offset;  // added to it
  SliceId first;        // the run's first number
};

// Deviations of a source's counter.
struct CounterCounts {
  std::uint64_t left_out = 0;    // numbers between a fragment and the previous one
  std::uint64_t repeated = 0;    // the previous number again
  std::uint64_t back = 0;        // a number below the previous one
  std::uint64_t unanchored = 0;  // counters that cannot be placed: the fragment is dropped
  bool operator==(const CounterCounts&) const = default;
};

// Extends the counter of one source, which wraps, to the numbers of slices. A counter stands for the number
// nearest to the next one that is expected: the one after the source's previous number, or the farm's latest
// where that is higher. A single counter that is far off, such as one with a flipped bit, changes nothing for
// those after it: another one just above it, or two higher ones, do, or sixteen half a range away. So a
// source may be behind or ahead of the farm by less than half of the counter's range. A source that begins
// when the farm has passed that half cannot be placed: its counter may have wrapped any number of times. Not
// thread-safe.
class CounterTrack {
 public:
  static constexpr std::uint64_t kNear = 32;  // numbers that are not far; a quarter of a range below 16 bits
  static constexpr std::uint32_t kAscending = 3;
  static constexpr std::uint32_t kUnclear = 16;  // of those that are half a range away

  explicit CounterTrack(const CounterSettings& settings);

  void begin();
  // Places counters from this number on. Requires: the farm stood still there, without any source of a run.
  void anchor(SliceId from);
  // Returns the number of a fragment with this counter; none: it cannot be placed. `latest`: the highest
  // number announced to the farm, if there is one.
  [[nodiscard]] std::optional<SliceId> take(std::uint64_t counter, std::optional<SliceId> latest);
  // Returns the number that the counter stands for, without counting it as a fragment's.
  [[nodiscard]] std::optional<SliceId> place(std::uint64_t counter, std::optional<SliceId> latest) const;
  [[nodiscard]] const CounterCounts& counts() const { return counts_; }
  [[nodiscard]] std::optional<SliceId> last() const { return last_; }

 private:
  void follow(std::uint64_t number, std::optional<SliceId> latest);
  // Returns the number that the next counter is compared with; none: it may have wrapped any number of times.
  [[nodiscard]] std::optional<std::uint64_t> origin(std::optional<SliceId> latest) const;

  CounterSettings settings_;
  std::uint64_t mask_;
  std::uint64_t near_;
  std::uint64_t expected_;              // of this source
  std::uint64_t anchor_;                // the farm's latest number when a fragment was placed
  std::optional<std::uint64_t> stray_;  // the previous number, if it was far off
  std::uint32_t strays_ = 0;            // such numbers in ascending order
  std::optional<SliceId> last_;
  CounterCounts counts_;
};

}  // namespace weir::numbering
