#include <weir/clock/clock.hpp>
#include <weir/http/client.hpp>

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace weir::http {
namespace {

constexpr std::size_t kReceiveBytes = 64 * 1024;

struct Url {
  bool is_tls = false;
  std::string host;
  std::string port = "80";
  std::string target = "/";
};

std::optional<Url> parse_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  Url url;
  url.is_tls = text.starts_with(kTlsScheme);
  if (url.is_tls) url.port = "443";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  if (url.is_tls) text.remove_prefix(kTlsScheme.size());
  const std::size_t slash = text.find('/');
  if (slash != text.npos) url.target = std::string(text.substr(slash));
  std::string_view place = text.substr(0, slash);
  if (place.starts_with('[')) {
    const std::size_t end = place.find(']');
    if (end == place.npos) return std::nullopt;
    url.host = std::string(place.substr(1, end - 1));
    place.remove_prefix(end + 1);
  } else {
    url.host = std::string(place.substr(0, place.find(':')));
    place.remove_prefix(url.host.size());
  }
  if (!place.empty()) url.port = std::string(place.substr(1));
  const bool digits = !url.port.empty() && url.port.find_first_not_of("0123456789") == url.port.npos;
  const bool clean = url.target.find_first_of(" \r\n\t") == url.target.npos;
  if (url.host.empty() || !digits || !clean || (!place.empty() && place.front() != ':')) return std::nullopt;
  return url;
}

class Deadline {
 public:
  explicit Deadline(DurationNs timeout_ns) : end_ns_(monotonic_now_ns() + timeout_ns) {}
  // For poll(): whole milliseconds, at least one until the deadline has passed.
  [[nodiscard]] int left_ms() const {
    const DurationNs left = end_ns_ - monotonic_now_ns();
    return left <= 0 ? 0 : static_cast<int>(std::min<DurationNs>(left / kMillisecond + 1, 1'000'000'000));
  }

 private:
  TimeNs end_ns_;
};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool wait(short events, const Deadline& deadline) const {
    pollfd one{fd_, events, 0};
    while (true) {
      const int ready = ::poll(&one, 1, deadline.left_ms());
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

 private:
  int fd_;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Returns nothing if the server cannot be reached; `error` has the reason.
std::unique_ptr<Socket> connect_to(const Url& url, const Deadline& deadline, ClientError& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  error = ClientError::no_such_host;
  if (::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &list) != 0) return nullptr;
  const Addresses addresses(list, ::freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    auto socket = std::make_unique<Socket>(
        ::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol));
    error = ClientError::not_connected;
    if (socket->fd() < 0) continue;
    if (::connect(socket->fd(), at->ai_addr, at->ai_addrlen) == 0) return socket;
    if (errno != EINPROGRESS) continue;
    if (!socket->wait(POLLOUT, deadline)) {
      error = ClientError::timeout;
      continue;
    }
    int failed = 0;
    socklen_t size = sizeof failed;
    ::getsockopt(socket->fd(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed == 0) return socket;
  }
  return nullptr;
}

enum class Moved : std::uint8_t { some, end, timeout, failed };

// Bytes over a socket. `count` is set with Moved::some.
class Link {
 public:
  explicit Link(const Socket& socket) : socket_(socket) {}
  virtual ~Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual Moved send(std::string_view bytes, std::size_t& count, const Deadline& deadline) {
    return move(POLLOUT, count, deadline,
                [&] { return ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL); });
  }
  virtual Moved receive(char* to, std::size_t size, std::size_t& count, const Deadline& deadline) {
    return move(POLLIN, count, deadline, [&] { return ::recv(socket_.fd(), to, size, 0); });
  }

 protected:
  const Socket& socket_;

 private:
  template <class Call>
  Moved move(short event, std::size_t& count, const Deadline& deadline, const Call& call) const {
    while (true) {
      if (!socket_.wait(event, deadline)) return Moved::timeout;
      const ssize_t moved = call();
      if (moved == 0) return Moved::end;
      if (moved < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (moved < 0) return Moved::failed;
      count = static_cast<std::size_t>(moved);
      return Moved::some;
    }
  }
};

// Keeps OpenSSL's writes to an ended connection from ending the process.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    constexpr timespec kNow{};
    if (::sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &kNow);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

class TlsLink final : public Link {
 public:
  TlsLink(const Socket& socket, const std::string& host, const std::string& authority)
      : Link(socket), context_(::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free) {
    SSL_CTX* context = context_.get();
    ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    const int trusted = authority.empty()
                            ? ::SSL_CTX_set_default_verify_paths(context)
                            : ::SSL_CTX_load_verify_locations(context, authority.c_str(), nullptr);
    session_.reset(::SSL_new(context));
    SSL* session = session_.get();
    X509_VERIFY_PARAM* name = ::SSL_get0_param(session);
    const bool is_address = ::X509_VERIFY_PARAM_set1_ip_asc(name, host.c_str()) == 1;
    if (!is_address) {
      ::X509_VERIFY_PARAM_set1_host(name, host.c_str(), 0);
      SSL_set_tlsext_host_name(session, host.c_str());
    }
    ready_ = trusted == 1 && ::SSL_set_fd(session, socket.fd()) == 1;
  }

  Expected<void, ClientError> begin(const Deadline& deadline) {
    if (!ready_) return Unexpected(ClientError::not_trusted);
    std::size_t none = 0;
    switch (repeat(none, deadline, [this] { return ::SSL_connect(session_.get()); })) {
      case Moved::some:
        return {};
      case Moved::timeout:
        return Unexpected(ClientError::timeout);
      default:
        return Unexpected(ClientError::not_trusted);
    }
  }
  Moved send(std::string_view bytes, std::size_t& count, const Deadline& deadline) override {
    return repeat(count, deadline, [&] {
      return ::SSL_write(session_.get(), bytes.data(),
                         static_cast<int>(std::min(bytes.size(), kReceiveBytes)));
    });
  }
  Moved receive(char* to, std::size_t size, std::size_t& count, const Deadline& deadline) override {
    return repeat(count, deadline, [&] { return ::SSL_read(session_.get(), to, static_cast<int>(size)); });
  }

 private:
  template <class Call>
  Moved repeat(std::size_t& count, const Deadline& deadline, const Call& call) {
    while (true) {
      ::ERR_clear_error();
      const int moved = call();
      if (moved > 0) {
        count = static_cast<std::size_t>(moved);
        return Moved::some;
      }
      const int why = ::SSL_get_error(session_.get(), moved);
      if (why == SSL_ERROR_ZERO_RETURN) return Moved::end;
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return Moved::failed;
      if (!socket_.wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline)) return Moved::timeout;
    }
  }

  const NoPipeSignal no_signal_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{nullptr, ::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> session_{nullptr, ::SSL_free};
  bool ready_ = false;
};

bool send_all(Link& link, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    std::size_t count = 0;
    const Moved moved = link.send(bytes, count, deadline);
    if (moved == Moved::timeout) return false;
    if (moved != Moved::some) return true;  // the response, if there is one, has the reason
    bytes.remove_prefix(count);
  }
  return true;
}

Expected<std::string, ClientError> receive_all(Link& link, std::size_t bytes_max, const Deadline& deadline) {
  std::string text;
  while (true) {
    const std::size_t had = text.size();
    text.resize(had + kReceiveBytes);
    std::size_t count = 0;
    const Moved moved = link.receive(text.data() + had, kReceiveBytes, count, deadline);
    text.resize(had + count);
    if (moved == Moved::end) return text;
    if (moved == Moved::timeout) return Unexpected(ClientError::timeout);
    if (moved == Moved::failed) return Unexpected(ClientError::malformed);
    if (text.size() > bytes_max) return Unexpected(ClientError::too_large);
  }
}

bool same_name(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

template <class Number>
bool parse_number(std::string_view text, Number& value) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

Expected<ClientResponse, ClientError> parse_response(const std::string& text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.") || end == text.npos) return Unexpected(ClientError::malformed);
  std::string_view head = std::string_view(text).substr(0, end);
  ClientResponse response;
  const std::size_t space = head.find(' ');
  if (space == head.npos || !parse_number(head.substr(space), response.status))
    return Unexpected(ClientError::malformed);
  response.body = text.substr(end + 4);
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !same_name(line.substr(0, colon), "Content-Length")) continue;
    std::size_t length = 0;
    if (!parse_number(line.substr(colon + 1), length) || length != response.body.size())
      return Unexpected(ClientError::malformed);
  }
  return response;
}

Expected<ClientResponse, ClientError> ask(const Url& url, const std::string& request,
                                          const ClientLimits& limits) {
  const Deadline deadline(limits.timeout_ns);
  ClientError error{};
  const auto socket = connect_to(url, deadline, error);
  if (!socket) return Unexpected(error);
  std::unique_ptr<Link> link;
  if (url.is_tls) {
    auto tls = std::make_unique<TlsLink>(*socket, url.host, limits.authority);
    if (const auto begun = tls->begin(deadline); !begun) return Unexpected(begun.error());
    link = std::move(tls);
  } else {
    link = std::make_unique<Link>(*socket);
  }
  if (!send_all(*link, request, deadline)) return Unexpected(ClientError::timeout);
  const auto text = receive_all(*link, limits.bytes_max, deadline);
  if (!text) return Unexpected(text.error());
  return parse_response(*text);
}

std::string first_lines(const char* method, const Url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  return std::string(method) + " " + url.target + " HTTP/1.0\r\nHost: " + (v6 ? "[" : "") + url.host +
         (v6 ? "]" : "") + ":" + url.port + "\r\n";
}

}  // namespace

std::string_view name(ClientError error) {
  switch (error) {
    case ClientError::bad_url:
      return "bad_url";
    case ClientError::no_such_host:
      return "no_such_host";
    case ClientError::not_connected:
      return "not_connected";
    case ClientError::timeout:
      return "timeout";
    case ClientError::not_trusted:
      return "not_trusted";
    case ClientError::malformed:
      return "malformed";
    case ClientError::too_large:
      return "too_large";
  }
  return "unknown";
}

Expected<ClientResponse, ClientError> get(const std::string& url, const ClientLimits& limits) {
  const auto place = parse_url(url);
  if (!place) return Unexpected(ClientError::bad_url);
  return ask(*place, first_lines("GET", *place) + "\r\n", limits);
}

Expected<ClientResponse, ClientError> post(const std::string& url, const std::string& body,
                                           const std::string& token, const ClientLimits& limits) {
  const auto place = parse_url(url);
  if (!place || token.find_first_of("\r\n") != token.npos) return Unexpected(ClientError::bad_url);
  std::string request = first_lines("POST", *place) +
                        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                        "\r\n";
  if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
  return ask(*place, request + "\r\n" + body, limits);
}

}  // namespace weir::http
