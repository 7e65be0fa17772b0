#include <weir/node/space_probe.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weir::node {

std::optional<control::DiskSpace> disk_space(const std::string& folder) {
  struct statvfs now {};
  if (::statvfs(folder.c_str(), &now) != 0 || now.f_blocks == 0) return std::nullopt;
  const std::uint64_t total = now.f_blocks * now.f_frsize;
  if (now.f_files > 0 && now.f_ffree == 0) return control::DiskSpace{0, total};
  const bool is_root = ::geteuid() == 0;
  return control::DiskSpace{(is_root ? now.f_bfree : now.f_bavail) * now.f_frsize, total};
}

// Belongs to the probe and its thread, whichever ends last.
struct SpaceProbe::Shared {
  struct Measured {
    TimeNs at = 0;
    control::DiskSpace space;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> wanted;  // empty: none, or under way
  TimeNs wanted_at = 0;
  bool busy = false;
  bool ending = false;
  std::map<std::string, Measured> measured;  // of the folders of the last look
};

SpaceProbe::SpaceProbe(Measure measure) : measure_(std::move(measure)) {}

SpaceProbe::~SpaceProbe() {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_one();
}

void SpaceProbe::look(const std::vector<control::FolderPlace>& places, TimeNs now) {
  if (places.empty() || now < next_look_ns_) return;
  next_look_ns_ = now + kInterval;
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
    std::thread(run, shared_, measure_).detach();
  }
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) return;
  for (const control::FolderPlace& place : places) shared_->wanted.push_back(place.folder);
  shared_->wanted_at = now;
  shared_->busy = true;
  shared_->changed.notify_one();
}

std::optional<control::DiskSpace> SpaceProbe::of(const std::string& folder, TimeNs now) const {
  if (!shared_) return std::nullopt;
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->measured.find(folder);
  if (found == shared_->measured.end() || now - found->second.at > kFresh) return std::nullopt;
  return found->second.space;
}

void SpaceProbe::run(const std::shared_ptr<Shared>& shared, const Measure& measure) {
  for (;;) {
    std::vector<std::string> folders;
    TimeNs at = 0;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return shared->ending || !shared->wanted.empty(); });
      if (shared->ending) return;
      folders = std::exchange(shared->wanted, {});
      at = shared->wanted_at;
    }
    std::map<std::string, Shared::Measured> measured;
    for (const std::string& folder : folders) {
      if (const auto space = measure(folder)) measured[folder] = {at, *space};
    }
    const std::lock_guard lock(shared->mutex);
    shared->measured = std::move(measured);
    shared->busy = false;
  }
}

}  // namespace weir::node
