#pragma once

#include <weir/ports/network.hpp>

#include <arpa/inet.h>
#include <array>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::http::test {

// One TCP connection for a scripted client; reads wait a few seconds at most.
class RawClient {
 public:
  explicit RawClient(const ports::Endpoint& at, int receive_buffer_bytes = 0, const std::string& from = {});
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void send(const std::string& text) const;
  // Waits until `mark` has arrived `times` times, or the connection ends; returns everything received since
  // the last call.
  std::string until(const std::string& mark, int times = 1);
  // Until the connection ends.
  std::string rest() { return until({}); }
  // The other end has closed.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  int fd_;
  bool ended_ = false;
};

constexpr int kPatienceMs = 5000;

inline int count_of(const std::string& text, const std::string& mark) {
  int count = 0;
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) ++count;
  return count;
}

inline RawClient::RawClient(const ports::Endpoint& at, int receive_buffer_bytes, const std::string& from)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_buffer_bytes > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (!from.empty()) {
    ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot come from " + from);
  }
  address.sin_port = htons(at.port);
  ::inet_pton(AF_INET, at.host.c_str(), &address.sin_addr);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect to the server under test");
}

inline RawClient::~RawClient() { ::close(fd_); }

inline void RawClient::send(const std::string& text) const {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t more = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return;
    sent += static_cast<std::size_t>(more);
  }
}

inline std::string RawClient::until(const std::string& mark, int times) {
  std::string text;
  while (mark.empty() || count_of(text, mark) < times) {
    pollfd one{fd_, POLLIN, 0};
    if (::poll(&one, 1, kPatienceMs) <= 0) return text + "[nothing more came]";
    std::array<char, 65536> piece{};
    const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
    ended_ = got <= 0;
    if (ended_) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace weir::http::test
