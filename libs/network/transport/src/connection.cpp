#include "connection.hpp"

#include "loop_core.hpp"
#include <weir/base/assert.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace weir::transport {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// After this many receives it is the next connection's turn.
constexpr int kReceivesPerTurn = 8;
constexpr std::size_t kSendListMax = 1024;  // IOV_MAX on Linux

// The kernel may assign a port without a listener to the connecting socket itself, and TCP then connects the
// socket to itself.
bool connected_to_itself(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint local = socket.local_endpoint(error);
  return !error && local == socket.remote_endpoint(error) && !error;
}

std::string text_of(const tcp::endpoint& endpoint) {
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

}  // namespace

Connection::Connection(Loop::Core& core, tcp::socket socket) : core_(&core), socket_(std::move(socket)) {
  core_->remember(this);
}

Connection::~Connection() {
  if (core_ != nullptr) core_->forget(this, counters_);
}

void Connection::connect(const ports::Endpoint& to, ports::StreamHandler& handler) {
  WEIR_ASSERT(handler_ == nullptr && !open_ && !ended_);
  handler_ = &handler;
  peer_ = ports::to_text(to);
  auto endpoints = std::make_shared<std::vector<tcp::endpoint>>();
  error_code bad_address;
  const auto address = boost::asio::ip::make_address(to.host, bad_address);
  if (!bad_address) {
    endpoints->emplace_back(address, to.port);
    try_next(std::move(endpoints), 0);
    return;
  }
  auto resolver = std::make_shared<tcp::resolver>(core_->io);
  resolver->async_resolve(to.host, std::to_string(to.port),
                          [self = shared_from_this(), resolver, endpoints](
                              error_code error, const tcp::resolver::results_type& found) {
                            if (error || self->ended_) return self->end(ports::CloseReason::refused);
                            for (const auto& entry : found) endpoints->push_back(entry.endpoint());
                            self->try_next(endpoints, 0);
                          });
}

void Connection::try_next(std::shared_ptr<std::vector<tcp::endpoint>> endpoints, std::size_t index) {
  error_code error;
  socket_->close(error);
  if (index >= endpoints->size()) {
    boost::asio::post(core_->io, [self = shared_from_this()] { self->end(ports::CloseReason::refused); });
    return;
  }
  const tcp::endpoint to = (*endpoints)[index];
  socket_->open(to.protocol(), error);
  if (!error) core_->set_options(socket_->native_handle());
  socket_->async_connect(to, [self = shared_from_this(), endpoints, index](error_code failed) {
    if (self->ended_) return;
    if (failed || connected_to_itself(*self->socket_)) {
      if (index + 1 < endpoints->size()) return self->try_next(endpoints, index + 1);
      return self->end(ports::CloseReason::refused);
    }
    self->open_now(true);
  });
}

void Connection::accepted(ports::StreamHandler& handler) {
  handler_ = &handler;
  error_code error;
  const tcp::endpoint remote = socket_->remote_endpoint(error);
  if (!error) peer_ = text_of(remote);
  open_now(false);
}

void Connection::open_now(bool connecting) {
  connecting_ = connecting;
  error_code error;
  socket_->native_non_blocking(true, error);
  if (!core_->tls) return established();
  tls_ = core_->tls->open(socket_->native_handle(), connecting);
  shake_hands();
}

void Connection::shake_hands() {
  const TlsSession::Step step = tls_ ? tls_->handshake() : TlsSession::Step::failed;
  if (step == TlsSession::Step::done) return established();
  if (step == TlsSession::Step::failed) return end(ports::CloseReason::not_trusted);
  const auto what = step == TlsSession::Step::wants_read ? tcp::socket::wait_read : tcp::socket::wait_write;
  ++counters_.wait_calls;
  socket_->async_wait(what, [self = shared_from_this()](error_code error) {
    if (self->ended_ || self->handler_ == nullptr) return;
    if (error) return self->end(ports::CloseReason::reset);
    self->shake_hands();
  });
}

void Connection::established() {
  WEIR_ASSERT(!open_ && !ended_ && handler_ != nullptr);
  open_ = true;
  wait_readable();
  if (!outbox_.empty()) outbox_for_append();
  if (connecting_) handler_->on_connected();
}

void Connection::wait_readable() {
  if (reading_ || paused_ || !open_) return;
  reading_ = true;
  const auto readable = [self = shared_from_this()](error_code error) {
    self->reading_ = false;
    if (self->ended_ || self->handler_ == nullptr) return;
    if (error) return self->end(ports::CloseReason::reset);
    self->on_readable();
  };
  // Bytes that TLS has already taken out of the socket no longer make it readable.
  if (tls_ && tls_->may_have_more()) return boost::asio::post(core_->io, [readable] { readable({}); });
  ++counters_.wait_calls;
  socket_->async_wait(tcp::socket::wait_read, readable);
}

void Connection::on_readable() {
  for (int i = 0; i < kReceivesPerTurn && !paused_; ++i) {
    switch (receive_once()) {
      case ReceiveResult::more:
        break;
      case ReceiveResult::drained:
        return wait_readable();
      case ReceiveResult::ended:
        return;
    }
  }
  wait_readable();
}

Connection::ReceiveResult Connection::receive_once() {
  const ports::ReceiveSpace space = handler_->receive_space();
  std::array<iovec, 2> list{};
  std::size_t count = 0;
  std::size_t room = 0;
  for (const Bytes part : space) {
    if (part.empty()) continue;
    list[count++] = {part.data(), part.size()};
    room += part.size();
  }
  WEIR_ASSERT(room > 0);
  const ssize_t n = receive(list.data(), count);
  ++counters_.receive_calls;
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return ReceiveResult::drained;
    end(ports::CloseReason::reset);
    return ReceiveResult::ended;
  }
  if (n == 0) {
    end(ports::CloseReason::peer_closed);
    return ReceiveResult::ended;
  }
  WEIR_ASSERT(static_cast<std::size_t>(n) <= room);
  counters_.bytes_received += static_cast<std::uint64_t>(n);
  core_->received_in_pass += static_cast<std::size_t>(n);
  if (!handler_->on_received(static_cast<std::size_t>(n))) {
    end(ports::CloseReason::protocol_error);
    return ReceiveResult::ended;
  }
  if (ended_) return ReceiveResult::ended;
  return static_cast<std::size_t>(n) < room ? ReceiveResult::drained : ReceiveResult::more;
}

// With TLS the kernel's timestamps are not available, because a record may span several receives.
ssize_t Connection::receive(iovec* list, std::size_t count) {
  if (tls_) return tls_->read({list, count});
  const int socket = socket_->native_handle();
  if (!notes_arrivals_) return ::readv(socket, list, static_cast<int>(count));
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(timespec))> notes;
  msghdr message{};
  message.msg_iov = list;
  message.msg_iovlen = count;
  message.msg_control = notes.data();
  message.msg_controllen = notes.size();
  arrived_utc_ns_ = 0;
  const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT);
  const cmsghdr* note = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (note == nullptr || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS) return n;
  timespec at{};
  std::memcpy(&at, CMSG_DATA(note), sizeof at);
  arrived_utc_ns_ = at.tv_sec * kSecond + at.tv_nsec;
  return n;
}

void Connection::note_arrivals() {
  const int on = 1;
  notes_arrivals_ = !tls_ && open_ && !ended_ &&
                    ::setsockopt(socket_->native_handle(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

std::uint64_t Connection::retransmitted() const { return open_ && !ended_ ? retransmits_now() : 0; }

Outbox& Connection::outbox_for_append() {
  if (ended_) {
    outbox_.clear();  // will not be sent
  } else if (!dirty_) {
    dirty_ = true;
    core_->dirty.push_back(shared_from_this());
  }
  return outbox_;
}

void Connection::flush() {
  dirty_ = false;
  if (!open_ || writing_ || ended_) return;
  std::array<iovec, kSendListMax> list;  // gather() fills as many entries as it returns
  while (!outbox_.empty() || (tls_ && tls_->owed_bytes() > 0)) {
    msghdr message{};
    message.msg_iov = list.data();
    message.msg_iovlen = outbox_.gather(list);
    std::size_t offered = 0;
    for (std::size_t i = 0; i < message.msg_iovlen; ++i) offered += list[i].iov_len;
    const ssize_t n = tls_ ? tls_->write({list.data(), message.msg_iovlen})
                           : ::sendmsg(socket_->native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    ++counters_.send_calls;
    if (n < 0) {
      if (errno == EAGAIN) return wait_writable();
      if (errno == EINTR) continue;
      if (errno == EFAULT) {
        // A new connection would end likewise. Posted, because close() flushes and is called by destructors.
        boost::asio::post(core_->io, [] {
          throw std::runtime_error("memory to be sent cannot be read: its file was truncated while in use");
        });
        return;
      }
      // Posted, because the handler must not be called from within its own call.
      boost::asio::post(core_->io, [self = shared_from_this()] { self->send_failed(); });
      return;
    }
    WEIR_ASSERT(tls_ || static_cast<std::size_t>(n) <= offered);
    counters_.bytes_sent += static_cast<std::uint64_t>(n);
    outbox_.consume(static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) < offered) return wait_writable();
  }
  if (handler_ != nullptr) handler_->on_drained();
}

// The peer may have sent a reason before it closed, so received data are read first.
void Connection::send_failed() {
  for (int i = 0; i < kReceivesPerTurn && !ended_ && !paused_; ++i) {
    if (receive_once() != ReceiveResult::more) break;
  }
  end(ports::CloseReason::reset);
}

void Connection::wait_writable() {
  WEIR_ASSERT(!writing_ && open_);
  writing_ = true;
  ++counters_.wait_calls;
  socket_->async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code error) {
    self->writing_ = false;
    if (self->ended_) return;
    if (error) return self->end(ports::CloseReason::reset);
    self->flush();
  });
}

void Connection::pause_receiving(bool paused) {
  paused_ = paused;
  if (!paused && !ended_) wait_readable();
}

void Connection::end(ports::CloseReason reason) {
  if (ended_) return;
  shut();
  ports::StreamHandler* handler = std::exchange(handler_, nullptr);
  if (handler != nullptr) handler->on_closed(reason);
}

void Connection::close() {
  if (ended_) return;
  if (open_ && !outbox_.empty() && !writing_) {  // remaining data, as much as the kernel takes
    handler_ = nullptr;
    flush();
  }
  handler_ = nullptr;
  shut();
}

void Connection::detach_from_core() {
  handler_ = nullptr;
  if (!ended_) shut();
  socket_.reset();
  core_ = nullptr;
}

void Connection::shut() {
  ended_ = true;
  if (open_) counters_.retransmits = retransmits_now();
  if (open_ && tls_) tls_->say_end();
  open_ = false;
  error_code error;
  socket_->shutdown(tcp::socket::shutdown_both, error);
  socket_->close(error);
  outbox_.clear();
}

std::uint64_t Connection::retransmits_now() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  auto& socket = const_cast<tcp::socket&>(*socket_);
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return counters_.retransmits;
  return info.tcpi_total_retrans;
}

ports::StreamCounters Connection::counters() const {
  ports::StreamCounters now = counters_;
  if (open_) now.retransmits = retransmits_now();
  return now;
}

}  // namespace weir::transport
