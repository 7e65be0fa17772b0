#include "server_impl.hpp"
#include <weir/base/assert.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weir::http {
namespace {

constexpr std::size_t kRefusalsMax = 32;  // connections beyond the limit that receive a refusal at a time
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);

// Asio does not set this flag, and a child process would keep the connections open.
void close_at_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

// Returns an IPv4 client's own address, also if it arrives at an IPv6 socket.
std::string text_of(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

}  // namespace

Server::Impl::Impl(const ports::Endpoint& listen, const Limits& limits, const TlsFiles& tls)
    : limits_(limits), endpoint_(listen) {
  if (!tls.certificate.empty()) identity_.emplace(tls);
  (void)tls_context();
  const std::string where = ports::to_text(listen);
  error_code error;
  tcp::resolver resolver(context_);
  const auto found =
      resolver.resolve(listen.host, std::to_string(listen.port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error("HTTP server: cannot find " + where + ": " + error.message());
  const tcp::endpoint at = found.begin()->endpoint();
  acceptor_.open(at.protocol(), error);
  if (!error) close_at_exec(acceptor_.native_handle());
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(at, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    throw std::runtime_error("HTTP server: cannot listen at " + where + ": " + error.message() +
                             "; choose another port, or 0 for any free one");
  endpoint_.port = acceptor_.local_endpoint().port();
}

Server::Impl::~Impl() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
  // Sessions refer to the context, and pending handlers to sessions.
  listeners_.clear();
  sessions_.clear();
}

void Server::Impl::start() {
  WEIR_ASSERT(!thread_.joinable());
  accept();
  live();
  // Signals are handled by the main thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { context_.run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Server::Impl::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error) {  // most likely out of descriptors
      retry_.expires_after(kAcceptRetry);
      return retry_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
    }
    close_at_exec(socket.native_handle());
    enter(std::move(socket));
    accept();
  });
}

void Server::Impl::make_room() {
  if (const auto who = crowd_.makes_room()) close(*who);
}

void Server::Impl::close(Crowd::Id id) {
  const std::shared_ptr<Session> session = sessions_.at(id);
  session->close();
  count([](ServerCounters& counters) { ++counters.made_room; });
}

void Server::Impl::enter(tcp::socket socket) {
  error_code unknown;
  const tcp::endpoint peer = socket.remote_endpoint(unknown);
  if (unknown) return;  // ended already
  const tcp::endpoint local = socket.local_endpoint(unknown);
  if (sessions_.size() >= limits_.connections_max) make_room();
  const bool taken = sessions_.size() < limits_.connections_max;
  if (!taken) count([](ServerCounters& counters) { ++counters.refused_full; });
  if (!taken && sessions_.size() >= limits_.connections_max + kRefusalsMax) return;
  const std::string from = text_of(peer.address());
  const Crowd::Id id = crowd_.enter(from);
  WEIR_ASSERT(crowd_.size() == sessions_.size() + 1);
  auto session =
      std::make_shared<Session>(*this, std::move(socket), tls_context(), id, from, text_of(local.address()));
  sessions_.emplace(id, session);
  count([taken](ServerCounters& counters) {
    ++counters.connections;
    counters.accepted += taken ? 1 : 0;
  });
  session->begin(taken);
}

TlsIdentity::Context Server::Impl::tls_context() {
  if (!identity_) return nullptr;
  auto context = identity_->current();
  const std::lock_guard lock(counting_);
  tls_ = {identity_->ends_utc_ns(), identity_->problem()};
  return context;
}

void Server::Impl::live() {
  alive_.expires_after(nanoseconds(limits_.event_idle_ns));
  alive_.async_wait([this](error_code stopped) {
    if (stopped) return;
    hand_out(nullptr, std::make_shared<std::string>(":\n\n"));
    live();
  });
}

void Server::Impl::hand_out(const std::string* path, const Piece& piece) {
  std::vector<std::shared_ptr<Session>> of_path;  // push() removes a slow one from the list
  for (const auto& [session, its_path] : listeners_) {
    if (path == nullptr || its_path == *path) of_path.push_back(session->shared_from_this());
  }
  for (const auto& session : of_path) session->push(piece);
}

void Server::Impl::publish(const std::string& path, std::string_view name, std::string_view data) {
  auto piece = std::make_shared<const std::string>(event_text(name, data));
  const std::size_t size = piece->size();
  if (published_bytes_.fetch_add(size) + size > 2 * limits_.event_queue_bytes_max) {
    published_bytes_.fetch_sub(size);
    return count([](ServerCounters& counters) { ++counters.events_dropped; });
  }
  asio::post(context_, [this, path, piece, size] {
    const std::size_t before = published_bytes_.fetch_sub(size);
    WEIR_ASSERT(before >= size);
    hand_out(&path, piece);
  });
}

ServerCounters Server::Impl::counters() const {
  const std::lock_guard lock(counting_);
  return counters_;
}

TlsState Server::Impl::tls() const {
  const std::lock_guard lock(counting_);
  return tls_;
}

Server::Server(const ports::Endpoint& listen, const Limits& limits, const TlsFiles& tls)
    : impl_(std::make_unique<Impl>(listen, limits, tls)) {}
Server::~Server() = default;
void Server::route(std::string method, std::string path, Handler handler) {
  WEIR_ASSERT(!impl_->thread_.joinable());
  impl_->router_.add(std::move(method), path, std::move(handler));
}
void Server::stream(std::string path, std::function<std::string(const HttpRequest&)> greeting) {
  WEIR_ASSERT(!impl_->thread_.joinable());
  impl_->router_.add_stream(path, std::move(greeting));
}
void Server::start() { impl_->start(); }
const ports::Endpoint& Server::endpoint() const { return impl_->endpoint_; }
void Server::publish(const std::string& path, std::string_view name, std::string_view data) {
  impl_->publish(path, name, data);
}
void Server::admit(Admission admission) { impl_->admit(std::move(admission)); }
ServerCounters Server::counters() const { return impl_->counters(); }
TlsState Server::tls() const { return impl_->tls(); }

}  // namespace weir::http
