#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/plan.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace weir::lab {

// The place for control groups that limit CPU time.
struct CpuGroups {
  bool unified = false;  // version 2
  std::string folder;    // parent folder of the groups
};
// Finds it in /proc/self/mountinfo and /proc/self/cgroup. Returns nothing if the system has none. Pure.
[[nodiscard]] std::optional<CpuGroups> cpu_groups(std::string_view mounts, std::string_view own);

// CPU time that a group may use in each period, on all cores together. Pure.
struct CpuQuota {
  DurationNs period_ns = 0;
  DurationNs quota_ns = 0;
};
[[nodiscard]] CpuQuota quota_of_share(double cpu_share);

// A control group for each host with a share of a core. A helper process removes them when this object or
// this process ends, so that none stays in the system.
class CpuShares {
 public:
  // The error is the reason for which the system does not allow it.
  [[nodiscard]] static Expected<CpuShares, std::string> open(const LabPlan& plan);
  ~CpuShares();  // Requires: the hosts' processes have ended
  CpuShares(CpuShares&& other) noexcept;
  CpuShares& operator=(CpuShares&& other) noexcept;

  // To be called soon after the process' start. Does nothing for a host without a share.
  void add_process(const std::string& host, pid_t pid) const;
  // Returns how long the group has been held back so far, on all cores together.
  [[nodiscard]] double held_s(const std::string& host) const;

 private:
  class Groups;
  explicit CpuShares(std::unique_ptr<Groups> groups);
  std::unique_ptr<Groups> groups_;
};

}  // namespace weir::lab
