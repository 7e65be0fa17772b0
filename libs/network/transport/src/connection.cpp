#include "connection.hpp"

#include "endpoints.hpp"
#include "loop_core.hpp"
#include <weir/base/assert.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace weir::transport {
namespace {

// After this many receives it is the next connection's turn.
constexpr int kReceivesPerTurn = 8;
constexpr std::size_t kSendListMax = 1024;  // IOV_MAX on Linux
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

// The kernel may assign a port without a listener to the connecting socket itself, and TCP then connects the
// socket to itself.
bool connected_to_itself(int socket) {
  const auto local = local_endpoint(socket);
  return local && local == remote_endpoint(socket);
}

// Returns false if the address is not one of this host.
bool bind_source(int socket, const std::vector<SourceAddress>& sources, const TcpEndpoint& to) {
  if (!to.address().is_v4()) return true;
  const auto source = std::find_if(sources.begin(), sources.end(), [&](const SourceAddress& one) {
    return one.is_for(to.address().to_v4().to_uint());
  });
  if (source == sources.end()) return true;
  // The port is chosen once the peer is known, so that connections to several peers may share one.
  const int on = 1;
  (void)::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  const TcpEndpoint from(boost::asio::ip::address_v4(source->address), 0);
  return ::bind(socket, from.data(), static_cast<socklen_t>(from.size())) == 0;
}

// Returns 0 if the connection was made.
int connect_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::string text_of(const TcpEndpoint& endpoint) {
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

}  // namespace

Connection::Connection(Loop::Core& core, OwnedDescriptor socket) : core_(&core), socket_(std::move(socket)) {
  core_->remember(this);
}

Connection::~Connection() {
  if (core_ != nullptr) core_->forget(this, counters_);
}

void Connection::connect(const ports::Endpoint& to, ports::StreamHandler& handler) {
  WEIR_ASSERT(handler_ == nullptr && !open_ && !ended_);
  handler_ = &handler;
  connecting_ = true;
  peer_ = ports::to_text(to);
  boost::system::error_code bad_address;
  const auto address = boost::asio::ip::make_address(to.host, bad_address);
  if (!bad_address) {
    candidates_ = {TcpEndpoint(address, to.port)};
    return try_next();
  }
  core_->names.ask(to, [core = core_, weak = weak_from_this()](const TcpEndpoints& found) {
    core->post([weak, found] {
      const auto self = weak.lock();
      if (!self || self->ended_) return;
      self->candidates_ = found;
      self->try_next();
    });
  });
}

void Connection::try_next() {
  while (next_candidate_ < candidates_.size()) {
    const TcpEndpoint& to = candidates_[next_candidate_++];
    wait_.reset();
    readable_ = ends_ = false;
    socket_ = OwnedDescriptor(
        ::socket(to.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (!socket_.is_open()) continue;
    core_->set_options(socket_.get());
    if (!bind_source(socket_.get(), core_->policy.sources, to)) continue;
    const int connected = ::connect(socket_.get(), to.data(), static_cast<socklen_t>(to.size()));
    if (connected != 0 && errno != EINPROGRESS) continue;
    ++counters_.wait_calls;
    wait_ = core_->reactor.add(socket_.get(), kEvents, *this);
    if (wait_.is_active()) return;
  }
  core_->post([self = shared_from_this()] { self->end(ports::CloseReason::refused); });
}

void Connection::connection_made() {
  if (connect_error(socket_.get()) != 0 || connected_to_itself(socket_.get())) return try_next();
  open_now();
}

void Connection::accepted(ports::StreamHandler& handler) {
  handler_ = &handler;
  if (const auto remote = remote_endpoint(socket_.get())) peer_ = text_of(*remote);
  ++counters_.wait_calls;
  wait_ = core_->reactor.add(socket_.get(), kEvents, *this);
  if (wait_.is_active()) return open_now();
  core_->post([self = shared_from_this()] { self->end(ports::CloseReason::reset); });
}

void Connection::open_now() {
  if (!core_->tls) return established();
  tls_ = core_->tls->open(socket_.get(), connecting_);
  shake_hands();
}

void Connection::on_events(std::uint32_t events) {
  const auto self = shared_from_this();  // the handler may destroy the stream
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) ends_ = true;
  if ((events & EPOLLIN) != 0 || ends_) readable_ = true;
  if (!open_ && tls_) return shake_hands();
  const bool writable = (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
  if (!open_) return writable ? connection_made() : void();
  if (writing_ && writable) {
    writing_ = false;
    flush();
  }
  queue_turn();
}

void Connection::shake_hands() {
  const TlsSession::Step step = tls_ ? tls_->handshake() : TlsSession::Step::failed;
  if (step == TlsSession::Step::failed) return end(ports::CloseReason::not_trusted);
  if (step != TlsSession::Step::done) return;  // an event continues it
  readable_ = true;
  established();
}

void Connection::established() {
  WEIR_ASSERT(!open_ && !ended_ && handler_ != nullptr);
  open_ = true;
  queue_turn();
  if (!outbox_.empty()) outbox_for_append();
  if (connecting_) handler_->on_connected();
}

void Connection::queue_turn() {
  if (queued_ || !readable_ || paused_ || !open_) return;
  queued_ = true;
  core_->readable.push_back(shared_from_this());
}

void Connection::take_turn() {
  queued_ = false;
  for (int i = 0; i < kReceivesPerTurn && readable_ && !paused_ && open_; ++i) receive_once();
  queue_turn();
}

void Connection::receive_once() {
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
    if (errno == EINTR) return;
    readable_ = false;
    return errno == EAGAIN ? void() : end(ports::CloseReason::reset);
  }
  if (n == 0) return end(ports::CloseReason::peer_closed);
  WEIR_ASSERT(static_cast<std::size_t>(n) <= room);
  counters_.bytes_received += static_cast<std::uint64_t>(n);
  core_->received_in_pass += static_cast<std::size_t>(n);
  // A socket that had fewer bytes than there was room is empty, and its next event announces more. Bytes that
  // TLS has taken out of it, or the end behind the bytes, are not announced.
  if (static_cast<std::size_t>(n) < room) readable_ = ends_ || (tls_ && tls_->may_have_more());
  if (!handler_->on_received(static_cast<std::size_t>(n))) end(ports::CloseReason::protocol_error);
}

// With TLS the kernel's timestamps are not available, because a record may span several receives.
ssize_t Connection::receive(iovec* list, std::size_t count) {
  if (tls_) return tls_->read({list, count});
  const int socket = socket_.get();
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
                    ::setsockopt(socket_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
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
  std::size_t list_max = list.size();
  while (!outbox_.empty() || (tls_ && tls_->owed_bytes() > 0)) {
    msghdr message{};
    message.msg_iov = list.data();
    message.msg_iovlen = outbox_.gather(std::span(list).first(list_max));
    std::size_t offered = 0;
    for (std::size_t i = 0; i < message.msg_iovlen; ++i) offered += list[i].iov_len;
    const ssize_t n = tls_ ? tls_->write({list.data(), message.msg_iovlen})
                           : ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    ++counters_.send_calls;
    if (n < 0) {
      if (errno == EAGAIN) {
        writing_ = true;
        return;
      }
      if (errno == EINTR) continue;
      if (errno == EFAULT) {
        // A new connection would end likewise. Posted, because close() flushes and is called by destructors.
        core_->post([] {
          throw std::runtime_error("memory to be sent cannot be read: its file was truncated while in use");
        });
        return;
      }
      // Posted, because the handler must not be called from within its own call.
      core_->post([self = shared_from_this()] { self->send_failed(); });
      return;
    }
    WEIR_ASSERT(tls_ || static_cast<std::size_t>(n) <= offered);
    counters_.bytes_sent += static_cast<std::uint64_t>(n);
    outbox_.consume(static_cast<std::size_t>(n));
    // The socket is probably full. Only EAGAIN makes the kernel announce room; a cheap call asks for it.
    list_max = static_cast<std::size_t>(n) < offered ? 1 : list.size();
  }
  if (handler_ != nullptr) handler_->on_drained();
}

// The peer may have sent a reason before it closed, so received data are read first.
void Connection::send_failed() {
  readable_ = true;
  for (int i = 0; i < kReceivesPerTurn && readable_ && !ended_ && !paused_; ++i) receive_once();
  end(ports::CloseReason::reset);
}

void Connection::pause_receiving(bool paused) {
  paused_ = paused;
  if (!paused) queue_turn();
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
  core_ = nullptr;
}

void Connection::shut() {
  ended_ = true;
  if (open_) counters_.retransmits = retransmits_now();
  if (open_ && tls_) tls_->say_end();
  open_ = false;
  readable_ = false;
  wait_.reset();
  if (socket_.is_open()) ::shutdown(socket_.get(), SHUT_RDWR);
  socket_.reset();
  outbox_.clear();
}

std::uint64_t Connection::retransmits_now() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return counters_.retransmits;
  return info.tcpi_total_retrans;
}

bool Connection::selective_acks() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return (info.tcpi_options & TCPI_OPT_SACK) != 0;
}

ports::StreamCounters Connection::counters() const {
  ports::StreamCounters now = counters_;
  if (open_) now.retransmits = retransmits_now();
  return now;
}

}  // namespace weir::transport
