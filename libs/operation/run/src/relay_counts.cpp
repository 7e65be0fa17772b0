#include "relay_counts.hpp"

#include <weir/lab/named.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <thread>

namespace weir::run {
namespace {

// An abstract name, which ends with its socket. It has the number of the lab's first namespace, because
// another lab may have the same name: one that is just ending, or one of a container.
struct CountsAddress {
  sockaddr_un name{};
  socklen_t size = 0;
};
CountsAddress address_of(const lab::LabPlan& plan) {
  struct stat space {};
  ::stat(lab::named_paths(plan).at(lab::kSwitches).c_str(), &space);
  CountsAddress address;
  address.name.sun_family = AF_UNIX;
  const std::string text = fmt::format("weir-lab.{}.{}", space.st_ino, plan.name);
  const std::size_t letters = std::min(text.size(), sizeof address.name.sun_path - 1);
  std::memcpy(address.name.sun_path + 1, text.data(), letters);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + letters);
  return address;
}

OwnedDescriptor local_socket() { return OwnedDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

std::vector<lab::PortCount> counts_of(const lab::LabPlan& plan, const lab::Relay& relay) {
  std::vector<lab::PortCount> counts(plan.ports.size());
  if (plan.has_fabric() || plan.software) lab::add_counts(counts, relay.port_counter()());
  if (plan.line) {
    for (const lab::PortCount& count : relay.line_counts()) counts.push_back(count);
  }
  return counts;
}

std::string to_text(const std::vector<lab::PortCount>& counts) {
  std::string text;
  for (const lab::PortCount& count : counts)
    text += fmt::format("{} {} {}\n", count.bytes, count.packets, count.drops);
  return text;
}

}  // namespace

Expected<OwnedDescriptor, std::string> listen_for_counts(const lab::LabPlan& plan) {
  constexpr int kWaiting = 4;
  OwnedDescriptor listener = local_socket();
  const CountsAddress at = address_of(plan);
  if (!listener.is_open() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.name), at.size) != 0 ||
      ::listen(listener.get(), kWaiting) != 0)
    return Unexpected<std::string>("cannot listen for `weir lab status`: " +
                                   std::string(std::strerror(errno)));
  return listener;
}

void serve_counts(int listener, const lab::LabPlan& plan, const lab::Relay& relay) {
  std::thread([listener, &plan, &relay] {
    for (;;) {
      const OwnedDescriptor client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        return;
      }
      const std::string text = to_text(counts_of(plan, relay));
      (void)::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }).detach();
}

std::optional<std::vector<lab::PortCount>> ask_for_counts(const lab::LabPlan& plan) {
  const OwnedDescriptor socket = local_socket();
  const CountsAddress at = address_of(plan);
  const timeval limit{2, 0};
  if (!socket.is_open()) return std::nullopt;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.name), at.size) != 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::recv(socket.get(), part.data(), part.size(), 0)) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  std::vector<lab::PortCount> counts;
  std::istringstream lines(text);
  for (lab::PortCount count; lines >> count.bytes >> count.packets >> count.drops;) counts.push_back(count);
  if (counts.size() != plan.counted_ports().size()) return std::nullopt;
  return counts;
}

}  // namespace weir::run
