#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir::numbering {

// The times that several senders give to one number. Times within the tolerance of each other count as one.
class TimeVote {
 public:
  void add(UtcNs time, DurationNs tolerance_ns) {
    ++votes_;
    const auto same = std::find_if(times_.begin(), times_.end(), [&](const auto& one) {
      const auto low = static_cast<std::uint64_t>(std::min(one.first, time));
      const auto high = static_cast<std::uint64_t>(std::max(one.first, time));
      return high - low <= static_cast<std::uint64_t>(tolerance_ns);
    });
    if (same != times_.end()) {
      ++same->second;
    } else {
      times_.emplace_back(time, 1);
    }
  }
  [[nodiscard]] std::size_t votes() const { return votes_; }
  // Returns whether more than half of `senders` have voted, and one time has more votes than any other.
  [[nodiscard]] bool is_decided(std::size_t senders) const {
    if (2 * votes_ <= senders) return false;
    const std::size_t most = leader()->second;
    return std::count_if(times_.begin(), times_.end(), [&](const auto& one) { return one.second == most; }) ==
           1;
  }
  // Returns the time with most votes. Of equal ones the earliest that is more than the tolerance after the
  // previous number's: a sender that is ahead, or repeats a number, gives a time of an earlier number.
  // Without one, the first. Requires: votes() > 0.
  [[nodiscard]] UtcNs time(std::optional<UtcNs> previous, DurationNs tolerance_ns) const {
    WEIR_ASSERT(votes_ > 0);
    std::optional<UtcNs> best;
    for (const auto& [time, count] : times_) {
      const bool fits = previous && count == leader()->second && is_after(time, previous, tolerance_ns);
      if (fits && (!best || time < *best)) best = time;
    }
    return best.value_or(leader()->first);
  }
  // Returns whether a time can be that of a later number than the one with the time `previous`.
  [[nodiscard]] static bool is_after(UtcNs time, std::optional<UtcNs> previous, DurationNs tolerance_ns) {
    return !previous ||
           (time > *previous && static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(*previous) >
                                    static_cast<std::uint64_t>(tolerance_ns));
  }

 private:
  using Times = std::vector<std::pair<UtcNs, std::size_t>>;
  [[nodiscard]] Times::const_iterator leader() const {
    return std::max_element(times_.begin(), times_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  }

  Times times_;
  std::size_t votes_ = 0;
};

}  // namespace weir::numbering
