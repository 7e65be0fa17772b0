// Clients that would fill the memory of the hub's process.
#include "bus_fixture.hpp"
#include "weir_catch.hpp"

#include <zmq.hpp>

#include <array>
#include <fstream>
#include <list>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using namespace weir;
using namespace weir::bus;
using weir::bus::test::heartbeat;
using weir::bus::test::Middle;

namespace {

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

HubSettings small() {
  HubSettings settings;
  settings.connections_max = 20;
  settings.held_bytes_max = 8U << 20;
  settings.first_bytes_max = 1U << 20;
  return settings;
}

zmq::socket_t connected(zmq::context_t& context, const Hub& hub) {
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::reconnect_ivl, -1);
  socket.set(zmq::sockopt::sndhwm, 2);
  socket.connect("tcp://127.0.0.1:" + std::to_string(hub.port()));
  return socket;
}

// Speaks ZMTP 3.0 without a mechanism, byte by byte.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    constexpr timeval kPatience{0, 100'000};
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f\x03\0NULL", 16);
    greeting.resize(64, '\0');
    const std::string ready = std::string("\x05READY\x0bSocket-Type\0\0\0\x06", 22) + "DEALER";
    REQUIRE(send(greeting + '\x04' + static_cast<char>(ready.size()) + ready));
    // A message that overtakes the hub's READY breaks the handshake.
    std::string heard;
    std::array<char, 256> piece{};
    while (heard.find("READY") == std::string::npos) {
      const ssize_t size = ::recv(socket_, piece.data(), piece.size(), 0);
      REQUIRE(size > 0);
      heard.append(piece.data(), static_cast<std::size_t>(size));
    }
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  [[nodiscard]] bool send(const std::string& bytes) const {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += static_cast<std::size_t>(now);
    }
    return true;
  }

 private:
  int socket_;
};

}  // namespace

TEST_CASE("a message in parts that never ends costs its connection, and no memory") {
  Middle middle(small());
  Client good({"127.0.0.1", middle.hub.port(), {}}, {});
  good.send(heartbeat(1));
  REQUIRE(middle.until([&] { return middle.heard.size() == 1; }));
  RawClient raw(middle.hub.port());
  const std::string part = "\x03" + std::string("\0\0\0\0\0\x01\0\0", 8) + std::string(65'536, 'x');
  const std::size_t before = resident_bytes();
  REQUIRE(middle.until([&] {
    (void)raw.send(part);
    return middle.hub.counters().ended > 0;
  }));
  CHECK(resident_bytes() < before + (64U << 20));
  good.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
}

// The hub takes no message meanwhile.
TEST_CASE("large messages of many clients are held up to the limit") {
  HubSettings settings = small();
  settings.first_bytes_max = 64U << 20;
  Middle middle(settings);
  const std::size_t before = resident_bytes();
  std::list<RawClient> clients;
  for (int i = 0; i < 15; ++i) clients.emplace_back(middle.hub.port());
  const std::string large = "\x02" + std::string("\0\0\0\0\0\x20\0\0", 8) + std::string(2U << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    for (RawClient& client : clients) (void)client.send(large);
  }
  CHECK(middle.until([&] { return middle.hub.counters().ended > 0; }));
  CHECK(resident_bytes() < before + (96U << 20));
}

TEST_CASE("connections beyond the limit end, and the others stay") {
  Middle middle(small());
  Client good({"127.0.0.1", middle.hub.port(), {}}, {});
  good.send(heartbeat(1));
  REQUIRE(middle.until([&] { return middle.heard.size() == 1; }));
  zmq::context_t context;
  std::list<zmq::socket_t> many;
  for (int i = 0; i < 60; ++i) many.push_back(connected(context, middle.hub));
  REQUIRE(middle.until([&] { return middle.hub.counters().ended >= 41; }));
  good.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
}

TEST_CASE("a client that asks and does not read its answers loses its connection") {
  HubSettings settings = small();
  settings.queue_max = 1'000'000;
  Middle middle(settings);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvhwm, 1);
  socket.connect("tcp://127.0.0.1:" + std::to_string(middle.hub.port()));
  const std::string request = heartbeat(1).SerializeAsString();
  socket.send(zmq::buffer(request), zmq::send_flags::none);
  REQUIRE(middle.until([&] { return middle.heard.size() == 1; }));
  v1::BusMessage answer;
  answer.mutable_reply()->set_error(std::string(100'000, 'x'));
  std::size_t answered = 0;
  REQUIRE(middle.until([&] {
    if (answered < 1000) middle.hub.send(middle.heard.front().from.id, answer);
    ++answered;
    return middle.hub.counters().ended > 0;
  }));
  CHECK(answered < 1000);
}
