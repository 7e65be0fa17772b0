// Clients that would fill the memory of the hub's process.
#include "bus_fixture.hpp"
#include "weir_catch.hpp"

#include <malloc.h>
#include <spawn.h>
#include <zmq.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

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
  // Sends as much as the kernel accepts at once; -1: the connection has ended.
  [[nodiscard]] ssize_t send_now(std::string_view bytes) const {
    const ssize_t now = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return now < 0 && errno == EAGAIN ? 0 : now;
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

TEST_CASE("a long command is read only from a client that may send one, and counted otherwise") {
  Middle middle(small());
  Client client({"127.0.0.1", middle.hub.port(), {}}, {});
  client.send(heartbeat(1));
  REQUIRE(middle.until([&] { return middle.heard.size() == 1; }));
  v1::BusMessage many;
  for (int i = 0; i < 600'000; ++i) (void)many.mutable_run_over()->mutable_summary()->add_nodes();
  REQUIRE(many.ByteSizeLong() > small().first_bytes_max);
  for (int i = 0; i < 3; ++i) client.send(many);
  client.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
  CHECK(middle.hub.counters().too_long == 3);
  CHECK(middle.heard.back().message.has_heartbeat());
  middle.takes_long = true;
  client.send(many);
  REQUIRE(middle.until([&] { return middle.heard.size() == 3; }));
  CHECK(middle.heard.back().message.has_run_over());
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

namespace {

// The hub in a process of its own, which reports its largest resident memory at its end.
class HubProcess {
 public:
  HubProcess() {
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    REQUIRE((::pipe2(to.data(), O_CLOEXEC) == 0 && ::pipe2(from.data(), O_CLOEXEC) == 0));
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, from[1], STDOUT_FILENO);
    std::string program = "/proc/self/exe";
    std::string test = "[hub-process]";
    std::array<char*, 3> arguments{program.data(), test.data(), nullptr};
    REQUIRE(::posix_spawn(&pid_, program.c_str(), &files, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&files);
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = ::fdopen(from[0], "r");
  }
  ~HubProcess() {
    if (in_ >= 0) ::close(in_);
    std::fclose(out_);
    (void)::waitpid(pid_, nullptr, 0);
  }
  HubProcess(const HubProcess&) = delete;
  HubProcess& operator=(const HubProcess&) = delete;
  // The number in the next line that begins with `word`.
  [[nodiscard]] std::size_t read(const std::string& word) const {
    std::array<char, 256> line{};
    while (std::fgets(line.data(), line.size(), out_) != nullptr) {
      const std::string text = line.data();
      if (text.starts_with(word)) return std::stoul(text.substr(word.size()));
    }
    FAIL("the hub's process said no " << word);
    return 0;
  }
  std::size_t largest_bytes() {
    ::close(std::exchange(in_, -1));
    return read("VmHWM ") << 10;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
  std::FILE* out_ = nullptr;
};

struct Load {
  int clients = 0;
  std::size_t message_bytes = 0;
  int messages = 0;
  bool stops = false;  // in the middle of the last message
};

std::string frame(const std::string& body) {
  std::string made = "\x02";
  for (int shift = 56; shift >= 0; shift -= 8) made += static_cast<char>(body.size() >> shift);
  return made + body;
}

// All clients send at once, each as much as the hub takes, for three seconds at most.
void send_all(std::uint16_t port, const Load& load) {
  struct Sender {
    explicit Sender(std::uint16_t port) : client(port) {}
    RawClient client;
    std::size_t sent = 0;
    bool ended = false;
  };
  std::list<Sender> senders;
  std::string text;
  for (int i = 0; i < load.messages; ++i) text += frame(std::string(load.message_bytes, '\0'));
  if (load.stops) text.resize(text.size() - load.message_bytes / 2);
  for (int i = 0; i < load.clients; ++i) senders.emplace_back(port);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (bool busy = true; busy && std::chrono::steady_clock::now() < until;) {
    busy = false;
    for (Sender& one : senders) {
      if (one.ended || one.sent == text.size()) continue;
      const std::size_t size = std::min<std::size_t>(text.size() - one.sent, 256U << 10);
      const ssize_t now = one.client.send_now(std::string_view(text).substr(one.sent, size));
      one.ended = now < 0;
      one.sent += now > 0 ? static_cast<std::size_t>(now) : 0;
      busy = true;
    }
  }
}

}  // namespace

TEST_CASE("a hub's process", "[.][hub-process]") {
  (void)::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  Middle middle;
  std::printf("port %u\n", middle.hub.port());
  std::fflush(stdout);
  pollfd end{STDIN_FILENO, POLLIN, 0};
  while (::poll(&end, 1, 0) == 0) middle.hub.poll(10 * kMillisecond, middle);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) std::printf("VmHWM %s\n", line.substr(6).c_str());
  }
  std::printf("ended %lu\n", middle.hub.counters().ended);
  std::fflush(stdout);
}

TEST_CASE("the memory of a hub is bounded against clients that send large messages or stop within one") {
  if (!std::string_view(WEIR_TEST_SANITIZERS).empty()) return;  // their allocators keep freed memory
  const Load load = GENERATE(Load{400, 3'000'000, 5, false}, Load{400, 3'000'000, 5, true});
  CAPTURE(load.message_bytes, load.stops);
  HubProcess hub;
  send_all(static_cast<std::uint16_t>(hub.read("port ")), load);
  HubSettings settings;
  settings.connections_max = 400;
  constexpr std::size_t kProcess = 24U << 20;  // without clients, and messages on their way
  CHECK(hub.largest_bytes() < client_bytes_max(settings) + kProcess);
  CHECK(hub.read("ended ") > 0);
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
