#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>
#include <weir/control/disk_memory.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weir::node {

// Returns where a folder lies, of the kernel's table of mounts; nullopt: unknown. Touches no disk.
[[nodiscard]] std::optional<control::FolderPlace> place_of(const std::string& key, const std::string& folder);

// Where the folders of this process lie, as the mounts change.
class FolderWatch {
 public:
  static constexpr DurationNs kInterval = 100 * kMillisecond;
  enum class Links : bool { resolved, to_resolve };
  struct Folder {
    std::string key;
    std::string path;
    Links links = Links::to_resolve;  // resolving them waits for the folder's disk
    bool operator==(const Folder&) const = default;
  };

  // Watches these folders from now on.
  void set_folders(std::vector<Folder> folders);
  // Returns true if places() have changed. Rereads the mounts at most once per kInterval, if they changed.
  [[nodiscard]] bool look(TimeNs now);
  // Folders with an unknown place are left out.
  [[nodiscard]] const std::vector<control::FolderPlace>& places() const { return places_; }

 private:
  [[nodiscard]] bool mounts_changed();

  std::vector<Folder> folders_;
  std::vector<control::FolderPlace> places_;
  OwnedDescriptor table_;  // its poll() reports changes of the mounts
  TimeNs next_look_ns_ = 0;
  bool stale_ = false;
};

}  // namespace weir::node
