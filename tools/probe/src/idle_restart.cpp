#include "idle_restart.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace weir::probe {
namespace {

constexpr const char* kSetting = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";

// A network namespace, or none.
struct Space {
  dev_t device = 0;
  ino_t number = 0;
  [[nodiscard]] bool known() const { return number != 0; }
  bool operator==(const Space&) const = default;
};

Space space_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

// Returns whether iproute2 has a name for it (`ip netns`).
bool is_named(const Space& space) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", none))
    if (space_at(entry.path().string()) == space) return true;
  return false;
}

bool write(IdleRestart value) {
  std::ofstream file(kSetting);
  file << (value == IdleRestart::on ? "1" : "0") << std::flush;
  return file.good();
}

}  // namespace

IdleRestart read_idle_restart() {
  std::ifstream file(kSetting);
  int value = -1;
  if (!(file >> value)) return IdleRestart::unknown;
  return value != 0 ? IdleRestart::on : IdleRestart::off;
}

bool may_change_idle_restart() {
  const Space own = space_at("/proc/self/ns/net");
  const Space host = space_at("/proc/1/ns/net");  // unknown to a process with fewer rights than process 1
  if (!own.known() || own == host || ::access(kSetting, W_OK) != 0) return false;
  return host.known() || is_named(own);
}

IdleRestartChange::~IdleRestartChange() {
  if (changed_) (void)write(before_);
}

bool IdleRestartChange::set(IdleRestart value) {
  if (value == IdleRestart::unknown || before_ == IdleRestart::unknown) return false;
  changed_ = true;
  return write(value);
}

}  // namespace weir::probe
