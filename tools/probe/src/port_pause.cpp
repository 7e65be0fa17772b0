#include "port_pause.hpp"

#include <weir/clock/clock.hpp>
#include <weir/switching/pause.hpp>

#include <fmt/format.h>
#include <ifaddrs.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <memory>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/ioctl.h>

namespace weir::probe {
namespace {

constexpr std::uint64_t kBitsOfMega = 1'000'000;
constexpr std::uint64_t kUnknownSpeed = 10'000;  // Mb/s, as of a virtual cable
constexpr int kRepeats = 4;                      // within the longest pause
constexpr DurationNs kLongestRepeatNs = kMillisecond;
constexpr std::ptrdiff_t kSenderAt = 6;

std::string interface_of(const Address& local) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw std::runtime_error(std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(first, ::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != local.bytes.ss_family) continue;
    Address address;
    std::memcpy(&address.bytes, one->ifa_addr, local.is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    if (address.same_host(local)) return one->ifa_name;
  }
  throw std::runtime_error("no interface has the address " + local.text());
}

ifreq request_of(const std::string& interface) {
  ifreq request{};
  interface.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  return request;
}

std::uint64_t speed_of(int socket, const std::string& interface) {
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request = request_of(interface);
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return kUnknownSpeed;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == 0 || speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? kUnknownSpeed : speed;
}

}  // namespace

PortLink::PortLink(const Address& local) : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  if (!socket_.is_open()) {
    throw std::runtime_error(errno == EPERM ? std::string("raw frames need CAP_NET_RAW: run it as root")
                                            : std::string(std::strerror(errno)));
  }
  const std::string interface = interface_of(local);
  index_ = static_cast<int>(::if_nametoindex(interface.c_str()));
  ifreq request = request_of(interface);
  if (::ioctl(socket_.get(), SIOCGIFHWADDR, &request) != 0 || request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
    throw std::runtime_error(fmt::format("interface '{}' is not Ethernet", interface));
  std::memcpy(sender_.data(), static_cast<const char*>(request.ifr_hwaddr.sa_data), sender_.size());
  const std::uint64_t bits_per_s = speed_of(socket_.get(), interface) * kBitsOfMega;
  repeat_ns_ =
      std::min(kLongestRepeatNs, switching::pause_ns(switching::kLongestPause, bits_per_s) / kRepeats);
}

bool PortLink::send_pause(bool begins) const {
  auto frame = switching::pause_frame(begins ? switching::kLongestPause : 0);
  std::copy(sender_.begin(), sender_.end(), frame.begin() + kSenderAt);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_PAUSE);
  to.sll_ifindex = index_;
  return ::sendto(socket_.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                  sizeof to) == static_cast<ssize_t>(frame.size());
}

PortPause::PortPause(const PortLink& link, DurationNs length_ns) : link_(link) {
  times_.from_ns = utc_now_ns();
  const TimeNs ends_ns = monotonic_now_ns() + length_ns;
  if (!link_.send_pause(true))
    throw std::runtime_error(fmt::format("the interface sends no pause frame: {}", std::strerror(errno)));
  thread_ = std::thread([this, ends_ns] {
    for (TimeNs now = monotonic_now_ns(); now < ends_ns; now = monotonic_now_ns()) {
      const TimeNs due = std::min(ends_ns, now + link_.repeat_ns());
      const timespec at{due / kSecond, due % kSecond};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
      // A frame that the interface refuses shows as datagrams that pass.
      if (due < ends_ns) (void)link_.send_pause(true);
    }
    times_.until_ns = utc_now_ns();
    (void)link_.send_pause(false);
  });
}

PortPause::~PortPause() {
  if (thread_.joinable()) thread_.join();
}

line_figures::PauseTimes PortPause::wait() {
  thread_.join();
  return times_;
}

}  // namespace weir::probe
