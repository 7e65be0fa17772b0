// The one file that sees Beast: its templates cost seconds wherever they are.
#include "router.hpp"
#include <weir/http/server.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <unordered_set>

namespace weir::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kRefusalsMax = 32;  // connections beyond the limit that are told so, at a time
constexpr auto kAcceptRetry = std::chrono::milliseconds(100);
constexpr auto kLinger = std::chrono::seconds(2);
constexpr std::size_t kLingerBytesMax = 4U << 20;
constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kPiecesPerWrite = 64;

using Piece = std::shared_ptr<const std::string>;

std::chrono::nanoseconds nanoseconds(DurationNs ns) { return std::chrono::nanoseconds(ns); }

Response plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n", {}};
}

}  // namespace

class Server::Impl {
 public:
  class Session;

  Impl(const ports::Endpoint& listen, const Limits& limits);
  ~Impl();

  void start();
  void publish(const std::string& path, std::string_view name, std::string_view data);
  [[nodiscard]] Counters counters() const;
  template <class Change>
  void count(Change change) {
    const std::lock_guard lock(counting_);
    change(counters_);
  }

  void accept();
  void live();
  void hand_out(const std::string* path, const Piece& piece);

  const Limits limits_;
  ports::Endpoint endpoint_;
  Router router_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer retry_{context_};
  asio::steady_timer alive_{context_};
  std::unordered_set<std::shared_ptr<Session>> sessions_;
  std::unordered_map<Session*, std::string> listeners_;  // to a stream, by its path
  std::thread thread_;

 private:
  mutable std::mutex counting_;
  Counters counters_;
  std::atomic<std::size_t> published_bytes_ = 0;  // not yet taken by the thread
};

class Server::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, tcp::socket socket, std::string peer)
      : server_(server), stream_(std::move(socket)), peer_(std::move(peer)) {}

  void begin() { await_request(); }
  void refuse() { answer(plain(503, "too many connections; try again later"), 11, false, false); }
  void push(const Piece& piece);
  void close();

 private:
  void await_request();
  void read_request();
  void on_request(error_code error);
  void on_bad_request(error_code error);
  void dispatch();
  Response respond(const Request& request);
  void answer(Response response, unsigned version, bool keep_alive, bool head);
  void linger();
  void drain();
  void begin_stream(const std::string& path, const Greeting& greeting, const Request& request);
  void watch_listener();
  void send_queued();

  Impl& server_;
  beast::tcp_stream stream_;
  std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  bhttp::response<bhttp::string_body> response_;
  std::array<char, kReadBytes> scrap_{};
  std::size_t drained_ = 0;
  bool listening_ = false;
  bool writing_ = false;
  std::deque<Piece> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t pieces_sent_ = 0;
};

void Server::Impl::Session::await_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(server_.limits_.header_bytes_max));
  parser_->body_limit(server_.limits_.body_bytes_max);
  if (buffer_.size() > 0) return read_request();
  stream_.expires_after(nanoseconds(server_.limits_.idle_timeout_ns));
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            if (error) return self->close();
                            self->buffer_.commit(size);
                            self->read_request();
                          });
}

void Server::Impl::Session::read_request() {
  stream_.expires_after(nanoseconds(server_.limits_.request_timeout_ns));
  bhttp::async_read(stream_, buffer_, *parser_,
                    [self = shared_from_this()](error_code error, std::size_t) { self->on_request(error); });
}

void Server::Impl::Session::on_request(error_code error) {
  if (error) return on_bad_request(error);
  dispatch();
}

void Server::Impl::Session::on_bad_request(error_code error) {
  if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
    server_.count([](Counters& counters) { ++counters.too_large; });
    return answer(plain(431, "the request's headers are too long"), 11, false, false);
  }
  if (error == bhttp::error::body_limit) {
    server_.count([](Counters& counters) { ++counters.too_large; });
    return answer(plain(413, "the request's body is too long"), 11, false, false);
  }
  if (error == beast::error::timeout) {  // Beast has closed the socket
    server_.count([](Counters& counters) { ++counters.timeouts; });
    return close();
  }
  const bool ours = error.category() == make_error_code(bhttp::error::bad_method).category();
  if (!ours || error == bhttp::error::end_of_stream) return close();
  server_.count([](Counters& counters) { ++counters.malformed; });
  if (error == bhttp::error::partial_message) return close();
  answer(plain(400, "this is no HTTP request: " + error.message()), 11, false, false);
}

void Server::Impl::Session::dispatch() {
  auto message = parser_->release();
  Request request;
  const std::string target(message.target());
  request.method = std::string(message.method_string());
  request.path = decode_path(target);
  if (const auto question = target.find('?'); question != target.npos)
    request.query = parse_query(target.substr(question + 1));
  for (const auto& field : message) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    request.headers[name] = std::string(field.value());
  }
  request.body = std::move(message.body());
  request.peer = peer_;

  const Router::Place* place = server_.router_.find(request.path);
  if (place != nullptr && place->is_stream && request.method == "GET")
    return begin_stream(request.path, place->greeting, request);
  answer(respond(request), message.version(), message.keep_alive(), request.method == "HEAD");
}

Response Server::Impl::Session::respond(const Request& request) {
  const Router::Place* place = server_.router_.find(request.path);
  if (place == nullptr) {
    server_.count([](Counters& counters) { ++counters.not_found; });
    return plain(404, "there is nothing at this address");
  }
  const Handler* handler = Router::handler(*place, request.method);
  if (handler == nullptr) {
    const std::string allowed = Router::allowed(*place);
    Response response = plain(405, "here one can " + allowed);
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  try {
    return (*handler)(request);
  } catch (const std::exception& error) {
    server_.count([](Counters& counters) { ++counters.handler_failures; });
    return plain(500, std::string("this failed: ") + error.what());
  }
}

void Server::Impl::Session::answer(Response response, unsigned version, bool keep_alive, bool head) {
  response_ = {};
  response_.version(version);
  response_.result(response.status);
  response_.set(bhttp::field::content_type, response.content_type);
  response_.set(bhttp::field::cache_control, "no-store");
  response_.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) response_.set(name, value);
  response_.keep_alive(keep_alive);
  response_.content_length(response.body.size());
  if (!head) response_.body() = std::move(response.body);
  stream_.expires_after(nanoseconds(server_.limits_.send_timeout_ns));
  bhttp::async_write(stream_, response_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error == beast::error::timeout) self->server_.count([](Counters& counters) { ++counters.timeouts; });
    if (error) return self->close();
    self->server_.count([](Counters& counters) { ++counters.requests; });
    if (self->response_.need_eof() || !self->response_.keep_alive()) return self->linger();
    self->await_request();
  });
}

// Closing with unread bytes would make the kernel reset the connection, and the client lose the answer.
void Server::Impl::Session::linger() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLinger);
  drain();
}

void Server::Impl::Session::drain() {
  stream_.async_read_some(asio::buffer(scrap_),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->drained_ += size;
                            if (error || self->drained_ > kLingerBytesMax) return self->close();
                            self->drain();
                          });
}

void Server::Impl::Session::begin_stream(const std::string& path, const Greeting& greeting,
                                         const Request& request) {
  if (server_.listeners_.size() >= server_.limits_.event_clients_max) {
    server_.count([](Counters& counters) { ++counters.event_clients_refused; });
    return answer(plain(503, "too many clients of event streams; try again later"), 11, false, false);
  }
  std::string first;
  try {
    if (greeting) first = greeting(request);
  } catch (const std::exception& error) {
    server_.count([](Counters& counters) { ++counters.handler_failures; });
    return answer(plain(500, std::string("this failed: ") + error.what()), 11, false, false);
  }
  server_.listeners_.emplace(this, path);
  listening_ = true;
  server_.count([](Counters& counters) { ++counters.event_clients, ++counters.requests; });
  stream_.expires_never();
  watch_listener();
  auto head = std::make_shared<std::string>(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  // What a client is greeted with is not held against it, however long.
  queue_.push_back(std::make_shared<std::string>(*head + first));
  queued_bytes_ = 0;
  send_queued();
}

// A client of a stream has nothing more to say: whatever comes, or its end, ends it.
void Server::Impl::Session::watch_listener() {
  stream_.async_read_some(asio::buffer(scrap_),
                          [self = shared_from_this()](error_code, std::size_t) { self->close(); });
}

void Server::Impl::Session::push(const Piece& piece) {
  if (queued_bytes_ + piece->size() > server_.limits_.event_queue_bytes_max) {
    close();
    return server_.count([](Counters& counters) { ++counters.event_clients_dropped; });
  }
  queue_.push_back(piece);
  queued_bytes_ += piece->size();
  server_.count([](Counters& counters) { ++counters.events_sent; });
  send_queued();
}

void Server::Impl::Session::send_queued() {
  if (writing_ || queue_.empty()) return;
  writing_ = true;
  pieces_sent_ = std::min(queue_.size(), kPiecesPerWrite);
  std::vector<asio::const_buffer> buffers;
  for (std::size_t i = 0; i < pieces_sent_; ++i) buffers.push_back(asio::buffer(*queue_[i]));
  stream_.expires_after(nanoseconds(server_.limits_.send_timeout_ns));
  asio::async_write(stream_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error == beast::error::timeout)
      self->server_.count([](Counters& counters) { ++counters.event_clients_dropped; });
    if (error) return self->close();
    for (std::size_t i = 0; i < self->pieces_sent_; ++i) {
      self->queued_bytes_ -= std::min(self->queued_bytes_, self->queue_.front()->size());
      self->queue_.pop_front();
    }
    self->send_queued();
  });
}

void Server::Impl::Session::close() {
  if (std::exchange(listening_, false)) {
    server_.listeners_.erase(this);
    server_.count([](Counters& counters) { --counters.event_clients; });
  }
  const bool mine = server_.sessions_.erase(shared_from_this()) > 0;
  if (mine) server_.count([](Counters& counters) { --counters.connections; });
  stream_.close();
}

Server::Impl::Impl(const ports::Endpoint& listen, const Limits& limits) : limits_(limits), endpoint_(listen) {
  const std::string where = listen.host + ":" + std::to_string(listen.port);
  error_code error;
  tcp::resolver resolver(context_);
  const auto found =
      resolver.resolve(listen.host, std::to_string(listen.port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error("HTTP server: cannot find " + where + ": " + error.message());
  const tcp::endpoint at = found.begin()->endpoint();
  acceptor_.open(at.protocol(), error);
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
  // Sessions refer to the context, and handlers that never ran to sessions.
  listeners_.clear();
  sessions_.clear();
}

void Server::Impl::start() {
  accept();
  live();
  // Signals are the main thread's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { context_.run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Server::Impl::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error) {  // out of descriptors, most likely
      retry_.expires_after(kAcceptRetry);
      return retry_.async_wait([this](error_code stopped) {
        if (!stopped) accept();
      });
    }
    error_code unknown;
    const tcp::endpoint peer = socket.remote_endpoint(unknown);
    const std::size_t there = sessions_.size();
    if (there >= limits_.connections_max) count([](Counters& counters) { ++counters.refused_full; });
    if (!unknown && there < limits_.connections_max + kRefusalsMax) {
      auto session = std::make_shared<Session>(*this, std::move(socket), peer.address().to_string());
      sessions_.insert(session);
      count([](Counters& counters) { ++counters.connections; });
      if (there < limits_.connections_max) {
        count([](Counters& counters) { ++counters.accepted; });
        session->begin();
      } else {
        session->refuse();
      }
    }
    accept();
  });
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
  std::vector<std::shared_ptr<Session>> of_path;  // a slow one leaves the list in push()
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
    return count([](Counters& counters) { ++counters.events_dropped; });
  }
  asio::post(context_, [this, path, piece, size] {
    published_bytes_.fetch_sub(size);
    hand_out(&path, piece);
  });
}

Counters Server::Impl::counters() const {
  const std::lock_guard lock(counting_);
  return counters_;
}

Server::Server(const ports::Endpoint& listen, const Limits& limits)
    : impl_(std::make_unique<Impl>(listen, limits)) {}
Server::~Server() = default;
void Server::route(std::string method, std::string path, Handler handler) {
  impl_->router_.add(std::move(method), path, std::move(handler));
}
void Server::stream(std::string path, std::function<std::string(const Request&)> greeting) {
  impl_->router_.add_stream(path, std::move(greeting));
}
void Server::start() { impl_->start(); }
const ports::Endpoint& Server::endpoint() const { return impl_->endpoint_; }
void Server::publish(const std::string& path, std::string_view name, std::string_view data) {
  impl_->publish(path, name, data);
}
Counters Server::counters() const { return impl_->counters(); }

}  // namespace weir::http
