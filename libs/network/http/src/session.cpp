// One connection: requests with their responses, or an event stream.
#include "server_impl.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::http {
namespace {

constexpr auto kLinger = std::chrono::seconds(2);
constexpr std::size_t kLingerBytesMax = 4U << 20;
constexpr std::size_t kPiecesPerWrite = 64;

HttpResponse plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text) + "\n", {}};
}

}  // namespace

void Server::Impl::Session::begin(bool taken) {
  if (!stream_.is_tls()) return first_step(taken);
  expires_after(nanoseconds(server_.limits_.request_timeout_ns));
  stream_.async_handshake(
      [self = shared_from_this(), taken](error_code error) { self->on_handshake(error, taken); });
}

void Server::Impl::Session::on_handshake(error_code error, bool taken) {
  if (!error) return first_step(taken);
  server_.count([](ServerCounters& counters) { ++counters.handshakes_failed; });
  const bool plain_http = error.category() == asio::error::get_ssl_category() &&
                          ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
  if (!plain_http) return close();
  stream_.end_tls();
  answer(plain(400, "this page is served over HTTPS: begin its address with https://"), 11, false, false);
}

void Server::Impl::Session::first_step(bool taken) {
  if (taken) return await_request();
  answer(plain(503, "too many connections; try again later"), 11, false, false);
}

void Server::Impl::Session::await_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(server_.limits_.header_bytes_max));
  parser_->body_limit(server_.limits_.body_bytes_max);
  if (buffer_.size() > 0) return read_request();
  if (asked_) server_.crowd_.turn_to(id_, Doing::idle);
  expires_after(nanoseconds(server_.limits_.idle_timeout_ns));
  stream_.async_read_some(buffer_.prepare(kReadBytes),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            if (error) return self->close();
                            self->buffer_.commit(size);
                            self->read_request();
                          });
}

void Server::Impl::Session::read_request() {
  if (asked_) server_.crowd_.turn_to(id_, Doing::busy);
  expires_after(nanoseconds(server_.limits_.request_timeout_ns));
  bhttp::async_read(stream_, buffer_, *parser_,
                    [self = shared_from_this()](error_code error, std::size_t) { self->on_request(error); });
}

void Server::Impl::Session::on_request(error_code error) {
  if (error) return on_bad_request(error);
  dispatch();
}

void Server::Impl::Session::on_bad_request(error_code error) {
  if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
    server_.count([](ServerCounters& counters) { ++counters.too_large; });
    return answer(plain(431, "the request's headers are too long"), 11, false, false);
  }
  if (error == bhttp::error::body_limit) {
    server_.count([](ServerCounters& counters) { ++counters.too_large; });
    return answer(plain(413, "the request's body is too long"), 11, false, false);
  }
  if (error == beast::error::timeout) {  // Beast has closed the socket
    server_.count([](ServerCounters& counters) { ++counters.timeouts; });
    return close();
  }
  const bool ours = error.category() == make_error_code(bhttp::error::bad_method).category();
  if (!ours || error == bhttp::error::end_of_stream) return close();
  server_.count([](ServerCounters& counters) { ++counters.malformed; });
  if (error == bhttp::error::partial_message) return close();
  answer(plain(400, "not an HTTP request: " + error.message()), 11, false, false);
}

HttpRequest Server::Impl::Session::take_request(bhttp::request<bhttp::string_body> message) const {
  HttpRequest request;
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
  request.local = local_;
  return request;
}

void Server::Impl::Session::dispatch() {
  asked_ = true;
  server_.crowd_.turn_to(id_, Doing::busy);
  auto message = parser_->release();
  const unsigned version = message.version();
  const bool keep_alive = message.keep_alive();
  const HttpRequest request = take_request(std::move(message));
  const bool head = request.method == "HEAD";
  if (server_.admission_) {
    if (auto refusal = server_.admission_(request)) {
      server_.count([](ServerCounters& counters) { ++counters.not_admitted; });
      return answer(std::move(*refusal), version, keep_alive, head);
    }
  }
  const Router::Place* place = server_.router_.find(request.path);
  if (place != nullptr && place->is_stream && request.method == "GET")
    return begin_stream(request.path, place->greeting, request);
  answer(respond(request), version, keep_alive, head);
}

HttpResponse Server::Impl::Session::respond(const HttpRequest& request) {
  const Router::Place* place = server_.router_.find(request.path);
  if (place == nullptr) {
    server_.count([](ServerCounters& counters) { ++counters.not_found; });
    return plain(404, "nothing found at this address");
  }
  const Handler* handler = Router::handler(*place, request.method);
  if (handler == nullptr) {
    const std::string allowed = Router::allowed(*place);
    HttpResponse response = plain(405, "allowed: " + allowed);
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  try {
    return (*handler)(request);
  } catch (const std::exception& error) {
    server_.count([](ServerCounters& counters) { ++counters.handler_failures; });
    return plain(500, std::string("this failed: ") + error.what());
  }
}

void Server::Impl::Session::answer(HttpResponse response, unsigned version, bool keep_alive, bool head) {
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
  expires_after(nanoseconds(server_.limits_.send_timeout_ns));
  bhttp::async_write(stream_, response_, [self = shared_from_this()](error_code error, std::size_t) {
    if (error == beast::error::timeout)
      self->server_.count([](ServerCounters& counters) { ++counters.timeouts; });
    if (error) return self->close();
    self->server_.count([](ServerCounters& counters) { ++counters.requests; });
    if (self->response_.need_eof() || !self->response_.keep_alive()) return self->linger();
    self->await_request();
  });
}

// Closing with unread bytes would make the kernel reset the connection, and the client would lose the
// response.
void Server::Impl::Session::linger() {
  if (!stream_.is_tls()) return end_sending();
  expires_after(kLinger);
  stream_.async_shutdown([self = shared_from_this()](error_code) { self->end_sending(); });
}

void Server::Impl::Session::end_sending() {
  error_code ignored;
  stream_.tcp().socket().shutdown(tcp::socket::shutdown_send, ignored);
  expires_after(kLinger);
  drain();
}

// Of a connection in TLS: records that are not decrypted any more.
void Server::Impl::Session::drain() {
  stream_.tcp().async_read_some(asio::buffer(scrap_),
                                [self = shared_from_this()](error_code error, std::size_t size) {
                                  self->drained_ += size;
                                  if (error || self->drained_ > kLingerBytesMax) return self->close();
                                  self->drain();
                                });
}

void Server::Impl::Session::begin_stream(const std::string& path, const Greeting& greeting,
                                         const HttpRequest& request) {
  if (server_.listeners_.size() >= server_.limits_.event_clients_max) {
    // An address with many streams loses one of its own, before another address loses its first.
    if (const auto greedy = server_.crowd_.listener_makes_room(peer_)) server_.close(*greedy);
  }
  if (server_.listeners_.size() >= server_.limits_.event_clients_max) {
    server_.count([](ServerCounters& counters) { ++counters.event_clients_refused; });
    return answer(plain(503, "too many clients of event streams; try again later"), 11, false, false);
  }
  std::string first;
  try {
    if (greeting) first = greeting(request);
  } catch (const std::exception& error) {
    server_.count([](ServerCounters& counters) { ++counters.handler_failures; });
    return answer(plain(500, std::string("this failed: ") + error.what()), 11, false, false);
  }
  server_.crowd_.turn_to(id_, Doing::listening);
  WEIR_ASSERT(!listening_ && !writing_);
  server_.listeners_.emplace(this, path);
  listening_ = true;
  server_.count([](ServerCounters& counters) { ++counters.event_clients, ++counters.requests; });
  stream_.tcp().expires_never();
  watch_listener();
  auto head = std::make_shared<std::string>(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n");
  // The greeting does not count towards the client's queue limit, however long it is.
  queue_.push_back(std::make_shared<std::string>(*head + first));
  queued_bytes_ = 0;
  send_queued();
}

// A client of a stream sends nothing: any byte, or the end of the connection, ends the stream.
void Server::Impl::Session::watch_listener() {
  stream_.async_read_some(asio::buffer(scrap_),
                          [self = shared_from_this()](error_code, std::size_t) { self->close(); });
}

void Server::Impl::Session::push(const Piece& piece) {
  if (queued_bytes_ + piece->size() > server_.limits_.event_queue_bytes_max) {
    close();
    return server_.count([](ServerCounters& counters) { ++counters.event_clients_dropped; });
  }
  queue_.push_back(piece);
  queued_bytes_ += piece->size();
  server_.count([](ServerCounters& counters) { ++counters.events_sent; });
  send_queued();
}

void Server::Impl::Session::send_queued() {
  if (writing_ || queue_.empty()) return;
  writing_ = true;
  pieces_sent_ = std::min(queue_.size(), kPiecesPerWrite);
  std::vector<asio::const_buffer> buffers;
  for (std::size_t i = 0; i < pieces_sent_; ++i) buffers.push_back(asio::buffer(*queue_[i]));
  expires_after(nanoseconds(server_.limits_.send_timeout_ns));
  asio::async_write(stream_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
    self->writing_ = false;
    if (error == beast::error::timeout)
      self->server_.count([](ServerCounters& counters) { ++counters.event_clients_dropped; });
    if (error) return self->close();
    WEIR_ASSERT(self->pieces_sent_ <= self->queue_.size());
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
    server_.count([](ServerCounters& counters) {
      WEIR_ASSERT(counters.event_clients > 0);
      --counters.event_clients;
    });
  }
  const auto self = shared_from_this();
  server_.crowd_.leave(id_);
  const bool mine = server_.sessions_.erase(id_) > 0;
  if (mine) {
    server_.count([](ServerCounters& counters) {
      WEIR_ASSERT(counters.connections > 0);
      --counters.connections;
    });
  }
  stream_.tcp().close();
}

}  // namespace weir::http
