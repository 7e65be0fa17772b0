#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::control {

// Where a folder of a process lies now.
struct FolderPlace {
  std::string key;        // of the farm file: "run.out"
  std::string folder;     // absolute, links resolved
  std::string mount;      // mount point of its file system
  std::string device;     // "/dev/sdb1 (ext4)"
  std::string unmounted;  // mount point of /etc/fstab, not mounted, on which it would lie; empty: none
  bool operator==(const FolderPlace&) const = default;
};

// A folder on a disk that is not mounted: in an earlier run, or by /etc/fstab, its path ended on a deeper
// mount point than now.
struct MissingDisk {
  std::string process;
  FolderPlace now;
  std::string mount;
  std::string device;  // empty: unknown
  RunNumber run;       // 0: only /etc/fstab names the mount point
  bool operator==(const MissingDisk&) const = default;
};

// The mount points on which each process' folders have lain in runs. Pure.
class DiskMemory {
 public:
  struct Disk {
    std::string process;
    std::string mount;
    std::string device;
    std::string folder;  // in the last such run
    RunNumber run;
    bool operator==(const Disk&) const = default;
  };
  static constexpr std::size_t kDisksMax = 16;  // of a process; beyond this the oldest is forgotten

  // nullopt: the folder lies where it should, as far as is known.
  [[nodiscard]] std::optional<MissingDisk> missing(const std::string& process,
                                                   const FolderPlace& place) const;
  // A run starts: the folder belongs where it lies now. Deeper mount points on its path are forgotten.
  void note(const std::string& process, const FolderPlace& place, RunNumber run);
  [[nodiscard]] const std::vector<Disk>& disks() const { return disks_; }
  void recall(std::vector<Disk> disks) { disks_ = std::move(disks); }

 private:
  std::vector<Disk> disks_;
};

// True if `path` is `folder`, or lies below it. Both are absolute, without a slash at the end.
[[nodiscard]] bool is_within(std::string_view path, std::string_view folder);
inline constexpr std::string_view kAcceptDisks = ", or accept it with `weir ctl start --accept-disks`";
// Returns where the folders belong, where they lie now and the remedy, without a full stop; folders that
// several processes share are named once. `remedy` follows "mount /data".
[[nodiscard]] std::string sentence(const std::vector<MissingDisk>& missing, std::string_view remedy);

}  // namespace weir::control
