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
namespace {

class Device {
 public:
  explicit Device(const std::string& name)
      : name_(name), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

  void set(std::uint32_t command, bool on) const {
    ethtool_value value{command, on ? 1U : 0U};
    ifreq request{};
    name_.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(socket_.get(), SIOCETHTOOL, &request) != 0) {
      throw std::runtime_error("cannot set the offloads of " + name_ + ": " + std::strerror(errno));
    }
  }
  void set_segmentation(bool on) const {
    for (const std::uint32_t command : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) set(command, on);
  }

 private:
  std::string name_;
  OwnedDescriptor socket_;
};

}  // namespace

void set_offloads(const std::string& name, Offloads offloads) {
  const Device device(name);
  device.set(ETHTOOL_STXCSUM, offloads != Offloads::none);
  device.set(ETHTOOL_SRXCSUM, offloads != Offloads::none);
  device.set_segmentation(offloads == Offloads::all);
}

void set_relayed_offloads(const std::string& name, Offloads offloads) {
  Device(name).set_segmentation(offloads == Offloads::all);
}

}  // namespace weir::lab
