#include "weir_catch.hpp"
#include <weir/http/client.hpp>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace weir;
using namespace weir::http;

namespace {

// Accepts one connection and sends a fixed text, whatever the request is. Then closes, or waits for the
// peer's end.
class Says {
 public:
  explicit Says(std::string text, bool stays = false) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(fd_, 1);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, text = std::move(text), stays] {
      const int peer = ::accept(fd_, nullptr, nullptr);
      char scrap[4096];
      [[maybe_unused]] const ssize_t asked = ::recv(peer, scrap, sizeof scrap, 0);
      [[maybe_unused]] const ssize_t sent = ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
      while (stays && ::recv(peer, scrap, sizeof scrap, 0) > 0) {
      }
      ::close(peer);
    });
  }
  ~Says() {
    thread_.join();
    ::close(fd_);
  }
  Says(const Says&) = delete;
  Says& operator=(const Says&) = delete;
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/x?y=1"; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("an answer is taken with its status, with or without a length") {
  const Says with("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone");
  auto got = get(with.url());
  REQUIRE(got.has_value());
  CHECK(got->status == 404);
  CHECK(got->body == "none");
  const Says without("HTTP/1.0 200 OK\r\n\r\nto the end");
  got = get(without.url());
  REQUIRE(got.has_value());
  CHECK(got->body == "to the end");
}

TEST_CASE("an incomplete or invalid answer is malformed") {
  for (const char* text : {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "SSH-2.0-x\r\n\r\n",
                           "HTTP/1.1 \r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    const Says server(text);
    INFO(text);
    const auto got = get(server.url());
    REQUIRE(!got.has_value());
    CHECK(got.error() == ClientError::malformed);
  }
}

TEST_CASE("a silent or verbose server is given up") {
  {
    const Says silent("", true);
    ClientLimits limits;
    limits.timeout_ns = 100 * kMillisecond;
    CHECK(get(silent.url(), limits).error() == ClientError::timeout);
  }
  const Says loud("HTTP/1.0 200 OK\r\n\r\n" + std::string(100'000, 'x'));
  ClientLimits limits;
  limits.bytes_max = 1000;
  CHECK(get(loud.url(), limits).error() == ClientError::too_large);
}

TEST_CASE("text that is not a URL is rejected before anything is sent") {
  for (const char* url :
       {"", "http://", "http://:80/", "host:port", "[::1", "http://h/a b", "http://h/\r\nX: y"}) {
    INFO(url);
    CHECK(get(url).error() == ClientError::bad_url);
  }
  CHECK(post("127.0.0.1:1", "", "to\r\nken").error() == ClientError::bad_url);
  CHECK(get("http://no-such-host.invalid/").error() == ClientError::no_such_host);
  CHECK(get("127.0.0.1:1").error() == ClientError::not_connected);
}
