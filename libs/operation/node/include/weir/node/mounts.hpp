#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::node {

struct Mount {
  std::string point;
  std::string device;  // "/dev/sdb1 (ext4)"
};

// Finds the mount on which a path ends, in the text of /proc/self/mountinfo. `path` is absolute, with its
// links resolved. nullopt: unknown, or left to the kernel to mount when the path is used. Pure.
[[nodiscard]] std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path);
// Finds the deepest mount point in the text of /etc/fstab that leads to `path` and is deeper than `mounted`,
// the one on which it ends now; empty: none. Pure.
[[nodiscard]] std::string unmounted_point(std::string_view fstab, std::string_view path,
                                          std::string_view mounted);

}  // namespace weir::node
