#include <weir/clock/clock.hpp>
#include <weir/http/client.hpp>

#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::http {
namespace {

constexpr std::size_t kReceiveBytes = 64 * 1024;
constexpr unsigned kDefaultPort = 80;

struct Url {
  std::string host;
  std::string port = std::to_string(kDefaultPort);
  std::string target = "/";
};

std::optional<Url> parse_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  Url url;
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

bool send_all(const Socket& socket, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (!socket.wait(POLLOUT, deadline)) return false;
    const ssize_t sent = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent < 0) return true;  // the response, if there is one, has the reason
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Expected<std::string, ClientError> receive_all(const Socket& socket, std::size_t bytes_max,
                                               const Deadline& deadline) {
  std::string text;
  while (true) {
    if (!socket.wait(POLLIN, deadline)) return Unexpected(ClientError::timeout);
    const std::size_t had = text.size();
    text.resize(had + kReceiveBytes);
    const ssize_t got = ::recv(socket.fd(), text.data() + had, kReceiveBytes, 0);
    text.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return text;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return Unexpected(ClientError::malformed);
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
  if (!send_all(*socket, request, deadline)) return Unexpected(ClientError::timeout);
  const auto text = receive_all(*socket, limits.bytes_max, deadline);
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
