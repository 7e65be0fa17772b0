#include "folder_lock.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>

namespace weir::run {
namespace {

constexpr mode_t kMode = 0666;

std::string own_name() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("process {} on {}", ::getpid(), host);
}

std::string owner_of(const std::string& path) {
  std::ifstream file(path);
  std::string owner;
  std::getline(file, owner);
  return owner.empty() ? "another process" : owner;
}

}  // namespace

Expected<FolderLock, std::string> FolderLock::take(const std::string& folder) {
  const std::string path = folder + "/weir-up.lock";
  const auto cannot = [&](const char* what) {
    return Unexpected<std::string>(fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
  };
  OwnedDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (!file.is_open()) return cannot("open");
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Unexpected<std::string>(
          fmt::format("'{}' is in use by another farm of `weir up` ({}): end that farm, or choose another "
                      "folder with --set run.out=FOLDER",
                      folder, owner_of(path)));
    return FolderLock(std::move(file));
  }
  const std::string owner = own_name() + "\n";
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size()))
    return cannot("write");
  return FolderLock(std::move(file));
}

}  // namespace weir::run
