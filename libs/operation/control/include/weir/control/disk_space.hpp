#pragma once

#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace weir::control {

// Of a file system, for the process that asks.
struct DiskSpace {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;  // > 0
  bool operator==(const DiskSpace&) const = default;
};

[[nodiscard]] double free_share(const DiskSpace& space);
// Until so many bytes/s (> 0) have filled it.
[[nodiscard]] DurationNs time_left(const DiskSpace& space, double fill_per_s);

// When a disk is reported.
struct DiskLimits {
  double free_min;      // share
  DurationNs left_min;  // until it is full
};

// How fast a file system fills, from its free bytes: files of other programs count. Pure; times ascend.
class DiskFlow {
 public:
  // Adds a measurement, at most one each kApart.
  void take(const DiskSpace& space, TimeNs now);
  [[nodiscard]] const DiskSpace& space() const { return space_; }
  // In bytes/s, over the last kWindow; 0: does not fill, or measured for less than kWindowMin.
  [[nodiscard]] double fill_per_s() const;
  // Until it is full at this rate; nullopt: does not fill.
  [[nodiscard]] std::optional<DurationNs> left() const;
  // True from a limit until it is exceeded by kMargin.
  [[nodiscard]] bool is_short(const DiskLimits& limits);

  static constexpr DurationNs kApart = 5 * kSecond;
  static constexpr DurationNs kWindowMin = 30 * kSecond;
  static constexpr DurationNs kWindow = 180 * kSecond;
  static constexpr double kMargin = 1.1;

 private:
  struct Look {
    TimeNs at = 0;
    std::uint64_t free_bytes = 0;
  };
  DiskSpace space_;
  std::deque<Look> looks_;
  bool short_ = false;
};

// A disk and its users.
struct DiskUse {
  std::vector<std::string> processes;
  std::string host;    // empty: unknown
  std::string folder;  // of the first process
  DiskSpace space;
  double fill_per_s = 0;
  std::optional<DurationNs> left;
  bool is_short = false;
};
// Returns "daq-3 '/data/out' (writer-0): 45 GB free (9 %), full in 1 h 50 min at 6.8 MB/s".
[[nodiscard]] std::string space_text(const DiskUse& use);
// Likewise, with the remedy.
[[nodiscard]] std::string sentence(const DiskUse& use);
// Returns the disk that is full first, by its rate or else its free share; null: none.
[[nodiscard]] const DiskUse* shortest(const std::vector<DiskUse>& uses);
[[nodiscard]] std::string percent(double share);  // "50 %"
// Returns "1 h 50 min", "12 min", "3 d 4 h".
[[nodiscard]] std::string duration_text(DurationNs time);

}  // namespace weir::control
