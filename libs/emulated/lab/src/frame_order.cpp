#include "frame_order.hpp"

#include "space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <thread>

namespace weir::lab {
namespace {

// Assigns CPUs in turn, to share the work.
class Steering {
 public:
  bool one_cpu(const std::string& device) {
    const OwnedDescriptor file(
        ::open(fmt::format("/sys/class/net/{}/queues/rx-0/rps_cpus", device).c_str(), O_WRONLY | O_CLOEXEC));
    const std::string mask = cpu_mask(next_++ % cpus_);
    return file.is_open() &&
           ::write(file.get(), mask.data(), mask.size()) == static_cast<ssize_t>(mask.size());
  }

 private:
  // In the kernel's notation: words of 32 bits, the highest first.
  static std::string cpu_mask(unsigned cpu) {
    std::string mask = fmt::format("{:x}", 1U << (cpu % 32));
    for (unsigned word = 0; word < cpu / 32; ++word) mask += ",00000000";
    return mask;
  }

  unsigned cpus_ = std::max(1U, std::thread::hardware_concurrency());
  unsigned next_ = 0;
};

// Mounts a /sys of this thread's network namespace, for this thread only.
bool see_own_sys() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

}  // namespace

bool keep_frame_order(const LabPlan& plan, const std::vector<OwnedDescriptor>& spaces) {
  Steering steering;
  bool kept = true;
  for (std::size_t i = 0; kept && i < plan.hosts.size(); ++i) {
    in_space(spaces[kFirstHost + i].get(), [&] {
      kept = see_own_sys();
      for (std::size_t plane = 0; kept && plane < plan.planes; ++plane)
        kept = steering.one_cpu(plan.hosts[i].leg(plane).nic);
    });
  }
  return kept;
}

}  // namespace weir::lab
