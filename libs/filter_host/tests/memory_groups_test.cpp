// On folders that look like control groups; a real one where this process' own group is delegated to it.
#include "memory_groups.hpp"

#include "skip.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using Catch::Matchers::ContainsSubstring;
using weir::filter_host::MemoryGroups;

namespace {

namespace fs = std::filesystem;

constexpr pid_t kSelf = 4711;
constexpr std::uint64_t kLimit = 64U << 20U;

std::string text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A unified hierarchy with the group of one service.
class Hierarchy {
 public:
  Hierarchy() {
    fs::create_directories(group());
    put("cgroup.type", "domain\n");
    put("cgroup.controllers", "cpu memory pids\n");
    put("cgroup.procs", "4711\n");
    put("cgroup.subtree_control", "");
  }
  void put(const std::string& name, const std::string& content) const {
    std::ofstream(group() / name) << content;
  }
  [[nodiscard]] fs::path group() const { return folder_.path() / "system.slice/weir-dcm.service"; }
  [[nodiscard]] std::string mounts() const {
    return "30 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 23 0:28 / " +
           folder_.path().string() + " rw,relatime - cgroup2 cgroup2 rw\n";
  }
  [[nodiscard]] static std::string own(const std::string& leaf = "") {
    return "4:memory:/other\n0::/system.slice/weir-dcm.service" + leaf + "\n";
  }
  [[nodiscard]] std::string why_not() const {
    const auto groups = MemoryGroups::make(mounts(), own(), kSelf, kLimit);
    return groups ? "" : groups.error();
  }

 private:
  weir::test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a delegated group gets a leaf for the process, and a limited group for each worker") {
  const Hierarchy hierarchy;
  auto groups = MemoryGroups::make(hierarchy.mounts(), Hierarchy::own(), kSelf, kLimit);
  REQUIRE(groups);
  CHECK(groups->folder() == hierarchy.group().string());
  CHECK(text(hierarchy.group() / "weir-main/cgroup.procs") == "4711");
  CHECK(text(hierarchy.group() / "cgroup.subtree_control") == "+memory");
  const auto worker = groups->add(5000);
  REQUIRE(worker);
  CHECK(text(fs::path(*worker) / "memory.max") == std::to_string(kLimit));
  CHECK(text(fs::path(*worker) / "memory.swap.max") == "0");
  CHECK(text(fs::path(*worker) / "cgroup.procs") == "5000");
  std::ofstream(fs::path(*worker) / "memory.events") << "low 0\nmax 12\noom 1\noom_kill 1\n";
  CHECK(MemoryGroups::ran_out(*worker));
  std::ofstream(fs::path(*worker) / "memory.events") << "low 0\nmax 12\noom 0\noom_kill 0\n";
  CHECK(!MemoryGroups::ran_out(*worker));
  MemoryGroups::remove(*worker);
  CHECK(text(fs::path(*worker) / "cgroup.kill") == "1");
}

TEST_CASE("a process that has moved already uses the same group again") {
  const Hierarchy hierarchy;
  REQUIRE(MemoryGroups::make(hierarchy.mounts(), Hierarchy::own(), kSelf, kLimit));
  hierarchy.put("cgroup.procs", "");
  const auto again = MemoryGroups::make(hierarchy.mounts(), Hierarchy::own("/weir-main"), kSelf, kLimit);
  REQUIRE(again);
  CHECK(again->folder() == hierarchy.group().string());
  CHECK(!fs::exists(hierarchy.group() / "weir-main/weir-main"));
}

TEST_CASE("a group that is not delegated is left as it is, and the reason is named") {
  const Hierarchy hierarchy;
  CHECK_THAT(MemoryGroups::make("", Hierarchy::own(), kSelf, kLimit).error(), ContainsSubstring("cgroup v2"));
  hierarchy.put("cgroup.procs", "4711\n4712\n");
  CHECK_THAT(hierarchy.why_not(), ContainsSubstring("other processes"));
  hierarchy.put("cgroup.procs", "4711\n");
  hierarchy.put("cgroup.controllers", "cpu pids\n");
  CHECK_THAT(hierarchy.why_not(), ContainsSubstring("no memory controller"));
  hierarchy.put("cgroup.controllers", "memory\n");
  fs::remove(hierarchy.group() / "cgroup.type");
  CHECK_THAT(hierarchy.why_not(), ContainsSubstring("topmost"));
  CHECK(!fs::exists(hierarchy.group() / "weir-main"));
}

TEST_CASE("the kernel takes the limit where this process' group is delegated") {
  auto groups =
      MemoryGroups::make(text("/proc/self/mountinfo"), text("/proc/self/cgroup"), ::getpid(), kLimit);
  if (!groups) {
    weir::skip_test("no delegated control group here: " + groups.error());
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto worker = groups->add(child);
  REQUIRE(worker);
  CHECK(std::stoull(text(fs::path(*worker) / "memory.max")) == kLimit);
  CHECK_THAT(text(fs::path(*worker) / "cgroup.procs"), ContainsSubstring(std::to_string(child)));
  MemoryGroups::remove(*worker);
  CHECK(::waitpid(child, nullptr, 0) == child);
}
