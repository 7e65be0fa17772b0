#include "findings.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/control/disk_space.hpp>

#include <algorithm>

namespace weir::control {

double free_share(const DiskSpace& space) {
  return static_cast<double>(space.free_bytes) / static_cast<double>(space.total_bytes);
}

DurationNs time_left(const DiskSpace& space, double fill_per_s) {
  WEIR_ASSERT(fill_per_s > 0);
  constexpr double kLongest = 100.0 * 365 * 86400;  // s
  return static_cast<DurationNs>(std::min(kLongest, static_cast<double>(space.free_bytes) / fill_per_s) *
                                 kSecond);
}

void DiskFlow::take(const DiskSpace& space, TimeNs now) {
  WEIR_ASSERT(space.total_bytes > 0);
  if (!looks_.empty() && now - looks_.back().at < kApart) return;
  // Another file system.
  if (space.total_bytes != space_.total_bytes) looks_.clear();
  space_ = space;
  looks_.push_back({now, space.free_bytes});
  while (now - looks_.front().at > kWindow) looks_.pop_front();
}

double DiskFlow::fill_per_s() const {
  if (looks_.empty() || looks_.back().at - looks_.front().at < kWindowMin) return 0;
  const Look& first = looks_.front();
  const Look& last = looks_.back();
  if (last.free_bytes >= first.free_bytes) return 0;
  const double seconds = static_cast<double>(last.at - first.at) / kSecond;
  return static_cast<double>(first.free_bytes - last.free_bytes) / seconds;
}

std::optional<DurationNs> DiskFlow::left() const {
  const double rate = fill_per_s();
  return rate > 0 ? std::optional(time_left(space_, rate)) : std::nullopt;
}

bool DiskFlow::is_short(const DiskLimits& limits) {
  if (space_.total_bytes == 0) return false;
  const double margin = short_ ? kMargin : 1;
  const auto time = left();
  short_ = free_share(space_) < limits.free_min * margin ||
           (time && static_cast<double>(*time) < margin * static_cast<double>(limits.left_min));
  return short_;
}

std::string duration_text(DurationNs time) {
  constexpr DurationNs kMinute = 60 * kSecond;
  constexpr DurationNs kHour = 60 * kMinute;
  constexpr DurationNs kDay = 24 * kHour;
  const auto two = [&](DurationNs big, const char* name, DurationNs small, const char* rest) {
    const DurationNs more = time % big / small;
    return std::to_string(time / big) + " " + name +
           (more > 0 ? " " + std::to_string(more) + " " + rest : "");
  };
  if (time >= kDay) return two(kDay, "d", kHour, "h");
  if (time >= kHour) return two(kHour, "h", kMinute, "min");
  if (time >= kMinute) return std::to_string(time / kMinute) + " min";
  return whole_seconds(time);
}

std::string space_text(const DiskUse& use) {
  std::string text = use.host + (use.host.empty() ? "" : " ") + "'" + use.folder + "' (" +
                     list(use.processes) + "): " + bytes_text(static_cast<double>(use.space.free_bytes)) +
                     " free (" + percent(free_share(use.space)) + ")";
  if (use.left) text += ", full in " + duration_text(*use.left) + " at " + bytes_text(use.fill_per_s) + "/s";
  return text;
}

std::string sentence(const DiskUse& use) {
  return space_text(use) + ": move or delete files there, or let the next run write to another disk";
}

const DiskUse* shortest(const std::vector<DiskUse>& uses) {
  constexpr DurationNs kNever = INT64_MAX;
  const DiskUse* first = nullptr;
  for (const DiskUse& one : uses) {
    const bool sooner = first == nullptr || one.left.value_or(kNever) < first->left.value_or(kNever);
    const bool fuller =
        first != nullptr && one.left == first->left && free_share(one.space) < free_share(first->space);
    if (sooner || fuller) first = &one;
  }
  return first;
}

}  // namespace weir::control
