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

// Lost livetime in total and by reason: if several reasons coincide, the sum over the reasons is larger.
struct LostTimes {
  DurationNs all = 0;
  std::map<std::string, DurationNs, std::less<>> by_reason;
  bool operator==(const LostTimes&) const = default;
};

// Accumulates lost livetime and its reasons for the summary. Pure.
class ThrottleTimes {
 public:
  // Reasons come from other processes: beyond this number they count as "other".
  static constexpr std::size_t kReasonsMax = 32;
  static constexpr std::string_view kOther = "other";

  // Adds the time since the last call to each current reason once, regardless of the number of nodes with it,
  // and weighted by the lost share.
  void look(std::span<const HoldUp> held_up, TimeNs now);
  // Restores the times of an earlier process in this run.
  void resume(const LostTimes& before) { lost_ = before; }
  [[nodiscard]] const LostTimes& lost() const { return lost_; }

 private:
  LostTimes lost_;
  TimeNs last_ = 0;
};

}  // namespace weir::assignment
