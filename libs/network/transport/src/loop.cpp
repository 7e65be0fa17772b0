#include "connection.hpp"
#include "endpoints.hpp"
#include "loop_core.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/transport/loop.hpp>
#include <weir/transport/signals.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <system_error>

namespace weir::transport {
namespace {

// A pass ends after this many turns of connections or received bytes, so that their results do not wait for
// all arriving data.
constexpr std::size_t kTurnsPerPass = 256;
constexpr std::size_t kBytesPerPass = 8U << 20;
constexpr int kKeepAliveIdleS = 10;
constexpr int kKeepAliveIntervalS = 5;
constexpr int kUserTimeoutMs = 30'000;  // without an acknowledgement from the other host's kernel
constexpr int kAcceptsPerEvent = 64;
constexpr DurationNs kRetry = 100 * kMillisecond;

// Without this, a child process of a plugin or of writer.on_close would keep a connection open after this
// process has died.
bool close_at_exec(int fd) { return ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

class TcpStream final : public ports::Stream {
 public:
  explicit TcpStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~TcpStream() override { connection_->close(); }
  Bytes reserve(std::size_t size) override { return connection_->outbox_for_append().reserve(size); }
  void append(ConstBytes bytes) override { connection_->outbox_for_append().append(bytes); }
  void append_reference(ConstBytes bytes, std::shared_ptr<const void> owner) override {
    connection_->outbox_for_append().append_reference(bytes, std::move(owner));
  }
  std::size_t unsent_bytes() const override { return connection_->unsent_bytes(); }
  void pause_receiving(bool paused) override { connection_->pause_receiving(paused); }
  void close() override { connection_->close(); }
  void note_arrivals() override { connection_->note_arrivals(); }
  UtcNs arrived_utc_ns() const override { return connection_->arrived_utc_ns(); }
  std::uint64_t retransmitted() const override { return connection_->retransmitted(); }
  bool selective_acks() const override { return connection_->selective_acks(); }
  ports::StreamCounters counters() const override { return connection_->counters(); }
  std::uint64_t bytes_received() const override { return connection_->bytes_received(); }
  std::string peer() const override { return connection_->peer(); }

 private:
  std::shared_ptr<Connection> connection_;
};

// A listening socket. The acceptor may destroy the Listener from within a call; close() then disables this
// object.
class Accepting final : public std::enable_shared_from_this<Accepting>, private Reactor::Client {
 public:
  Accepting(Loop::Core& core, ports::Acceptor& acceptor) : core_(core), acceptor_(acceptor) {}

  // Returns why it failed; empty: it listens.
  std::string open(const TcpEndpoint& at) {
    socket_ = OwnedDescriptor(
        ::socket(at.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    const int on = 1;
    if (!socket_.is_open() || ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
      return std::strerror(errno);
    // Accepted sockets inherit these options. Setting the congestion control on them later has no effect: a
    // socket that began with BBR stays paced under any other algorithm.
    core_.set_options(socket_.get());
    if (::bind(socket_.get(), at.data(), static_cast<socklen_t>(at.size())) != 0 ||
        ::listen(socket_.get(), SOMAXCONN) != 0)
      return std::strerror(errno);
    // Level-triggered: connections beyond kAcceptsPerEvent are another event.
    wait_ = core_.reactor.add(socket_.get(), EPOLLIN, *this);
    return wait_.is_active() ? std::string() : std::strerror(errno);
  }
  void close() {
    wait_.reset();
    socket_.reset();
  }
  std::uint16_t port() const { return local_endpoint(socket_.get()).value_or(TcpEndpoint()).port(); }

 private:
  void on_events(std::uint32_t) override {
    const auto self = shared_from_this();
    for (int i = 0; i < kAcceptsPerEvent && socket_.is_open(); ++i) {
      OwnedDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket.is_open() && (errno == ECONNABORTED || errno == EINTR)) continue;
      if (!socket.is_open()) return errno == EAGAIN ? void() : resume_later();
      auto connection = std::make_shared<Connection>(core_, std::move(socket));
      ports::StreamHandler* handler = acceptor_.on_accept(std::make_unique<TcpStream>(connection));
      if (handler != nullptr) connection->accepted(*handler);
    }
  }
  void resume_later() {
    ++core_.counters.accept_failures;
    (void)wait_.change(0);
    core_.post_later([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && self->wait_.is_active()) (void)self->wait_.change(EPOLLIN);
    });
  }

  Loop::Core& core_;
  ports::Acceptor& acceptor_;
  OwnedDescriptor socket_;
  Reactor::Registration wait_;
};

class TcpListener final : public ports::Listener {
 public:
  TcpListener(std::shared_ptr<Accepting> accepting, std::string host)
      : accepting_(std::move(accepting)), host_(std::move(host)) {}
  ~TcpListener() override { accepting_->close(); }
  ports::Endpoint endpoint() const override { return {host_, accepting_->port()}; }

 private:
  std::shared_ptr<Accepting> accepting_;
  std::string host_;
};

}  // namespace

ports::StreamCounters& operator+=(ports::StreamCounters& left, const ports::StreamCounters& right) {
  left.bytes_received += right.bytes_received;
  left.bytes_sent += right.bytes_sent;
  left.receive_calls += right.receive_calls;
  left.send_calls += right.send_calls;
  left.wait_calls += right.wait_calls;
  left.retransmits += right.retransmits;
  return left;
}

void Loop::Core::set_options(int fd) {
  if (!close_at_exec(fd)) ++counters.option_failures;
  const int no_delay = policy.no_delay ? 1 : 0;
  const auto set = [&](int level, int option, const void* value, socklen_t size) {
    if (::setsockopt(fd, level, option, value, size) != 0) ++counters.option_failures;
  };
  set(IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
  // Without keep-alive a vanished host would not end a connection.
  const int on = 1;
  set(SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  set(IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdleS, sizeof kKeepAliveIdleS);
  set(IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveIntervalS, sizeof kKeepAliveIntervalS);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
  if (!policy.congestion_control.empty()) {
    set(IPPROTO_TCP, TCP_CONGESTION, policy.congestion_control.data(),
        static_cast<socklen_t>(policy.congestion_control.size()));
  }
  if (policy.send_buffer_bytes > 0) {
    set(SOL_SOCKET, SO_SNDBUF, &policy.send_buffer_bytes, sizeof policy.send_buffer_bytes);
  }
  if (policy.receive_buffer_bytes > 0) {
    set(SOL_SOCKET, SO_RCVBUF, &policy.receive_buffer_bytes, sizeof policy.receive_buffer_bytes);
  }
}

void Loop::Core::flush_dirty() {
  // A flush may mark another stream dirty (on_drained), which is flushed in the next pass.
  std::vector<std::shared_ptr<Connection>> now;
  now.swap(dirty);
  for (const auto& connection : now) connection->flush();
  now.clear();
  if (dirty.empty()) dirty.swap(now);  // keeps the memory
}

void Loop::Core::forget(Connection* connection, const ports::StreamCounters& last) {
  WEIR_ASSERT(live.contains(connection));
  live.erase(connection);
  closed_totals += last;
}

Loop::Core::Core(SocketPolicy socket_policy)
    : policy(std::move(socket_policy)),
      tls(policy.tls_keys.empty() ? nullptr : std::make_unique<TlsContext>(policy.tls_keys)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  // Setting the timer clears its event, so it is never read.
  if (timer_.is_open()) alarm_ = reactor.add(timer_.get(), EPOLLIN | EPOLLET, on_alarm_);
  if (!alarm_.is_active()) throw std::system_error(errno, std::generic_category(), "cannot make a timer");
}

void Loop::Core::take_in(DurationNs wait_ns) {
  if (!dirty.empty() || !readable.empty()) wait_ns = 0;
  if (!later_.empty()) wait_ns = std::min(wait_ns, kRetry);
  received_in_pass = 0;
  run_tasks();
  reactor.wait(wait_ns);
  ++looks;
  run_tasks();
  // Only turns that are due now: a connection that has more data waits until the others had theirs.
  for (std::size_t turns = std::min(readable.size(), kTurnsPerPass);
       turns > 0 && received_in_pass < kBytesPerPass; --turns) {
    const std::shared_ptr<Connection> connection = std::move(readable.front());
    readable.pop_front();
    connection->take_turn();
  }
}

void Loop::Core::post(std::function<void()> task) {
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks_.push_back(std::move(task));
    has_tasks_.store(true, std::memory_order_release);
  }
  reactor.wake();
}

void Loop::Core::post_later(std::function<void()> task) {
  if (later_.empty()) later_ns_ = awake_now_ns() + kRetry;
  later_.push_back(std::move(task));
}

void Loop::Core::run_tasks() {
  Tasks due;
  if (has_tasks_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(tasks_mutex_);
    due.swap(tasks_);
    has_tasks_.store(false, std::memory_order_relaxed);
  }
  for (const auto& task : due) task();
  if (later_.empty() || awake_now_ns() < later_ns_) return;
  due.clear();
  due.swap(later_);
  for (const auto& task : due) task();
}

void Loop::Core::set_alarm(TimeNs at_ns) {
  if (at_ns <= 0 || at_ns == std::numeric_limits<TimeNs>::max()) at_ns = 0;
  if (alarm_ns_ == at_ns) return;
  alarm_ns_ = at_ns;
  itimerspec at{};  // all zero: none
  if (at_ns != 0) {
    const TimeNs at_monotonic_ns = std::max<TimeNs>(at_ns + left_out_ns(), 1);
    at.it_value.tv_sec = at_monotonic_ns / kSecond;
    at.it_value.tv_nsec = at_monotonic_ns % kSecond;
  }
  const int set = ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  WEIR_ASSERT(set == 0);
}

void Loop::Core::receive_signals(std::initializer_list<int> signals, std::function<void(int)> handler) {
  WEIR_ASSERT(!signals_);
  signals_ = std::make_unique<SignalInbox>(signals);
  on_signal_ = std::make_unique<Callback>([this, handler = std::move(handler)] {
    while (const std::optional<int> signal = signals_->take()) handler(*signal);
  });
  signal_wait_ = reactor.add(signals_->descriptor(), EPOLLIN, *on_signal_);
  WEIR_ASSERT(signal_wait_.is_active());
}

Loop::Loop(SocketPolicy policy) : core_(std::make_unique<Core>(std::move(policy))) {}

Loop::~Loop() {
  core_->dirty.clear();
  core_->readable.clear();
  while (!core_->live.empty()) {  // a connection may hold the last reference to another one
    const auto connection = (*core_->live.begin())->shared_from_this();
    core_->live.erase(core_->live.begin());
    connection->detach_from_core();
  }
}

void Loop::run_once(const std::function<void(TimeNs)>& pass, DurationNs wait_ns) {
  core_->take_in(wait_ns);
  core_->reactor.clear_wake();
  ++core_->counters.passes;
  pass(now_ns());
  core_->flush_dirty();
}

void Loop::run(const std::function<void(TimeNs)>& pass, DurationNs idle_wait_ns) {
  while (!core_->stopped.load(std::memory_order_relaxed)) run_once(pass, idle_wait_ns);
}

void Loop::stop() {
  core_->stopped.store(true, std::memory_order_relaxed);
  wake();
}

void Loop::wake() { core_->reactor.wake(); }

void Loop::wake_at(TimeNs at_ns) { core_->set_alarm(at_ns); }

void Loop::on_signals(std::initializer_list<int> signals, std::function<void(int)> handler) {
  core_->receive_signals(signals, std::move(handler));
}

Expected<std::unique_ptr<ports::Listener>, std::string> Loop::listen(const ports::Endpoint& at,
                                                                     ports::Acceptor& acceptor) {
  const std::string where = ports::to_text(at);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(at.host, error);
  const TcpEndpoints found = error ? look_up(at, true) : TcpEndpoints{{address, at.port}};
  if (found.empty()) return Unexpected<std::string>(where + ": no such host");
  auto accepting = std::make_shared<Accepting>(*core_, acceptor);
  if (const std::string why = accepting->open(found.front()); !why.empty()) {
    return Unexpected<std::string>(where + ": cannot listen: " + why);
  }
  return std::make_unique<TcpListener>(std::move(accepting), at.host);
}

std::unique_ptr<ports::Stream> Loop::connect(const ports::Endpoint& to, ports::StreamHandler& handler) {
  auto connection = std::make_shared<Connection>(*core_);
  connection->connect(to, handler);
  return std::make_unique<TcpStream>(std::move(connection));
}

TimeNs Loop::now_ns() const { return awake_now_ns(); }
UtcNs Loop::utc_ns() const { return utc_now_ns(); }

ports::StreamCounters Loop::stream_totals() const {
  ports::StreamCounters totals = core_->closed_totals;
  totals.wait_calls += core_->looks;
  for (const Connection* connection : core_->live) totals += connection->counters();
  return totals;
}

std::size_t Loop::unsent_bytes() const {
  std::size_t bytes = 0;
  for (const Connection* connection : core_->live) bytes += connection->unsent_bytes();
  return bytes;
}

LoopCounters Loop::counters() const { return core_->counters; }

}  // namespace weir::transport
