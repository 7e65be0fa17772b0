// On folders that look like control groups; on real ones in a kernel of the test's own.
#include "memory_groups.hpp"

#include "temporary_folder.hpp"
#include "weir_catch.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

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
  auto made = MemoryGroups::make(hierarchy.mounts(), Hierarchy::own(), kSelf, kLimit);
  REQUIRE(made);
  const std::unique_ptr<MemoryGroups> groups = std::move(*made);
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
  groups->remove(*worker);
  CHECK(text(fs::path(*worker) / "cgroup.kill") == "1");
}

TEST_CASE("the process moves back when its groups are removed, and an earlier process' groups go first") {
  const Hierarchy hierarchy;
  fs::create_directories(hierarchy.group() / "weir-worker-12");
  {
    const auto groups = MemoryGroups::make(hierarchy.mounts(), Hierarchy::own(), kSelf, kLimit);
    REQUIRE(groups);
    CHECK(text(hierarchy.group() / "weir-worker-12/cgroup.kill") == "1");
    hierarchy.put("cgroup.procs", "");
  }
  CHECK(text(hierarchy.group() / "cgroup.procs") == "4711");
  CHECK(text(hierarchy.group() / "cgroup.subtree_control") == "-memory");
}

TEST_CASE("a process that has moved already uses the same group again") {
  const Hierarchy hierarchy;
  REQUIRE(MemoryGroups::make(hierarchy.mounts(), Hierarchy::own(), kSelf, kLimit));
  hierarchy.put("cgroup.procs", "");
  const auto again = MemoryGroups::make(hierarchy.mounts(), Hierarchy::own("/weir-main"), kSelf, kLimit);
  REQUIRE(again);
  CHECK((*again)->folder() == hierarchy.group().string());
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

namespace {

// Takes twice the limit, unless the kernel ends it before. Returns the status of the child that does so.
int take_too_much(MemoryGroups& groups, std::string& folder) {
  std::array<int, 2> go{};
  REQUIRE(::pipe(go.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    (void)!::read(go[0], &byte, 1);  // until it is in its group
    void* taken = ::mmap(nullptr, 2 * kLimit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken != MAP_FAILED) std::memset(taken, 1, 2 * kLimit);
    ::_exit(0);
  }
  const auto worker = groups.add(child);
  REQUIRE(worker);
  folder = *worker;
  CHECK(std::stoull(text(fs::path(folder) / "memory.max")) == kLimit);
  CHECK_THAT(text(fs::path(folder) / "cgroup.procs"), ContainsSubstring(std::to_string(child)));
  CHECK(!MemoryGroups::ran_out(folder));
  (void)!::write(go[1], "1", 1);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  ::close(go[0]);
  ::close(go[1]);
  return status;
}

}  // namespace

// In filter_host_control_groups alone (tests/support/own_kernel).
TEST_CASE("the kernel ends a process beyond the limit of its group, and no group is left",
          "[.control-group]") {
  fs::path above;
  std::string worker;
  {
    auto groups =
        MemoryGroups::make(text("/proc/self/mountinfo"), text("/proc/self/cgroup"), ::getpid(), kLimit);
    if (!groups) FAIL(groups.error());
    above = (*groups)->folder();
    const int status = take_too_much(**groups, worker);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
    CHECK(MemoryGroups::ran_out(worker));
    (*groups)->remove(worker);
  }
  CHECK(!fs::exists(worker));
  CHECK(!fs::exists(above / "weir-main"));
  CHECK(text(above / "cgroup.procs") == std::to_string(::getpid()) + "\n");
}
