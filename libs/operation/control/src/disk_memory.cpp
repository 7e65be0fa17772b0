#include "findings.hpp"
#include <weir/control/disk_memory.hpp>

#include <algorithm>

namespace weir::control {

bool is_within(std::string_view path, std::string_view folder) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::optional<MissingDisk> DiskMemory::missing(const std::string& process, const FolderPlace& place) const {
  const Disk* deepest = nullptr;
  bool lay_here = false;
  for (const Disk& disk : disks_) {
    if (disk.process != process || !is_within(place.folder, disk.mount)) continue;
    lay_here = lay_here || (disk.mount == place.mount && disk.folder == place.folder);
    if (deepest == nullptr || disk.mount.size() > deepest->mount.size()) deepest = &disk;
  }
  if (deepest != nullptr && deepest->mount.size() > place.mount.size())
    return MissingDisk{process, place, deepest->mount, deepest->device, deepest->run};
  // A folder that was accepted below its mount point stays accepted.
  if (place.unmounted.empty() || lay_here) return std::nullopt;
  return MissingDisk{process, place, place.unmounted, {}, {}};
}

void DiskMemory::note(const std::string& process, const FolderPlace& place, RunNumber run) {
  std::erase_if(disks_, [&](const Disk& disk) {
    return disk.process == process && is_within(place.folder, disk.mount) &&
           disk.mount.size() >= place.mount.size();
  });
  disks_.push_back({process, place.mount, place.device, place.folder, run});
  const auto is_own = [&](const Disk& disk) { return disk.process == process; };
  if (static_cast<std::size_t>(std::count_if(disks_.begin(), disks_.end(), is_own)) > kDisksMax)
    disks_.erase(std::find_if(disks_.begin(), disks_.end(), is_own));
}

std::string sentence(const std::vector<MissingDisk>& missing, std::string_view remedy) {
  std::string text;
  std::vector<std::string> mounts;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const MissingDisk& one = missing[i];
    const auto is_alike = [&](const MissingDisk& other) {
      return other.now == one.now && other.mount == one.mount && other.device == one.device;
    };
    if (std::find_if(missing.begin(), missing.end(), is_alike) != missing.begin() + static_cast<long>(i))
      continue;
    std::vector<std::string> processes;
    for (const MissingDisk& other : missing) {
      const bool named = std::find(processes.begin(), processes.end(), other.process) != processes.end();
      if (is_alike(other) && !named) processes.push_back(other.process);
    }
    const std::string disk = one.mount + (one.device.empty() ? "" : ", " + one.device) + ",";
    text += (text.empty() ? "" : "; ") + list(processes) + ": " + one.now.key + " '" + one.now.folder + "' ";
    text += one.run.value == 0 ? "belongs on " + one.mount + " by /etc/fstab"
                               : "was on " + disk + " in run " + std::to_string(one.run.value);
    text += ", and is on " + one.now.mount + " now, " + one.now.device;
    if (std::find(mounts.begin(), mounts.end(), one.mount) == mounts.end()) mounts.push_back(one.mount);
  }
  return text + ": mount " + list(mounts) + std::string(remedy);
}

}  // namespace weir::control
