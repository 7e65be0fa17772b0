#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace weir::assignment {

// How long triggers were held up, and by what: for people, at the end of a run. Pure.
class ThrottleTimes {
 public:
  // Reasons come from other processes: beyond so many they count as "other".
  static constexpr std::size_t kReasonsMax = 32;
  static constexpr std::string_view kOther = "other";

  // Who asks for less now. The time since the last look counts for each reason once, however many nodes have
  // it.
  void look(std::span<const ThrottleBoard::Entry> entries, TimeNs now);
  [[nodiscard]] const std::map<std::string, DurationNs, std::less<>>& by_reason() const { return times_; }

 private:
  std::map<std::string, DurationNs, std::less<>> times_;
  TimeNs last_ = 0;
};

}  // namespace weir::assignment
