#include <weir/base/owned_descriptor.hpp>
#include <weir/lab/cpu_shares.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace weir::lab {
namespace {

constexpr DurationNs kPeriod = 20 * kMillisecond;
constexpr DurationNs kQuotaMin = kMillisecond;  // the kernel's minimum
constexpr int kRemoveTries = 1000;
constexpr int kEndPatienceMs = 1000;
constexpr int kMomentMs = 10;
constexpr std::size_t kListBytes = 32;  // room for one process id
constexpr mode_t kFolderMode = 0755;

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// Returns the version 1 control group of this process, as a path below the mount; "/" is the mount itself.
std::string own_group(std::string_view own, const std::string& mount_root) {
  std::istringstream lines{std::string(own)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    if (!has_word(std::string_view(line).substr(first + 1, second - first - 1), "cpu")) continue;
    std::string path = line.substr(second + 1);
    if (mount_root != "/" && path.starts_with(mount_root)) path.erase(0, mount_root.size());
    return path == "/" ? std::string() : path;
  }
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) {
  const OwnedDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.is_open() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return;
  throw std::runtime_error(path + ": " + std::strerror(errno));
}

struct GroupFiles {
  std::string folder;
  std::string processes;  // file with the group's processes
};

// Waits until one of the group's processes has ended, or for a limited time. Safe after fork().
void wait_for_an_end(const GroupFiles& group) {
  std::array<char, kListBytes> list{};
  const int file = ::open(group.processes.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = ::read(file, list.data(), list.size() - 1);
  ::close(file);
  pid_t first = 0;
  for (ssize_t i = 0; i < size && list[static_cast<std::size_t>(i)] != '\n'; ++i)
    first = 10 * first + (list[static_cast<std::size_t>(i)] - '0');
  const int process = first > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, first, 0)) : -1;
  pollfd end{process, POLLIN, 0};
  // A process that has just ended stays in the group for a moment, without being listed.
  ::poll(&end, 1, process >= 0 ? kEndPatienceMs : kMomentMs);
  ::close(process);
}

// Runs in the new process: waits until the other end of the pipe is closed, then removes the folders once no
// process is inside. Uses only calls that are safe after fork().
[[noreturn]] void remove_later(int pipe, const std::vector<GroupFiles>& groups) {
  ::setpgid(0, 0);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);
  ::dup2(pipe, 0);
  ::close_range(1, ~0U, 0);
  char nothing = 0;
  while (::read(0, &nothing, 1) < 0 && errno == EINTR) {
  }
  for (const GroupFiles& group : groups) {
    for (int i = 0; i < kRemoveTries && ::rmdir(group.folder.c_str()) != 0 && errno == EBUSY; ++i)
      wait_for_an_end(group);
  }
  ::_exit(0);
}

}  // namespace

std::optional<CpuGroups> cpu_groups(std::string_view mounts, std::string_view own) {
  std::optional<CpuGroups> unified;
  std::istringstream lines{std::string(mounts)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string number;
    std::string parent;
    std::string device;
    std::string root;
    std::string place;
    std::string type;
    std::string source;
    std::string options;
    before >> number >> parent >> device >> root >> place;
    after >> type >> source >> options;
    if (type == "cgroup" && has_word(options, "cpu")) return CpuGroups{false, place + own_group(own, root)};
    if (type == "cgroup2") unified = CpuGroups{true, place};
  }
  return unified;
}

CpuQuota quota_of_share(double cpu_share) {
  const auto least = static_cast<DurationNs>(static_cast<double>(kQuotaMin) / cpu_share);
  const DurationNs period = std::max(kPeriod, least);
  return {period, static_cast<DurationNs>(static_cast<double>(period) * cpu_share)};
}

class CpuShares::Groups {
 public:
  explicit Groups(CpuGroups where) : where_(std::move(where)) {}
  ~Groups() {
    if (remover_ > 0) {
      pipe_.reset();
      while (::waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {
      }
    } else {
      for (const auto& [host, folder] : folders_) ::rmdir(folder.c_str());
    }
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  void add(const LabHost& host) {
    const std::string folder = fmt::format("{}/weir-{}-{}", where_.folder, ::getpid(), host.name);
    if (::mkdir(folder.c_str(), kFolderMode) != 0)
      throw std::runtime_error(folder + ": " + std::strerror(errno));
    folders_[host.name] = folder;
    const CpuQuota quota = quota_of_share(host.cpu_share);
    const DurationNs quota_us = quota.quota_ns / kMicrosecond;
    const DurationNs period_us = quota.period_ns / kMicrosecond;
    if (where_.unified) {
      write(folder + "/cpu.max", fmt::format("{} {}", quota_us, period_us));
    } else {
      write(folder + "/cpu.cfs_period_us", std::to_string(period_us));
      write(folder + "/cpu.cfs_quota_us", std::to_string(quota_us));
    }
  }

  void remove_at_the_end() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
    const OwnedDescriptor far(ends[0]);
    pipe_ = OwnedDescriptor(ends[1]);
    std::vector<GroupFiles> groups;
    for (const auto& [host, folder] : folders_) groups.push_back({folder, folder + "/cgroup.procs"});
    const pid_t pid = ::fork();
    if (pid == 0) remove_later(far.get(), groups);
    if (pid < 0) throw std::runtime_error(std::strerror(errno));
    remover_ = pid;
  }

  [[nodiscard]] const std::string* folder(const std::string& host) const {
    const auto found = folders_.find(host);
    return found == folders_.end() ? nullptr : &found->second;
  }

 private:
  CpuGroups where_;
  std::map<std::string, std::string> folders_;  // by host name
  OwnedDescriptor pipe_;
  pid_t remover_ = -1;
};

CpuShares::CpuShares(std::unique_ptr<Groups> groups) : groups_(std::move(groups)) {}
CpuShares::~CpuShares() = default;
CpuShares::CpuShares(CpuShares&& other) noexcept = default;
CpuShares& CpuShares::operator=(CpuShares&& other) noexcept = default;

Expected<CpuShares, std::string> CpuShares::open(const LabPlan& plan) {
  const auto where = cpu_groups(text_of("/proc/self/mountinfo"), text_of("/proc/self/cgroup"));
  if (!where) return Unexpected<std::string>("no control groups with CPU time are mounted");
  auto groups = std::make_unique<Groups>(*where);
  try {
    if (where->unified) write(where->folder + "/cgroup.subtree_control", "+cpu");
    for (const LabHost& host : plan.hosts) {
      if (host.cpu_share > 0) groups->add(host);
    }
    groups->remove_at_the_end();
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
  return CpuShares(std::move(groups));
}

void CpuShares::add_process(const std::string& host, pid_t pid) const {
  const std::string* folder = groups_->folder(host);
  if (folder == nullptr) return;
  try {
    write(*folder + "/cgroup.procs", std::to_string(pid));
  } catch (const std::exception&) {
    return;  // ended already
  }
}

double CpuShares::held_s(const std::string& host) const {
  const std::string* folder = groups_->folder(host);
  if (folder == nullptr) return 0;
  std::istringstream words(text_of(*folder + "/cpu.stat"));
  std::string word;
  double value = 0;
  while (words >> word >> value) {
    if (word == "throttled_time") return value / static_cast<double>(kSecond);
    if (word == "throttled_usec")
      return value * static_cast<double>(kMicrosecond) / static_cast<double>(kSecond);
  }
  return 0;
}

}  // namespace weir::lab
