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

// By whatever it was; and by reason: where several hold triggers up, the sum over the reasons is more.
struct LostTimes {
  DurationNs all = 0;
  std::map<std::string, DurationNs, std::less<>> by_reason;
  bool operator==(const LostTimes&) const = default;
};

// How much livetime was lost, and by what: for people, at the end of a run. Pure.
class ThrottleTimes {
 public:
  // Reasons come from other processes: beyond so many they count as "other".
  static constexpr std::size_t kReasonsMax = 32;
  static constexpr std::string_view kOther = "other";

  // What holds triggers up now. The time since the last look counts for each reason once, however many nodes
  // have it, and by the share of it that was lost.
  void look(std::span<const HoldUp> held_up, TimeNs now);
  // What an earlier process had counted in this run: it goes on from there.
  void resume(const LostTimes& before) { lost_ = before; }
  [[nodiscard]] const LostTimes& lost() const { return lost_; }

 private:
  LostTimes lost_;
  TimeNs last_ = 0;
};

}  // namespace weir::assignment
