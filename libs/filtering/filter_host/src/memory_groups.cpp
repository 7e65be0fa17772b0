#include "memory_groups.hpp"

#include <weir/base/owned_descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace weir::filter_host {
namespace {

constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr const char* kOwnLeaf = "weir-main";  // where this process moves
constexpr const char* kWorkerPrefix = "weir-worker-";
constexpr int kEndPatienceMs = 500;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool has_word(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string one; words >> one;) {
    if (one == word) return true;
  }
  return false;
}

// One write, as control groups want it. An error is a sentence; empty: written.
std::string write_once(const std::string& path, const std::string& text) {
  const OwnedDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
  if (file.is_open() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return path + ": " + std::strerror(errno);
}

// The folder of the unified hierarchy: "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup rw".
std::string unified_mount(const std::string& mounts) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == line.npos) continue;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    return word;
  }
  return {};
}

// "0::/system.slice/weir-dcm@dcm-0.service".
std::string unified_group(const std::string& own) {
  std::istringstream lines(own);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return {};
}

bool is_alone(const std::string& folder, pid_t self) {
  std::istringstream pids(file_text(folder + "/cgroup.procs"));
  for (std::string pid; pids >> pid;) {
    if (pid != std::to_string(self)) return false;
  }
  return true;
}

// Moves this process below `folder`, so that its children there can have limits.
std::string delegate_below(const std::string& folder, pid_t self) {
  const std::string leaf = folder + "/" + kOwnLeaf;
  if (::mkdir(leaf.c_str(), kFolderMode) != 0 && errno != EEXIST) return leaf + ": " + std::strerror(errno);
  if (std::string why = write_once(leaf + "/cgroup.procs", std::to_string(self)); !why.empty()) return why;
  std::string why = write_once(folder + "/cgroup.subtree_control", "+memory");
  if (why.empty()) return {};
  (void)write_once(folder + "/cgroup.procs", std::to_string(self));
  ::rmdir(leaf.c_str());
  return why;
}

// False while killed processes of the group are still ending.
bool kill_and_remove(const std::string& folder) {
  (void)write_once(folder + "/cgroup.kill", "1");
  return ::rmdir(folder.c_str()) == 0 || errno != EBUSY;
}

// Of a DCM that was killed itself: its workers ended with it, but not the processes that they had forked.
void remove_abandoned(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with(kWorkerPrefix))
      (void)kill_and_remove(entry.path().string());
  }
}

// Returns when the group has no processes, after kEndPatienceMs at the latest.
void wait_until_empty(const std::string& folder) {
  const OwnedDescriptor events(::open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  if (::read(events.get(), text.data(), text.size() - 1) <= 0) return;
  if (std::string_view(text.data()).find("populated 1") == std::string_view::npos) return;
  pollfd changed{events.get(), POLLPRI, 0};
  (void)::poll(&changed, 1, kEndPatienceMs);
}

}  // namespace

Expected<std::unique_ptr<MemoryGroups>, std::string> MemoryGroups::make(const std::string& mounts,
                                                                        const std::string& own, pid_t self,
                                                                        std::uint64_t limit_bytes) {
  const auto cannot = [](std::string why) { return Unexpected<std::string>(std::move(why)); };
  const std::string mount = unified_mount(mounts);
  if (mount.empty()) return cannot("no control groups (cgroup v2) are mounted");
  std::string folder = mount + unified_group(own);
  while (folder.ends_with('/')) folder.pop_back();
  // It has moved already if an earlier process of the group ended before it could move back.
  const bool has_moved = folder.ends_with(std::string("/") + kOwnLeaf);
  if (!is_alone(folder, self)) return cannot(folder + ": other processes are in the group");
  if (has_moved) folder.resize(folder.rfind('/'));
  if (!has_word(file_text(folder + "/cgroup.controllers"), "memory"))
    return cannot(folder + ": the group has no memory controller");
  if (::access((folder + "/cgroup.procs").c_str(), W_OK) != 0 || ::access(folder.c_str(), W_OK) != 0)
    return cannot(folder + ": the group is not delegated to this process (systemd: Delegate=memory)");
  // Only the topmost group of a machine has no type, and it is never delegated.
  if (::access((folder + "/cgroup.type").c_str(), F_OK) != 0)
    return cannot(folder + ": the process is in the topmost group");
  if (!has_moved) {
    if (std::string why = delegate_below(folder, self); !why.empty()) return cannot(std::move(why));
  }
  remove_abandoned(folder);
  return std::unique_ptr<MemoryGroups>(new MemoryGroups(std::move(folder), self, limit_bytes));
}

MemoryGroups::~MemoryGroups() {
  for (const std::string& group : ending_) wait_until_empty(group);
  remove_ended();
  (void)write_once(folder_ + "/cgroup.subtree_control", "-memory");
  (void)write_once(folder_ + "/cgroup.procs", std::to_string(self_));
  ::rmdir((folder_ + "/" + kOwnLeaf).c_str());
}

Expected<std::string, std::string> MemoryGroups::add(pid_t worker) {
  remove_ended();
  const std::string group = folder_ + "/" + kWorkerPrefix + std::to_string(worker);
  if (::mkdir(group.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return Unexpected<std::string>(group + ": " + std::strerror(errno));
  std::string why = write_once(group + "/memory.max", std::to_string(limit_bytes_));
  if (why.empty()) why = write_once(group + "/cgroup.procs", std::to_string(worker));
  if (!why.empty()) {
    ::rmdir(group.c_str());
    return Unexpected<std::string>(std::move(why));
  }
  // The limit is not to be met by swapping, and forked children end with their worker. Old kernels lack
  // these.
  (void)write_once(group + "/memory.swap.max", "0");
  (void)write_once(group + "/memory.oom.group", "1");
  return group;
}

bool MemoryGroups::ran_out(const std::string& folder) {
  std::istringstream words(file_text(folder + "/memory.events"));
  std::string name;
  std::uint64_t count = 0;
  while (words >> name >> count) {
    if (name == "oom_kill") return count > 0;
  }
  return false;
}

void MemoryGroups::remove(const std::string& folder) {
  if (!kill_and_remove(folder)) ending_.push_back(folder);
}

void MemoryGroups::remove_ended() { std::erase_if(ending_, kill_and_remove); }

}  // namespace weir::filter_host
