#include "socket.hpp"

#include <netdb.h>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <linux/sock_diag.h>
#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace udp {
namespace {

std::uint16_t port_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
                                       : ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

[[noreturn]] void fail(const std::string& where, const std::string& why) {
  throw std::runtime_error(where + ": " + why);
}

}  // namespace

bool SenderAddress::operator==(const SenderAddress& other) const {
  return family == other.family && std::memcmp(&address, &other.address, sizeof address) == 0;
}

SenderAddress sender_of(const sockaddr_storage& address) {
  SenderAddress sender;
  sender.family = address.ss_family;
  if (address.ss_family == AF_INET) {
    std::memcpy(&sender.address, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, sizeof(in_addr));
  } else if (address.ss_family == AF_INET6) {
    sender.address = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  }
  return sender;
}

std::vector<SenderAddress> parse_senders(std::string_view text) {
  std::vector<SenderAddress> senders;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string one(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    one.erase(0, one.find_first_not_of(' '));
    one.erase(one.find_last_not_of(' ') + 1);
    SenderAddress sender;
    sender.family = one.find(':') == std::string::npos ? AF_INET : AF_INET6;
    if (::inet_pton(sender.family, one.c_str(), &sender.address) != 1) {
      throw std::invalid_argument("parameter 'from': '" + one + "' is not an IP address");
    }
    senders.push_back(sender);
  }
  return senders;
}

Socket::Socket(const std::string& host, std::uint16_t port, int receive_buffer) {
  const std::string where = "udp " + host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (unknown != 0) fail(where, ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  socket_ = ::socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail(where, std::strerror(errno));
  if (receive_buffer > 0 &&
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer, sizeof receive_buffer) != 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  }
  const int on = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
  if (::bind(socket_, found->ai_addr, found->ai_addrlen) != 0) {
    const std::string why = std::strerror(errno);
    ::close(socket_);
    fail(where, "cannot listen: " + why + ". Readout i takes port + i: set source.parameters.port or host");
  }
  memory_.resize(kBatch * kDatagramMax);
  control_.resize(kBatch * kControlMax);
  headers_.resize(kBatch);
  pieces_.resize(kBatch);
  senders_.resize(kBatch);
  datagrams_.resize(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) pieces_[i] = {memory_.data() + i * kDatagramMax, kDatagramMax};
}

Socket::~Socket() { ::close(socket_); }

std::uint16_t Socket::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
  return port_of(address);
}

int Socket::receive_buffer() const {
  int granted = 0;
  socklen_t size = sizeof granted;
  ::getsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &granted, &size);
  return granted / 2;  // the kernel doubles the requested size, for its own bookkeeping
}

std::span<const Socket::Datagram> Socket::receive() {
  for (std::size_t i = 0; i < kBatch; ++i) {
    msghdr& header = headers_[i].msg_hdr;
    header = {};
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof senders_[i];
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = control_.data() + i * kControlMax;
    header.msg_controllen = kControlMax;
  }
  const int count = ::recvmmsg(socket_, headers_.data(), kBatch, 0, nullptr);
  if (count <= 0) return {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    msghdr& header = headers_[i].msg_hdr;
    datagrams_[i] = {{memory_.data() + i * kDatagramMax, headers_[i].msg_len},
                     sender_of(senders_[i]),
                     port_of(senders_[i]),
                     (header.msg_flags & MSG_TRUNC) != 0};
    for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
         control = CMSG_NXTHDR(&header, control)) {
      if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SO_RXQ_OVFL) continue;
      std::uint32_t drops = 0;
      std::memcpy(&drops, CMSG_DATA(control), sizeof drops);
      note_drops(drops);
    }
  }
  return {datagrams_.data(), static_cast<std::size_t>(count)};
}

void Socket::look_at_drops() {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_, SOL_SOCKET, SO_MEMINFO, info.data(), &size) == 0) {
    note_drops(info[SK_MEMINFO_DROPS]);
  }
}

// A datagram carries the counter's value at its arrival: a value older than the last is ignored.
void Socket::note_drops(std::uint32_t counter) {
  const auto step = static_cast<std::int32_t>(counter - drops_seen_);
  if (step <= 0) return;
  kernel_drops_ += static_cast<std::uint32_t>(step);
  drops_seen_ = counter;
}

}  // namespace udp
