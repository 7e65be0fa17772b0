#include <weir/base/assert.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/mounts.hpp>
#include <weir/node/paths.hpp>

#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <utility>

namespace weir::node {
namespace {

constexpr const char* kTable = "/proc/self/mountinfo";

std::string text_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

}  // namespace

std::optional<control::FolderPlace> place_of(const std::string& key, const std::string& folder) {
  auto mount = mount_of(text_of(kTable), folder);
  if (!mount) return std::nullopt;
  std::string unmounted = unmounted_point(text_of("/etc/fstab"), folder, mount->point);
  return control::FolderPlace{key, folder, std::move(mount->point), std::move(mount->device),
                              std::move(unmounted)};
}

void FolderWatch::set_folders(std::vector<Folder> folders) {
  if (folders == folders_) return;
  folders_ = std::move(folders);
  stale_ = true;
  next_look_ns_ = 0;
}

bool FolderWatch::look(TimeNs now) {
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + kInterval;
  if (folders_.empty() && places_.empty()) return false;
  const bool changed = mounts_changed();
  if (!changed && !std::exchange(stale_, false)) return false;
  stale_ = false;
  std::vector<control::FolderPlace> places;
  for (const Folder& one : folders_) {
    const auto path = one.links == Links::resolved ? Expected<std::string, std::string>(one.path)
                                                   : resolved_folder(one.path);
    if (!path) continue;
    if (auto place = place_of(one.key, *path)) places.push_back(std::move(*place));
  }
  WEIR_ASSERT(places.size() <= folders_.size());
  return std::exchange(places_, std::move(places)) != places_;
}

bool FolderWatch::mounts_changed() {
  if (!table_.is_open()) {
    table_ = OwnedDescriptor(::open(kTable, O_RDONLY | O_CLOEXEC));
    return table_.is_open();
  }
  pollfd table{table_.get(), POLLPRI, 0};
  return ::poll(&table, 1, 0) > 0;
}

}  // namespace weir::node
