#include <weir/base/owned_descriptor.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/transport/datagram_socket.hpp>

#include <netdb.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace weir::transport {
namespace {

std::uint16_t port_of(const sockaddr_storage& address) {
  const bool v6 = address.ss_family == AF_INET6;
  return ntohs(v6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                  : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

class DatagramSocket final : public ports::Datagrams {
 public:
  DatagramSocket(OwnedDescriptor socket, ports::Endpoint at)
      : socket_(std::move(socket)), at_(std::move(at)) {}

  bool watch(ports::Readiness& loop, std::function<void()> on_readable) {
    watch_ = loop.watch(socket_.get(), std::move(on_readable));
    return watch_ != nullptr;
  }
  ports::Endpoint endpoint() const override { return at_; }
  std::optional<std::size_t> receive(Bytes into, ports::DatagramPeer& from) override {
    static_assert(sizeof(sockaddr_in6) <= sizeof from.address);
    for (;;) {
      socklen_t length = sizeof from.address;
      const ssize_t size = ::recvfrom(socket_.get(), into.data(), into.size(), 0,
                                      reinterpret_cast<sockaddr*>(from.address.data()), &length);
      // An earlier answer found no reader: the error says nothing about waiting datagrams.
      if (size < 0 && (errno == EINTR || errno == ECONNREFUSED)) continue;
      if (size < 0) return std::nullopt;
      from.length = std::min<std::size_t>(length, sizeof from.address);
      return static_cast<std::size_t>(size);
    }
  }
  bool send(ConstBytes bytes, const ports::DatagramPeer& to) override {
    return ::sendto(socket_.get(), bytes.data(), bytes.size(), 0,
                    reinterpret_cast<const sockaddr*>(to.address.data()),
                    static_cast<socklen_t>(to.length)) == static_cast<ssize_t>(bytes.size());
  }
  void arm() override { watch_->arm(); }

 private:
  OwnedDescriptor socket_;
  ports::Endpoint at_;
  std::unique_ptr<ports::Watch> watch_;  // destroyed before its descriptor
};

Expected<std::unique_ptr<ports::Datagrams>, std::string> open(ports::Readiness& loop,
                                                              const ports::Endpoint& at,
                                                              std::function<void()> on_readable) {
  const auto failed = [&at](const std::string& why) {
    return Unexpected<std::string>(ports::to_text(at) + " (UDP): " + why);
  };
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const char* const host = at.host.empty() ? nullptr : at.host.c_str();
  if (const int error = ::getaddrinfo(host, std::to_string(at.port).c_str(), &wanted, &found); error != 0)
    return failed(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  OwnedDescriptor socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0)
    return failed(std::strerror(errno));
  constexpr int kBuffer = 4 << 20;  // the kernel may give less
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
    return failed(std::strerror(errno));
  auto made = std::make_unique<DatagramSocket>(std::move(socket), ports::Endpoint{at.host, port_of(bound)});
  if (!made->watch(loop, std::move(on_readable))) return failed("the event loop does not take the socket");
  return std::unique_ptr<ports::Datagrams>(std::move(made));
}

}  // namespace

ports::OpenDatagrams open_datagrams(ports::Readiness& loop) {
  return [&loop](const ports::Endpoint& at, std::function<void()> on_readable) {
    return open(loop, at, std::move(on_readable));
  };
}

}  // namespace weir::transport
