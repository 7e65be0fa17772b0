#pragma once

#include <weir/base/time.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/control/health.hpp>

#include <optional>
#include <string>
#include <vector>

// Whether a farm is fit for a long run: processes, versions, findings, disks, clocks, checksums, keys,
// alarms. Pure.
namespace weir::control {

struct PreflightCheck {
  Gravity gravity = Gravity::good;  // good, warning, error
  std::string name;                 // "clocks"
  std::string text;
};

struct PreflightFacts {
  struct Process {
    std::string name;
    std::string host;
    std::string software;
    bool live = false;
    bool removed = false;
    std::optional<DurationNs> clock_ahead;  // of run control's clock; nullopt: unknown
  };
  struct Key {
    std::string path;
    std::optional<DurationNs> age;  // nullopt: cannot be read
    bool is_open = false;           // others may read it
  };
  struct Channel {
    std::string name;
    std::string error;  // of its last message; empty: it was delivered, or none was sent
    bool tried = false;
  };
  std::vector<Process> processes;
  std::string own_software;
  std::vector<Finding> findings;
  std::vector<DiskUse> disks;
  std::vector<MissingDisk> missing_disks;
  bool is_configured = false;  // otherwise no process knows its files
  std::string conflict;        // of checksums; empty: none
  std::size_t parts = 0;       // plugins, recordings and modules with a checksum
  std::vector<Key> keys;
  std::vector<Channel> channels;
};

inline constexpr DurationNs kClockAheadMax = 100 * kMillisecond;
inline constexpr DurationNs kKeyAgeMax = DurationNs{365} * 24 * 3600 * kSecond;

// Returns a line or more for each subject, in this order.
[[nodiscard]] std::vector<PreflightCheck> preflight(const PreflightFacts& facts);
// Estimates how far a sender's clock is ahead: the largest difference of the last minutes, because delays
// only subtract. Times ascend.
class ClockOffset {
 public:
  void take(UtcNs sent, UtcNs received, TimeNs now);
  [[nodiscard]] std::optional<DurationNs> ahead() const;

  static constexpr DurationNs kWindow = 60 * kSecond;

 private:
  struct Best {
    DurationNs ahead = 0;
    TimeNs since = 0;
  };
  std::optional<Best> now_;     // of the current window
  std::optional<Best> before_;  // of the one before
};

}  // namespace weir::control
