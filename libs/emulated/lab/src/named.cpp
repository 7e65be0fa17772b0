#include "tools.hpp"
#include <weir/base/owned_descriptor.hpp>
#include <weir/lab/named.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mount.h>

namespace weir::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/run/netns";

std::string name_prefix(const std::string& lab) { return "weir." + lab + "."; }

Unexpected<NetworkError> failed(const std::string& what, const std::string& path) {
  return Unexpected<NetworkError>(
      {fmt::format("{} '{}': {}", what, path, std::strerror(errno)), errno == EPERM || errno == EACCES});
}

}  // namespace

std::vector<std::string> named_paths(const LabPlan& plan) {
  std::vector<std::string> paths;
  for (Space space = 0; space < plan.spaces(); ++space) {
    paths.push_back(fmt::format("{}/{}{}", kFolder, name_prefix(plan.name), plan.space_name(space)));
  }
  return paths;
}

std::vector<std::string> names_present(const std::string& lab) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kFolder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(name_prefix(lab))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Expected<void, NetworkError> give_names(const LabPlan& plan, const LabNetwork& network) {
  std::error_code error;
  fs::create_directories(kFolder, error);
  const std::vector<std::string> paths = named_paths(plan);
  for (Space space = 0; space < plan.spaces(); ++space) {
    const std::string& path = paths[space];
    const std::string from = fmt::format("/proc/self/fd/{}", network.space(space));
    const OwnedDescriptor place(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
    const bool named = place.is_open() && ::mount(from.c_str(), path.c_str(), "none", MS_BIND, nullptr) == 0;
    if (named) continue;
    auto why = failed("cannot make", path);
    (void)remove_names(plan.name);
    return why;
  }
  return {};
}

void remove_relayed_links(const LabPlan& plan) {
  if (plan.has_fabric() || plan.software) {  // the relay ends with the first device
    const OwnedDescriptor host(::open(named_paths(plan)[kFirstHost].c_str(), O_RDONLY | O_CLOEXEC));
    if (host.is_open()) (void)run_tool(Tool::ip, "link del data\n", host.get());
    return;
  }
  const OwnedDescriptor switches(::open(named_paths(plan)[kSwitches].c_str(), O_RDONLY | O_CLOEXEC));
  if (!switches.is_open()) return;
  // Errors are ignored: a device may be gone already.
  for (const RelayedLink& link : plan.relayed_links()) {
    for (const RelayedEnd& end : {link.from, link.to}) {
      if (end.space != kSwitches) continue;
      (void)run_tool(Tool::ip, fmt::format("link del {}\n", end.device), switches.get());
    }
  }
}

Expected<void, NetworkError> remove_names(const std::string& lab) {
  for (const std::string& name : names_present(lab)) {
    const std::string path = fmt::format("{}/{}", kFolder, name);
    if (::umount2(path.c_str(), MNT_DETACH) != 0 && errno != EINVAL) return failed("cannot unmount", path);
    if (::unlink(path.c_str()) != 0) return failed("cannot remove", path);
  }
  return {};
}

}  // namespace weir::lab
