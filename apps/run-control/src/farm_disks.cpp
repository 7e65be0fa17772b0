#include "farm_disks.hpp"

#include "disks.hpp"
#include <weir/node/process.hpp>

#include <algorithm>

namespace weir::run_control {

void FarmDisks::look(const Parts& parts) {
  if (parts.now_ns < next_look_ns_) return;
  next_look_ns_ = parts.now_ns + kSecond;
  if (host_.empty()) host_ = node::host_name();
  for (auto& [place, disk] : disks_) disk.use.processes.clear();
  const auto take = [&](const std::string& host, const std::string& process,
                        const control::FolderPlace& place, const Spaces& spaces) {
    const auto space = spaces.find(place.folder);
    if (space == spaces.end()) return;
    Disk& disk = disks_[{host, place.mount}];
    disk.flow.take(space->second, parts.now_ns);
    if (disk.use.processes.empty()) disk.use.folder = place.folder;
    if (std::ranges::find(disk.use.processes, process) == disk.use.processes.end())
      disk.use.processes.push_back(process);
  };
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    const control::Member& member = parts.machine.members()[i];
    const Process& process = parts.members[i];
    if (!member.live || member.removed) continue;
    for (const control::FolderPlace& place : process.places)
      take(process.host, member.plan.name, place, process.spaces);
  }
  for (const control::FolderPlace& place : parts.own_places)
    take(host_, std::string(kRunControl), place, parts.own_spaces);
  std::erase_if(disks_, [](const auto& one) { return one.second.use.processes.empty(); });
  for (auto& [place, disk] : disks_) {
    disk.use.host = place.first;
    disk.use.space = disk.flow.space();
    disk.use.fill_per_s = disk.flow.fill_per_s();
    disk.use.left = disk.flow.left();
    disk.use.is_short = disk.flow.is_short(limits_);
  }
}

std::vector<control::DiskUse> FarmDisks::uses() const {
  std::vector<control::DiskUse> uses;
  for (const auto& [place, disk] : disks_) uses.push_back(disk.use);
  return uses;
}

void add_disks(const std::vector<control::DiskUse>& uses, v1::FarmView& view) {
  for (const control::DiskUse& one : uses) {
    v1::FarmView::Disk& disk = *view.add_disks();
    for (const std::string& process : one.processes) disk.add_processes(process);
    disk.set_host(one.host);
    disk.set_folder(one.folder);
    disk.set_free_bytes(one.space.free_bytes);
    disk.set_total_bytes(one.space.total_bytes);
    disk.set_fill_per_s(one.fill_per_s);
    disk.set_is_short(one.is_short);
    if (one.left) disk.set_left_s(static_cast<double>(*one.left) / kSecond);
  }
}

}  // namespace weir::run_control
