#include "offloads.hpp"

#include <weir/base/owned_descriptor.hpp>

#include <cerrno>
#include <cstring>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace weir::lab {

void set_offloads(const std::string& device, Offloads offloads) {
  const OwnedDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto set = [&](std::uint32_t command, bool on) {
    ethtool_value value{command, on ? 1U : 0U};
    ifreq request{};
    device.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) {
      throw std::runtime_error("cannot set the offloads of " + device + ": " + std::strerror(errno));
    }
  };
  const bool all = offloads == Offloads::all;
  set(ETHTOOL_STXCSUM, offloads != Offloads::none);
  set(ETHTOOL_SRXCSUM, offloads != Offloads::none);
  set(ETHTOOL_STSO, all);
  set(ETHTOOL_SGSO, all);
  set(ETHTOOL_SGRO, all);
}

}  // namespace weir::lab
