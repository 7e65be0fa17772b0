#include "message_socket.hpp"

#include <weir/clock/clock.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace weir::probe {
namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  throw PeerError(std::string(what) + std::strerror(errno));
}

bool may_try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

MessageSocket::MessageSocket(OwnedDescriptor socket, DurationNs patience_ns) : socket_(std::move(socket)) {
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  restart_deadline(patience_ns);
}

void MessageSocket::restart_deadline(DurationNs patience_ns) {
  deadline_ns_ = monotonic_now_ns() + patience_ns;
}

void MessageSocket::wait_for(short events) const {
  for (;;) {
    const DurationNs left = deadline_ns_ - monotonic_now_ns();
    if (left <= 0) throw PeerError("did not answer in time");
    pollfd poll{socket_.get(), events, 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(left / kMillisecond) + 1);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail_with_errno("cannot wait: ");
  }
}

void MessageSocket::send_bytes(ConstBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !may_try_again()) fail_with_errno("cannot be sent to: ");
    if (sent < 0) {
      wait_for(POLLOUT);
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }
}

void MessageSocket::receive_bytes(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) throw PeerError("closed the connection");
    if (got < 0 && !may_try_again()) fail_with_errno("cannot be received from: ");
    if (got < 0) {
      wait_for(POLLIN);
    } else {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }
}

void MessageSocket::receive_plainly(Bytes bytes) {
  const DurationNs left = std::max<DurationNs>(deadline_ns_ - monotonic_now_ns(), kMillisecond);
  const timeval patience{left / kSecond, static_cast<suseconds_t>(left % kSecond / kMicrosecond)};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_WAITALL);
    if (got == 0) throw PeerError("closed the connection");
    if (got < 0 && errno != EINTR) fail_with_errno("cannot be received from: ");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

MessageSocket::Received MessageSocket::receive() {
  std::array<std::byte, kHeaderBytes> header{};
  receive_bytes(header);
  const auto decoded = decode_header(header);
  if (!decoded) throw PeerError("broke the protocol: it is no `weir probe` of this version");
  Received received{decoded->type, std::vector<std::byte>(decoded->body_bytes)};
  receive_bytes(received.body);
  return received;
}

void MessageSocket::check_type(const Received& received, MessageType wanted) {
  if (received.type == wanted) return;
  if (received.type == MessageType::refused)
    throw PeerError("refused: " + MessageSocket::decoded<Refused>(received.body).why);
  throw PeerError("broke the protocol: an unexpected message");
}

}  // namespace weir::probe
