#include "disks.hpp"

#include <string>

namespace weir::run_control {
namespace {

template <typename Take>
void each_place(const Parts& parts, const Take& take) {
  for (const control::FolderPlace& place : parts.own_places) take(kRunControl, place);
  for (std::size_t i = 0; i < parts.members.size(); ++i) {
    const control::Member& member = parts.machine.members()[i];
    if (!member.live || member.removed) continue;
    for (const control::FolderPlace& place : parts.members[i].places) take(member.plan.name, place);
  }
}

}  // namespace

std::vector<control::MissingDisk> missing_disks(const Parts& parts) {
  std::vector<control::MissingDisk> missing;
  each_place(parts, [&](const std::string& process, const control::FolderPlace& place) {
    if (auto one = parts.disks.missing(process, place)) missing.push_back(std::move(*one));
  });
  return missing;
}

void note_disks(Parts& parts, RunNumber run) {
  each_place(parts, [&](const std::string& process, const control::FolderPlace& place) {
    parts.disks.note(process, place, run);
  });
}

void note_unmounted(Parts& parts, const std::vector<control::MissingDisk>& missing) {
  if (!parts.machine.remembered().run_open) return;
  for (const control::MissingDisk& one : missing) {
    const std::string device = one.device.empty() ? "" : ", " + one.device;
    parts.book.note_fault("the disk of " + one.now.key + " was unmounted in the run: " + one.mount + device);
  }
}

void add_disks(const control::DiskMemory& disks, v1::ControlMemory& memory) {
  for (const control::DiskMemory::Disk& one : disks.disks()) {
    v1::ControlMemory::Disk& disk = *memory.add_disks();
    disk.set_process(one.process);
    disk.set_mount(one.mount);
    disk.set_device(one.device);
    disk.set_folder(one.folder);
    disk.set_run(one.run.value);
  }
}

std::vector<control::DiskMemory::Disk> disks_of(const v1::ControlMemory& memory) {
  std::vector<control::DiskMemory::Disk> disks;
  for (const v1::ControlMemory::Disk& one : memory.disks())
    disks.push_back({one.process(), one.mount(), one.device(), one.folder(), RunNumber(one.run())});
  return disks;
}

}  // namespace weir::run_control
