#include "datagram_sender.hpp"

#include <weir/base/assert.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace weir::emit {
namespace {

constexpr int kSendBuffer = 1 << 20;

[[noreturn]] void fail(const ports::Endpoint& at, const std::string& why) {
  throw std::runtime_error(ports::to_text(at) + ": " + why);
}

}  // namespace

DatagramSender::DatagramSender(std::span<const ports::Endpoint> targets) {
  int family = AF_UNSPEC;
  for (const ports::Endpoint& target : targets) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int unknown =
        ::getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &found);
    if (unknown != 0) fail(target, ::gai_strerror(unknown));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
    family = found->ai_family;
    Address& address = addresses_.emplace_back();
    std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
  }
  socket_ = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
}

DatagramSender::~DatagramSender() { ::close(socket_); }

std::size_t DatagramSender::send(std::span<const OutgoingPacket> packets) {
  headers_.clear();
  which_.clear();
  pieces_.resize(2 * packets.size());
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const OutgoingPacket& packet = packets[i];
    if (packet.withheld) continue;
    pieces_[2 * i] = {const_cast<std::byte*>(packet.header().data()), packet.header().size()};
    pieces_[2 * i + 1] = {const_cast<std::byte*>(packet.payload.data()), packet.payload.size()};
    WEIR_ASSERT(packet.target < addresses_.size());
    Address& address = addresses_[packet.target];
    mmsghdr& header = headers_.emplace_back();
    header.msg_hdr.msg_name = &address.bytes;
    header.msg_hdr.msg_namelen = address.size;
    header.msg_hdr.msg_iov = &pieces_[2 * i];
    header.msg_hdr.msg_iovlen = 2;
    which_.push_back(i);
  }
  if (headers_.empty()) return packets.size();
  const int sent = ::sendmmsg(socket_, headers_.data(), static_cast<unsigned>(headers_.size()), 0);
  if (sent == static_cast<int>(headers_.size())) return packets.size();
  const bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR;
  if (sent < 0 && !full) throw std::runtime_error(std::string("cannot send: ") + std::strerror(errno));
  ++held_up_;
  return which_[sent < 0 ? 0 : static_cast<std::size_t>(sent)];
}

}  // namespace weir::emit
