#pragma once

#include <weir/assignment/back_pressure.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace weir::assignment {

// How much livetime was lost, and by what: for people, at the end of a run. Pure.
class ThrottleTimes {
 public:
  // Reasons come from other processes: beyond so many they count as "other".
  static constexpr std::size_t kReasonsMax = 32;
  static constexpr std::string_view kOther = "other";

  // What holds triggers up now. The time since the last look counts for each reason once, however many nodes
  // have it, and by the share of it that was lost.
  void look(std::span<const HoldUp> held_up, TimeNs now);
  // By whatever it was: where several hold triggers up, the sum over the reasons is more.
  [[nodiscard]] DurationNs lost() const { return lost_; }
  [[nodiscard]] const std::map<std::string, DurationNs, std::less<>>& by_reason() const { return times_; }

 private:
  std::map<std::string, DurationNs, std::less<>> times_;
  DurationNs lost_ = 0;
  TimeNs last_ = 0;
};

}  // namespace weir::assignment
