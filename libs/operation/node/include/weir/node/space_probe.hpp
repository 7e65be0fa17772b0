#pragma once

#include <weir/base/time.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/disk_space.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::node {

// Returns the space of a folder's file system; nullopt: unknown. Waits for the file system. Without free
// inodes no byte is free.
[[nodiscard]] std::optional<control::DiskSpace> disk_space(const std::string& folder);

// Measures the space of folders in a thread of its own: the process
// never waits for a file system.
class SpaceProbe {
 public:
  static constexpr DurationNs kInterval = 5 * kSecond;
  static constexpr DurationNs kFresh = 30 * kSecond;  // an older measurement is unknown
  using Measure = std::function<std::optional<control::DiskSpace>(const std::string& folder)>;

  explicit SpaceProbe(Measure measure = disk_space);
  // Does not wait for the thread.
  ~SpaceProbe();
  SpaceProbe(const SpaceProbe&) = delete;
  SpaceProbe& operator=(const SpaceProbe&) = delete;

  // Begins a measurement each kInterval, when the one before is over. Never waits.
  void look(const std::vector<control::FolderPlace>& places, TimeNs now);
  // Returns the last measurement of this folder; nullopt: none within kFresh.
  [[nodiscard]] std::optional<control::DiskSpace> of(const std::string& folder, TimeNs now) const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const Measure& measure);

  Measure measure_;
  std::shared_ptr<Shared> shared_;  // null: no folder yet
  TimeNs next_look_ns_ = 0;
};

}  // namespace weir::node
