// `weir probe`: measures ports of a lab, and survives strangers.
#include "kept_lab.hpp"
#include "needs_root.hpp"
#include "udp_socket.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <poll.h>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

const std::string kWeir = std::string(WEIR_BIN_DIR) + "/weir";

// A server, and where it listens.
class ProbeServer {
 public:
  ProbeServer(const TemporaryFolder& folder, const std::string& command)
      : process_({"/bin/sh", "-c", "exec " + command}, folder / "server.out", folder / "server.err") {
    if (!wait_until([&] { return process_.out().find("Ctrl-C") != std::string::npos; }, Seconds(30)))
      throw std::runtime_error("no server: " + process_.err());
  }
  [[nodiscard]] std::string at() const {
    std::istringstream words(process_.out());
    std::string word;
    while (words >> word && word != "at") {
    }
    words >> word;
    return word.substr(0, word.find_last_not_of(',') + 1);
  }
  [[nodiscard]] std::uint16_t port() const {
    const std::string text = at();
    return static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
  }
  // Ends it as Ctrl-C does. Returns its output.
  [[nodiscard]] std::string finish() {
    process_.send_signal(SIGINT);
    CHECK(process_.wait(Seconds(20)) == 0);
    return process_.out();
  }

 private:
  Process process_;
};

// Returns the bytes or bits of a farm file's value: "98k", "199.8mbit".
double value_of(const std::string& yaml, const std::string& key) {
  const std::size_t at = yaml.find("\n  " + key + ": ");
  if (at == std::string::npos) return 0;
  char* unit = nullptr;
  const double number = std::strtod(yaml.c_str() + at + key.size() + 5, &unit);
  return *unit == 'k' && unit[1] != 'b' ? number * 1024
         : *unit == 'k'                 ? number * 1e3
         : *unit == 'm'                 ? number * 1e6
                                        : number;
}

bool near(double measured, double is, double share) { return std::abs(measured - is) <= share * is; }

class TcpClient {
 public:
  explicit TcpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  }
  ~TcpClient() { ::close(socket_); }
  TcpClient(const TcpClient&) = delete;
  TcpClient& operator=(const TcpClient&) = delete;

  void send(const std::string& bytes) const {
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Returns whether the server closes the connection within this time.
  [[nodiscard]] bool is_closed(Seconds patience) const {
    return wait_until(
        [&] {
          char byte = 0;
          return ::recv(socket_, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
        },
        patience);
  }

 private:
  int socket_;
};

}  // namespace

TEST_CASE("random ports of a lab are measured within 5 per cent of their rate and 10 of their buffer") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  std::mt19937 random(20260157);
  const auto between = [&random](int from, int to) {
    return std::uniform_int_distribution(from, to)(random);
  };
  const std::string name = "probe" + std::to_string(::getpid());
  std::string text = "lab: " + name + "\nport_rate: 1gbit\nhosts:\n  - {name: h0}\n";
  struct Port {
    double rate;
    double buffer;
  };
  std::vector<Port> ports;
  for (int host = 1; host <= 3; ++host) {
    ports.push_back({between(20, 120) * 1e6, between(20, 200) * 1024.0});
    text += "  - {name: h" + std::to_string(host) +
            ", port_rate: " + std::to_string(std::lround(ports.back().rate)) +
            "bit, port_buffer: " + std::to_string(std::lround(ports.back().buffer)) + "}\n";
  }
  const std::string lab = folder.write("lab.yaml", text);
  const TakenDown taken_down{folder, lab};
  const auto up = run_command(folder, "weir", {"lab", "up", lab});
  INFO(up.err);
  REQUIRE(up.status == 0);
  const auto on_host = [&](int host) {
    return "ip netns exec weir." + name + ".h" + std::to_string(host) + " " + kWeir + " probe ";
  };
  ProbeServer server(folder, on_host(0) + "--listen 10.77.1.1:0 --open");
  for (int host = 1; host <= 3; ++host) {
    const Port& port = ports[static_cast<std::size_t>(host - 1)];
    std::string out;
    double rate = 0;
    double buffer = 0;
    // A host that gets no core cannot fill a port: again, up to three times.
    for (int attempt = 0; attempt < 3 && !(near(rate, port.rate, 0.05) && near(buffer, port.buffer, 0.1));
         ++attempt) {
      Process client({"/bin/sh", "-c", "exec " + on_host(host) + server.at() + " --line --echoes 20"},
                     folder / "client.out", folder / "client.err");
      CHECK(client.wait(Seconds(60)) == 0);
      out = client.out() + client.err();
      rate = value_of(out, "port_rate");
      buffer = value_of(out, "port_buffer");
    }
    INFO("port " << port.rate << " bit/s, " << port.buffer << " bytes: " << out);
    CHECK(near(rate, port.rate, 0.05));
    CHECK(near(buffer, port.buffer, 0.1));
    CHECK(value_of(out, "round_trip_us") >= 1);
  }
  CHECK_THAT(server.finish(), Catch::ContainsSubstring("refused 0"));
}

TEST_CASE("pausing the port of a software switch shows its queue, and a bridge does not obey") {
  NEEDS_ROOT();
  const std::string name = "pause" + std::to_string(::getpid());
  const auto probe = [&](const std::string& switches) {
    const TemporaryFolder folder;
    const std::string lab =
        folder.write("lab.yaml", "lab: " + name + "\nhost_count: 2\nport_rate: 50mbit\nport_buffer: 30k\n");
    const TakenDown taken_down{folder, lab};
    const auto up = run_command(folder, "weir", {"lab", "up", lab, "--set", "lab.switches=" + switches});
    INFO(up.err);
    REQUIRE(up.status == 0);
    const auto on_host = [&](int host) {
      return "ip netns exec weir." + name + ".h" + std::to_string(host) + " " + kWeir + " probe ";
    };
    ProbeServer server(folder, on_host(0) + "--listen 10.77.1.1:0 --open");
    Process client({"/bin/sh", "-c", "exec " + on_host(1) + server.at() + " --line --echoes 20 --pause-port"},
                   folder / "client.out", folder / "client.err");
    CHECK(client.wait(Seconds(60)) == 0);
    // The flood's losses are in the status, whether a bridge's port or a software switch counted them.
    const auto status =
        run_command(folder, "weir", {"lab", "status", lab, "--set", "lab.switches=" + switches});
    INFO(status.out);
    const std::string port = status.out.substr(std::min(status.out.size(), status.out.find("  switch>h1 ")));
    const std::string row = port.substr(0, port.find('\n'));
    CHECK(row.ends_with(" dropped"));
    CHECK_FALSE(row.ends_with(" 0 dropped"));
    CHECK((status.out.find("256 for each port") != std::string::npos) == (switches == "software"));
    return client.out() + client.err();
  };
  const std::string obeyed = probe("software");
  INFO(obeyed);
  CHECK_THAT(obeyed, Catch::ContainsSubstring("it counts frames\n"));
  // 256 frames of a port without rings, and 32 on their way to the interface; some of them are TCP's.
  CHECK(near(value_of(obeyed, "port_buffer"), 288 * 1514, 0.02));
  CHECK_THAT(probe("bridges"), Catch::ContainsSubstring("does not obey pause frames"));
}

TEST_CASE("a server survives strangers, answers no datagram of theirs, and serves clients with its key") {
  const TemporaryFolder folder;
  REQUIRE(run_command(folder, "weir", {"keys", "new", folder / "keys"}).status == 0);
  REQUIRE(run_command(folder, "weir", {"keys", "new", folder / "others"}).status == 0);
  const std::string key = folder / "keys/farm.key";
  ProbeServer server(folder, kWeir + " probe --listen 127.0.0.1:0 --key " + key);

  std::vector<std::unique_ptr<TcpClient>> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(std::make_unique<TcpClient>(server.port()));
  for (const std::string& garbage :
       {std::string(4096, 'x'), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\xff\xff\xff\xff\x01", 5),
        std::string("\x00\x00\x00\x00\x0a", 5)}) {
    const TcpClient stranger(server.port());
    stranger.send(garbage);
    CHECK(stranger.is_closed(Seconds(20)));
  }
  const UdpSocket stranger;
  REQUIRE(stranger.bind(0));
  std::vector<std::byte> echo(64);
  const std::string magic("WPB1\x01", 5);
  std::transform(magic.begin(), magic.end(), echo.begin(),
                 [](char letter) { return static_cast<std::byte>(letter); });
  for (int i = 0; i < 50; ++i) {
    stranger.send_to(server.port(), echo);
    stranger.send_to(server.port(), std::vector<std::byte>(static_cast<std::size_t>(i)));
  }
  while (silent.size() < 8) silent.push_back(std::make_unique<TcpClient>(server.port()));
  CHECK(TcpClient(server.port()).is_closed(Seconds(3)));  // before the silent ones are
  silent.clear();

  const auto client = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"probe", server.at()};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(folder, "weir", words);
  };
  CHECK(wait_until(  // until the server has noticed that the silent ones have left
      [&] {
        const CommandEnd without = client({});
        return without.status == 3 && without.err.find("needs a key") != std::string::npos;
      },
      Seconds(20)));
  const CommandEnd other = client({"--key", folder / "others/farm.key"});
  CHECK(other.status == 3);
  CHECK_THAT(other.err, Catch::ContainsSubstring("the key is not the one of this server"));
  const CommandEnd good =
      client({"--key", key, "--line", "--echoes", "20", "--out", folder / "samples.jsonl"});
  INFO(good.err);
  CHECK(good.status == 0);
  CHECK_THAT(good.out, Catch::ContainsSubstring("20 of 20 echoes") && Catch::ContainsSubstring("network:\n"));
  CHECK_THAT(read_file(folder / "samples.jsonl"),
             Catch::ContainsSubstring("{\"kind\":\"round_trip\",\"us\":"));
  CHECK(stranger.is_silent());
  CHECK_THAT(server.finish(), Catch::ContainsSubstring("served 1 connections") &&
                                  Catch::ContainsSubstring("and 100 datagrams"));
}

TEST_CASE("a server that other machines reach needs a key or the word open") {
  const TemporaryFolder folder;
  const CommandEnd end = run_command(folder, "weir", {"probe", "--listen", "0.0.0.0:0"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, Catch::ContainsSubstring("--key") && Catch::ContainsSubstring("--open"));
  CHECK(run_command(folder, "weir", {"probe"}).status == 2);
  CHECK(run_command(folder, "weir", {"probe", "--listen", "127.0.0.1:0", "127.0.0.1:1"}).status == 2);
  const CommandEnd nobody = run_command(folder, "weir", {"probe", "127.0.0.1:1"});
  CHECK(nobody.status == 3);
  CHECK_THAT(nobody.err, Catch::ContainsSubstring("127.0.0.1:1 cannot be connected to"));
}
