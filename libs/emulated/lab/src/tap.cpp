#include "tap.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

constexpr std::size_t kDevicesBytesMax = std::size_t{1} << 20;
constexpr int kSendDropColumn = 12;

}  // namespace

TapDevice TapDevice::open(const std::string& device, std::shared_ptr<OwnedDescriptor> devices) {
  OwnedDescriptor tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  device.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  if (!tap.is_open() || ::ioctl(tap.get(), TUNSETIFF, &request) != 0) {
    throw std::runtime_error(fmt::format("the link's end '{}': {}", device, std::strerror(errno)));
  }
  return {device, std::move(tap), std::move(devices)};
}

std::shared_ptr<OwnedDescriptor> TapDevice::devices_here() {
  return std::make_shared<OwnedDescriptor>(::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
}

std::uint64_t TapDevice::dropped() const {
  static thread_local std::vector<char> table(kDevicesBytesMax);
  const ssize_t size = ::pread(devices->get(), table.data(), table.size(), 0);
  const std::string_view text(table.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t at = text.find(" " + device + ":");
  if (at == text.npos) return 0;
  const std::string_view row = text.substr(text.find(':', at) + 1);
  std::istringstream columns(std::string(row.substr(0, row.find('\n'))));
  std::uint64_t value = 0;
  for (int column = 0; column < kSendDropColumn && columns >> value; ++column) {
  }
  return value;
}

}  // namespace weir::lab
