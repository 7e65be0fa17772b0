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

// Where control groups that limit CPU time can be made.
struct CpuGroups {
  bool unified = false;  // version 2
  std::string folder;    // a group is a folder in it
};
// From /proc/self/mountinfo and /proc/self/cgroup; nothing: this system has none. Pure.
[[nodiscard]] std::optional<CpuGroups> cpu_groups(std::string_view mounts, std::string_view own);

// In each period a group may compute for so long, on all cores together. Pure.
struct CpuQuota {
  DurationNs period_ns = 0;
  DurationNs quota_ns = 0;
};
[[nodiscard]] CpuQuota quota_of_share(double cpu_share);

// A control group for each host with a share of a core. They are removed by a process of their own that waits
// for this object's end, or this process', so that nothing stays in the system's table of groups.
class CpuShares {
 public:
  // The error is why this system does not allow it.
  [[nodiscard]] static Expected<CpuShares, std::string> open(const LabPlan& plan);
  ~CpuShares();  // the hosts' processes have ended
  CpuShares(CpuShares&& other) noexcept;
  CpuShares& operator=(CpuShares&& other) noexcept;

  // Soon after its start. Of a host without a share nothing is done.
  void add_process(const std::string& host, pid_t pid) const;
  // How long the group was held back so far, on all cores together.
  [[nodiscard]] double held_s(const std::string& host) const;

 private:
  class Groups;
  explicit CpuShares(std::unique_ptr<Groups> groups);
  std::unique_ptr<Groups> groups_;
};

}  // namespace weir::lab
