#include "connection.hpp"
#include "loop_core.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/transport/loop.hpp>
#include <weir/transport/signals.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <fcntl.h>
#include <limits>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace weir::transport {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// A pass ends after this many handlers or received bytes, so that their results do not wait for all arriving
// data.
constexpr int kHandlersPerPass = 256;
constexpr std::size_t kBytesPerPass = 8U << 20;
constexpr int kKeepAliveIdleS = 10;
constexpr int kKeepAliveIntervalS = 5;
constexpr int kUserTimeoutMs = 30'000;  // without an acknowledgement from the other host's kernel
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

// Without this, a child process of a plugin or of writer.on_close would keep a connection open after this
// process has died. Asio does not set the flag.
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
  ports::StreamCounters counters() const override { return connection_->counters(); }
  std::uint64_t bytes_received() const override { return connection_->bytes_received(); }
  std::string peer() const override { return connection_->peer(); }

 private:
  std::shared_ptr<Connection> connection_;
};

// The pending accept keeps this object alive; the Listener's handle disables it.
class Accepting : public std::enable_shared_from_this<Accepting> {
 public:
  Accepting(Loop::Core& core, ports::Acceptor& acceptor)
      : core_(core), acceptor_(acceptor), socket_(core.io), retry_(core.io) {}

  std::string open(const tcp::endpoint& at) {
    error_code error;
    socket_.open(at.protocol(), error);
    if (!error) socket_.set_option(tcp::acceptor::reuse_address(true), error);
    // Accepted sockets inherit these options. Setting the congestion control on them later has no effect: a
    // socket that began with BBR stays paced under any other algorithm.
    if (!error) core_.set_options(socket_.native_handle());
    if (!error) socket_.bind(at, error);
    if (!error) socket_.listen(boost::asio::socket_base::max_listen_connections, error);
    return error ? error.message() : std::string();
  }
  void accept() {
    socket_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
      if (self->closed_) return;
      if (error) return self->retry_later();
      if (!close_at_exec(socket.native_handle())) ++self->core_.counters.option_failures;
      auto connection = std::make_shared<Connection>(self->core_, std::move(socket));
      ports::StreamHandler* handler = self->acceptor_.on_accept(std::make_unique<TcpStream>(connection));
      if (handler != nullptr) connection->accepted(*handler);
      self->accept();
    });
  }
  void close() {
    closed_ = true;
    error_code error;
    socket_.close(error);
    retry_.cancel();
  }
  tcp::endpoint local() const {
    error_code error;
    return socket_.local_endpoint(error);
  }

 private:
  void retry_later() {
    ++core_.counters.accept_failures;
    retry_.expires_after(kAcceptRetry);
    retry_.async_wait([self = shared_from_this()](error_code) {
      if (!self->closed_) self->accept();
    });
  }

  Loop::Core& core_;
  ports::Acceptor& acceptor_;
  tcp::acceptor socket_;
  boost::asio::steady_timer retry_;
  bool closed_ = false;
};

class TcpListener final : public ports::Listener {
 public:
  TcpListener(std::shared_ptr<Accepting> accepting, std::string host)
      : accepting_(std::move(accepting)), host_(std::move(host)) {}
  ~TcpListener() override { accepting_->close(); }
  ports::Endpoint endpoint() const override { return {host_, accepting_->local().port()}; }

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

Loop::Loop(SocketPolicy policy) : core_(std::make_unique<Core>(std::move(policy))) {}

Loop::~Loop() {
  core_->dirty.clear();
  while (!core_->live.empty()) {  // a connection may hold the last reference to another one
    const auto connection = (*core_->live.begin())->shared_from_this();
    core_->live.erase(core_->live.begin());
    connection->detach_from_core();
  }
}

void Loop::run_once(const std::function<void(TimeNs)>& pass, DurationNs wait_ns) {
  if (!core_->dirty.empty()) wait_ns = 0;
  core_->received_in_pass = 0;
  core_->io.restart();
  core_->io.run_one_for(std::chrono::nanoseconds(wait_ns));
  ++core_->looks;
  for (int i = 1; i < kHandlersPerPass && core_->received_in_pass < kBytesPerPass; ++i) {
    if (core_->io.poll_one() > 0) continue;
    ++core_->looks;  // no handler was ready, so the reactor was polled once more
    break;
  }
  // Makes data visible that were written before a wake() which found another one pending.
  core_->wake_pending.exchange(false, std::memory_order_acq_rel);
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

void Loop::wake() {
  if (core_->wake_pending.exchange(true, std::memory_order_acq_rel)) return;
  boost::asio::post(core_->io, [] {});
}

// The reactor's own waits are in whole milliseconds; its timers are exact.
void Loop::wake_at(TimeNs at_ns) {
  if (core_->alarm_ns == at_ns) return;
  if (at_ns <= 0 || at_ns == std::numeric_limits<TimeNs>::max()) {
    if (core_->alarm_ns != 0) core_->alarm.cancel();
    core_->alarm_ns = 0;
    return;
  }
  core_->alarm_ns = at_ns;
  const TimeNs at_monotonic_ns = at_ns + left_out_ns();
  core_->alarm.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_monotonic_ns)));
  core_->alarm.async_wait([core = core_.get()](error_code error) {
    if (!error) core->alarm_ns = 0;
  });
}

void Loop::on_signals(std::initializer_list<int> signals, std::function<void(int)> handler) {
  WEIR_ASSERT(!core_->signals);
  core_->signal_handler = std::move(handler);
  core_->signals = std::make_unique<boost::asio::signal_set>(core_->io);
  for (const int signal : signals) {
    if (!is_ignored(signal)) core_->signals->add(signal);
  }
  auto again = std::make_shared<std::function<void()>>();
  *again = [core = core_.get(), weak = std::weak_ptr<std::function<void()>>(again)] {
    core->signals->async_wait([core, self = weak.lock()](error_code error, int signal) {
      if (error) return;
      core->signal_handler(signal);
      if (self) (*self)();
    });
  };
  (*again)();
}

Expected<std::unique_ptr<ports::Listener>, std::string> Loop::listen(const ports::Endpoint& at,
                                                                     ports::Acceptor& acceptor) {
  const std::string where = ports::to_text(at);
  error_code error;
  tcp::endpoint endpoint;
  const auto address = boost::asio::ip::make_address(at.host, error);
  if (!error) {
    endpoint = tcp::endpoint(address, at.port);
  } else {
    tcp::resolver resolver(core_->io);
    const auto found = resolver.resolve(at.host, std::to_string(at.port), tcp::resolver::passive, error);
    if (error || found.empty()) return Unexpected<std::string>(where + ": no such host");
    endpoint = found.begin()->endpoint();
  }
  auto accepting = std::make_shared<Accepting>(*core_, acceptor);
  if (const std::string why = accepting->open(endpoint); !why.empty()) {
    return Unexpected<std::string>(where + ": cannot listen: " + why);
  }
  accepting->accept();
  return std::make_unique<TcpListener>(std::move(accepting), at.host);
}

std::unique_ptr<ports::Stream> Loop::connect(const ports::Endpoint& to, ports::StreamHandler& handler) {
  auto connection = std::make_shared<Connection>(*core_, tcp::socket(core_->io));
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
