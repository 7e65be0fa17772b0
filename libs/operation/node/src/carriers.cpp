#include <weir/base/owned_descriptor.hpp>
#include <weir/node/carriers.hpp>

#include <ifaddrs.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

namespace weir::node {
namespace {

using Networks = std::vector<config::Ipv4Network>;

// Returns for each network whether an interface with an address in it is up and has a carrier; `before` if
// the system does not say.
std::vector<bool> carriers_of(const Networks& networks, std::vector<bool> before) {
  std::vector<bool> up(networks.size());
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return before;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    for (std::size_t i = 0; i < networks.size(); ++i) {
      if (networks[i].contains(ntohl(address.sin_addr.s_addr)) && (one->ifa_flags & IFF_RUNNING) != 0)
        up[i] = true;
    }
  }
  ::freeifaddrs(list);
  return up;
}

// The kernel's messages about links only say when to look.
class LinkCarriers final : public ports::Carriers {
 public:
  LinkCarriers(const Networks& networks, OwnedDescriptor socket)
      : networks_(networks),
        socket_(std::move(socket)),
        up_(carriers_of(networks_, std::vector<bool>(networks_.size()))) {}

  std::vector<std::size_t> lost() override {
    std::vector<std::size_t> lost;
    if (!has_news()) return lost;
    const std::vector<bool> now = carriers_of(networks_, up_);
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      if (up_[i] && !now[i]) lost.push_back(i);
    }
    up_ = now;
    return lost;
  }

 private:
  [[nodiscard]] bool has_news() const {
    bool news = false;
    std::array<char, 256> message{};  // its rest is cut off
    for (;;) {
      const ssize_t bytes = ::recv(socket_.get(), message.data(), message.size(), MSG_DONTWAIT);
      if (bytes < 0 && errno != ENOBUFS) return news;  // ENOBUFS: messages were dropped
      news = true;
    }
  }

  Networks networks_;
  OwnedDescriptor socket_;
  std::vector<bool> up_;
};

}  // namespace

std::unique_ptr<ports::Carriers> watch_carriers(const std::vector<config::Ipv4Network>& networks) {
  OwnedDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl self{};
  self.nl_family = AF_NETLINK;
  self.nl_groups = RTMGRP_LINK;
  if (socket.is_open() && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&self), sizeof self) == 0)
    return std::make_unique<LinkCarriers>(networks, std::move(socket));
  spdlog::warn("carriers are not watched reason=\"{}\"", std::strerror(errno));
  return nullptr;
}

}  // namespace weir::node
