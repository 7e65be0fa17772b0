#pragma once

// Only server.cpp and session.cpp include Beast and Asio, through this header: their templates take seconds
// to compile.
#include "channel.hpp"
#include "crowd.hpp"
#include "router.hpp"
#include <weir/http/server.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

namespace weir::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Piece = std::shared_ptr<const std::string>;

inline std::chrono::nanoseconds nanoseconds(DurationNs ns) { return std::chrono::nanoseconds(ns); }

constexpr std::size_t kReadBytes = 4096;

class Server::Impl {
 public:
  class Session;

  Impl(const ports::Endpoint& listen, const Limits& limits, const TlsFiles& tls);
  ~Impl();

  void start();
  void publish(const std::string& path, std::string_view name, std::string_view data);
  [[nodiscard]] ServerCounters counters() const;
  [[nodiscard]] TlsState tls() const;
  template <class Change>
  void count(Change change) {
    const std::lock_guard lock(counting_);
    change(counters_);
  }

  void admit(Admission admission) { admission_ = std::move(admission); }  // before start()
  void accept();
  void make_room();
  void close(Crowd::Id id);  // to make room for another one
  void enter(tcp::socket socket);
  [[nodiscard]] TlsIdentity::Context tls_context();  // null: plain
  void live();
  void hand_out(const std::string* path, const Piece& piece);

  const Limits limits_;
  ports::Endpoint endpoint_;
  Router router_;
  Admission admission_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer retry_{context_};
  asio::steady_timer alive_{context_};
  std::optional<TlsIdentity> identity_;
  Crowd crowd_;
  std::unordered_map<Crowd::Id, std::shared_ptr<Session>> sessions_;
  std::unordered_map<Session*, std::string> listeners_;  // to a stream, by its path
  std::thread thread_;

 private:
  mutable std::mutex counting_;
  ServerCounters counters_;
  TlsState tls_;
  std::atomic<std::size_t> published_bytes_ = 0;  // not yet taken by the thread
};

class Server::Impl::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Impl& server, tcp::socket socket, TlsIdentity::Context tls, Crowd::Id id, std::string peer,
          std::string local)
      : server_(server),
        stream_(std::move(socket), std::move(tls)),
        id_(id),
        peer_(std::move(peer)),
        local_(std::move(local)) {}

  // `taken` false: refuses it for lack of room.
  void begin(bool taken);
  void push(const Piece& piece);
  void close();

 private:
  void on_handshake(error_code error, bool taken);
  void first_step(bool taken);
  void await_request();
  void read_request();
  void on_request(error_code error);
  void on_bad_request(error_code error);
  void dispatch();
  HttpRequest take_request(bhttp::request<bhttp::string_body> message) const;
  HttpResponse respond(const HttpRequest& request);
  void answer(HttpResponse response, unsigned version, bool keep_alive, bool head);
  void linger();
  void end_sending();
  void drain();
  void expires_after(std::chrono::nanoseconds time) { stream_.tcp().expires_after(time); }
  void begin_stream(const std::string& path, const Greeting& greeting, const HttpRequest& request);
  void watch_listener();
  void send_queued();

  Impl& server_;
  Channel stream_;
  const Crowd::Id id_;
  const std::string peer_;
  const std::string local_;
  bool asked_ = false;  // at least one complete request
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

}  // namespace weir::http
