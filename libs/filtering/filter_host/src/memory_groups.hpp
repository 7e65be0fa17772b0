#pragma once

#include <weir/base/expected.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::filter_host {

// Control groups (cgroup v2) that limit the memory of workers, one for each. They exist where this process'
// own group is delegated to it: its files are writable, and no other process is in it. The process moves into
// a group of its own below, because a group with limited children has no processes itself, and moves back at
// the end.
class MemoryGroups {
 public:
  // `mounts`, `own`: /proc/self/mountinfo and /proc/self/cgroup. Removes the groups that an earlier process
  // left behind. Errors: why no group can be made, as a sentence.
  [[nodiscard]] static Expected<std::unique_ptr<MemoryGroups>, std::string> make(const std::string& mounts,
                                                                                 const std::string& own,
                                                                                 pid_t self,
                                                                                 std::uint64_t limit_bytes);
  // Removes all groups. Waits at most 0.5 s for killed processes that are still in one.
  ~MemoryGroups();
  MemoryGroups(const MemoryGroups&) = delete;
  MemoryGroups& operator=(const MemoryGroups&) = delete;

  // Makes the group of a worker and moves it there. Returns the group's folder. Errors: a sentence; the
  // worker stays where it is, without a limit.
  [[nodiscard]] Expected<std::string, std::string> add(pid_t worker);
  // Returns whether the kernel has ended a process of the group because its memory ran out.
  [[nodiscard]] static bool ran_out(const std::string& folder);
  // Kills the group's remaining processes, and removes it: later, if they are still ending. Requires: the
  // worker has ended.
  void remove(const std::string& folder);

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  MemoryGroups(std::string folder, pid_t self, std::uint64_t limit_bytes)
      : folder_(std::move(folder)), self_(self), limit_bytes_(limit_bytes) {}
  void remove_ended();

  std::string folder_;
  pid_t self_;
  std::uint64_t limit_bytes_;
  std::vector<std::string> ending_;  // groups whose killed processes had not ended
};

}  // namespace weir::filter_host
