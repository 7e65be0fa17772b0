// The switch in software: in a farm's lab, and as a program between interfaces of this host.
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "own_space.hpp"
#include "switch_sockets.hpp"
#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"
#include <weir/http/client.hpp>
#include <weir/launch/control_process.hpp>
#include <weir/packet_switch/packet_port.hpp>
#include <weir/v1/bus.pb.h>

#include <boost/json.hpp>

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sched.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::Matchers::ContainsSubstring;

constexpr const char* kSwitchFile =
    "name: daq\nmetrics: 127.0.0.1:0\nports:\n  - {interface: h0, addresses: [10.0.0.2]}\n  - {interface: "
    "h1}\n"
    "rings: [{name: dcm-0, address: 10.0.0.1, via: h1, packets: 8, rate: 1mbit, burst: 2k}]\n";

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

constexpr const char* kIdleSwitchedFarm = "readout: {count: 1}\ndcm: {count: 1}\nwriter: {count: 0}\n";

std::string status_of(pid_t pid) { return read_file("/proc/" + std::to_string(pid) + "/status"); }

// A farm with a switch between the cables h0-data0 and h1-data1, which gets its table from run control.
class SwitchedFarm {
 public:
  // `further`: further switch files, as ", /path".
  SwitchedFarm(const TemporaryFolder& folder, const std::string& rate,
               const std::string& yaml = kIdleSwitchedFarm, const std::string& further = {})
      : folder_(folder), keys_(new_keys("keys")), file_(folder / "daq.yaml") {
    write_table(rate);
    test::add_cable("h0", "data0");
    test::add_cable("h1", "data1");
    REQUIRE(std::system("ip link set lo up") == 0);
    sender_.emplace(packet_switch::PortInterface{"data0", 1514, 64, 4096});
    receiver_.emplace(packet_switch::PortInterface{"data1", 1514, 4096, 64});
    farm_.emplace(folder, yaml, std::vector<std::string>{"supervisor", "readout-0", "dcm-0"},
                  ", keys: " + keys_ + ", switches: [" + file_ + further + "]");
  }

  // `more`: further keys of the file.
  void write_table(const std::string& rate, const std::string& more = {}) const {
    std::ofstream(file_) << "name: daq\nports: [{interface: h0}, {interface: h1}]\n" + more +
                                "rings:\n  - {name: dcm-0, address: 10.0.0.1, via: h1, burst: 2k, rate: " +
                                rate + "}\n" + sockets_line();
  }
  [[nodiscard]] std::unique_ptr<Process> make_switch(const std::string& keys) {
    const std::string log = folder_ / "switch-" + std::to_string(++starts_);
    const std::string at = "127.0.0.1:" + std::to_string(farm_->port());
    return std::make_unique<Process>(std::vector<std::string>{WEIR_BIN_DIR "/weir-switch", "--control", at,
                                                              "--keys", keys, "--name", "daq"},
                                     log + ".out", log + ".err");
  }
  void start_switch() {
    process_ = make_switch(keys_);
    REQUIRE(wait_until([&] { return logged("switching queues="); }, Seconds(30)));
  }
  void kill_switch() {
    process_->send_signal(SIGKILL);
    (void)process_->wait(Seconds(10));
  }
  [[nodiscard]] std::string new_keys(const std::string& name) const {
    REQUIRE(run_command(folder_, "weir", {"keys", "new", folder_ / name}).status == 0);
    return folder_ / name;
  }
  [[nodiscard]] const std::string& keys() const { return keys_; }
  [[nodiscard]] ControlledFarm& farm() { return *farm_; }
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] bool logged(const std::string& text) const {
    return process_->err().find(text) != std::string::npos;
  }
  // Waits for a text in the answer of `weir ctl status`.
  [[nodiscard]] bool shows(const std::string& text) const {
    return wait_until([&] { return farm_->ctl({"status"}).out.find(text) != std::string::npos; },
                      Seconds(20));
  }
  void send(std::size_t count) {
    const auto frame = switching::frame_to(switching::kFirstAddress);
    REQUIRE(sender_->send(std::vector<ConstBytes>(count, ConstBytes(frame))).frames == count);
  }
  // Waits until so many frames have arrived, since the start of the test.
  [[nodiscard]] bool receives(std::size_t count) {
    return wait_until(
        [&] {
          while (receiver_->receive()) ++received_;
          return received_ >= count;
        },
        Seconds(20));
  }

 private:
  const TemporaryFolder& folder_;
  std::string keys_;
  std::string file_;
  std::optional<packet_switch::PacketPort> sender_;
  std::optional<packet_switch::PacketPort> receiver_;
  std::optional<ControlledFarm> farm_;
  std::unique_ptr<Process> process_;
  std::size_t received_ = 0;
  int starts_ = 0;
};

// Waits until the switch has reported its rings: its connection to run control stays from then on.
bool has_rings(const ControlledFarm& farm) {
  return wait_until(
      [&] {
        const boost::json::value state = farm.status();
        const auto& report = state.at("switches").at(0).at("report").as_object();
        return report.contains("rings") && !report.at("rings").as_array().empty();
      },
      Seconds(20));
}

// The reasons of the findings about switches that have this text. A switch of a busy machine may be silent.
std::vector<std::string> switch_findings(const ControlledFarm& farm, const std::string& text) {
  std::vector<std::string> reasons;
  const boost::json::value state = farm.status();
  for (const boost::json::value& one : state.at("health").as_array()) {
    const std::string reason(one.at("reason").as_string());
    if (one.at("word").as_string() == "switch" && reason.find(text) != std::string::npos)
      reasons.push_back(reason);
  }
  return reasons;
}

// Triggers of the supervisor so far.
std::uint64_t triggers_of(const ControlledFarm& farm) {
  const boost::json::value state = farm.status();
  for (const boost::json::value& one : state.at("nodes").as_array()) {
    if (one.at("name").as_string() != "supervisor") continue;
    const auto* count = one.at("report").at("counters").as_object().if_contains("triggered");
    return count != nullptr ? std::stoull(std::string(count->as_string())) : 0;
  }
  return 0;
}

std::uint64_t number_at(const boost::json::value& object, const char* key) {
  return object.at(key).to_number<std::uint64_t>();
}

std::string random_text(std::mt19937& random) {
  std::string text(1 + random() % 2000, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

sockaddr_in loopback_at(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

// Connects to run control and sends bytes of no protocol, over and over.
void send_garbage_to(std::uint16_t port) {
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in at = loopback_at(port);
    REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    const std::string garbage = random_text(random);
    (void)::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
}

// Listens in run control's place, and answers each of so many connections with bytes of no protocol.
void answer_with_garbage(std::uint16_t port, int connections) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const timeval patience{20, 0};
  ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in at = loopback_at(port);
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(listener, SOMAXCONN) == 0);
  std::mt19937 random(2);
  for (int i = 0; i < connections; ++i) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    REQUIRE(socket >= 0);
    const std::string garbage = random_text(random);
    (void)::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
  ::close(listener);
}

// Sends reports of random content under these names, as a process of the farm.
void send_reports(const bus::ClientSettings& settings, const std::vector<std::string>& names) {
  bus::Client client(settings, [] {});
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    v1::BusMessage message;
    v1::SwitchReport& report = *message.mutable_switch_report();
    report.set_name(names[static_cast<std::size_t>(i) % names.size()]);
    report.set_host("\x1b[31m" + std::to_string(random()));
    report.set_started_ns(-static_cast<std::int64_t>(random()));
    report.set_received(random());
    for (auto ring = random() % 5000; ring > 0; --ring)
      report.add_rings()->set_waiting(std::uint64_t{random()} << 32U);
    client.send(message);
  }
  (void)client.wait(5 * kSecond);
}

// Returns a transmitted frames' counter of the kernel, in this thread's namespace: those that the cable lost.
std::uint64_t lost_by(const std::string& device) {
  std::istringstream lines(read_file("/proc/thread-self/net/dev"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, colon).find(device) == std::string::npos) continue;
    std::istringstream words(line.substr(colon + 1));
    std::array<std::uint64_t, 12> values{};  // eight of receiving, then bytes, packets, errors, drops
    for (std::uint64_t& value : values) words >> value;
    return values[11];
  }
  throw std::runtime_error("no interface " + device);
}

// Every thread has lost its rights.
void check_rights(pid_t pid) {
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  std::size_t threads = 0;
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    const std::string status = read_file((task.path() / "status").string());
    CHECK_THAT(status, ContainsSubstring("CapPrm:\t0000000000000000") &&
                           ContainsSubstring("NoNewPrivs:\t1") && !ContainsSubstring("Uid:\t0"));
    ++threads;
  }
  CHECK(threads > 1);
}

}  // namespace

TEST_CASE(
    "a farm behind software switches and slow cards that pause has a ring for each DCM, and loses no frame",
    "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::vector<std::string> arguments{"--lab", config_file("lab/mesh-6.yaml"), "--slices", "120"};
  std::vector<std::string> more = arguments;
  for (const char* set : {"lab.switches=software", "lab.port_queue=per-dcm", "lab.addresses=per-dcm",
                          "dcm.shaper=none", "lab.port_rate=100mbit", "source.size_bytes=8192",
                          "lab.port_buffer=16k", "lab.nic_rate=50mbit", "lab.nic_pauses=true"}) {
    more.insert(more.end(), {"--set", set});
  }
  const FarmEnd end = run_farm(folder, config_file("all-to-all-6x2.yaml"), more);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("lab.relay.switches") == 1);
  // A busy machine may hold the switch up, so that frames find its receive queues full.
  const auto& drops = end.summary.json().at("lab").at("relay").at("drops").as_object();
  for (const auto& [reason, frames] : drops) {
    CAPTURE(std::string(reason));
    if (reason != "receive_full") CHECK(frames.to_number<std::uint64_t>() == 0);
  }
  CHECK(end.summary.count("lab.relay.frames") > 120 * 5 * 8192 / 1448);
  CHECK_THAT(end.out, ContainsSubstring("1 in software for 6 hosts"));
  std::uint64_t pauses = 0;
  for (const auto& port : end.summary.json().at("ports").as_array())
    pauses += port.at("pauses").to_number<std::uint64_t>();
  CHECK(pauses > 0);
}

TEST_CASE("weir-switch gives up its rights, limits a ring, and accounts for every frame") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "switch.yaml").string();
  std::ofstream(file) << kSwitchFile << sockets_line();
  test::in_own_space([&] {
    test::add_cable("h0", "data0");
    test::add_cable("h1", "data1");
    packet_switch::PacketPort sender({"data0", 1514, 64, 4096});
    packet_switch::PacketPort receiver({"data1", 1514, 4096, 64});
    REQUIRE(std::system("ip link set lo up") == 0);
    Process process({WEIR_BIN_DIR "/weir-switch", file}, (folder.path() / "out").string(),
                    (folder.path() / "err").string());
    REQUIRE(wait_until([&] { return process.err().find("switching queues=") != std::string::npos; },
                       Seconds(30)));
    CHECK_THAT(status_of(process.pid()), ContainsSubstring("CapEff:\t0000000000000000"));
    CHECK_THAT(status_of(process.pid()), !ContainsSubstring("Uid:\t0"));
    const auto frame = switching::frame_to(switching::kFirstAddress);
    const std::vector<ConstBytes> frames(50, ConstBytes(frame));
    REQUIRE(sender.send(frames).frames == 50);
    std::size_t received = 0;
    const auto count_more = [&] {
      while (receiver.receive()) ++received;
      return received;
    };
    // Eight wait for their turn, 12.3 ms each. The first one may have left before the others came.
    CHECK(wait_until([&] { return count_more() >= 8; }, Seconds(30)));
    (void)wait_until([&] { return count_more() > 8; }, Seconds(1));
    CHECK(received <= 9);
    const std::string dropped = std::to_string(50 - received);
    process.send_signal(SIGTERM);
    REQUIRE(process.wait(Seconds(30)) == 3);
    CHECK_THAT(process.out(), ContainsSubstring("50 received, " + std::to_string(received) + " sent, " +
                                                dropped + " dropped: queue_full " + dropped));
    CHECK_THAT(process.out(), ContainsSubstring("ring: " + std::to_string(received) + " frames, " + dropped +
                                                " dropped, at most 8 of 8 waiting"));
  });
}

TEST_CASE("run control gives weir-switch its table, and another rate while frames wait") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  test::in_own_space([&] {
    SwitchedFarm farm(folder, "10kbit");
    farm.start_switch();
    check_rights(farm.process().pid());
    farm.send(20);
    // A frame takes 1.2 s at 10 kb/s.
    REQUIRE(farm.shows("frames wait in dcm-0"));
    farm.farm().must({"init"});

    // Mistakes leave the table and its frames as they are.
    farm.write_table("fast");
    CHECK_THAT(farm.farm().ctl({"configure"}).err, ContainsSubstring("daq.yaml:4: rings[0].rate: 'fast'"));
    farm.write_table("unlimited", "mtu: 9000\n");
    farm.farm().must({"configure"});
    CHECK(farm.shows("does not use its table: "));
    CHECK(farm.logged("daq.yaml:3: mtu: only rings and addresses can change"));
    CHECK_FALSE(farm.logged("table changed"));

    farm.write_table("unlimited");
    farm.farm().must({"configure"});
    CHECK(farm.receives(20));
    CHECK(farm.logged("table changed"));
    REQUIRE(farm.shows("20 frames received, 20 sent"));

    // In a run.
    farm.farm().must({"start", "1"});
    farm.write_table("slow");
    CHECK_THAT(farm.farm().ctl({"switches"}).err, ContainsSubstring("daq.yaml:4: rings[0].rate: 'slow'"));
    farm.write_table("10kbit");
    farm.farm().must({"switches"});
    CHECK(wait_until([&] { return count_of(farm.process().err(), "table changed") == 2; }, Seconds(20)));
    farm.send(5);
    REQUIRE(farm.shows("frames wait in dcm-0"));
    farm.write_table("unlimited");
    farm.farm().must({"switches"});
    CHECK(farm.receives(25));
    REQUIRE(farm.shows("25 frames received, 25 sent"));
    farm.farm().must({"stop"});
    const auto record = farm.farm().record(1);
    std::vector<std::string> changes;
    for (const auto& operation : record.at("operations").as_array())
      changes.emplace_back(operation.at("what").as_string());
    CHECK(changes == std::vector<std::string>(2, "table of switch daq"));
    REQUIRE(record.at("switches").as_array().size() == 1);
    const auto& daq = record.at("switches").at(0);
    CHECK(number_at(daq, "received") == 5);
    CHECK(number_at(daq, "forwarded") == 5);
    CHECK(number_at(daq, "tables_changed") == 2);
    CHECK(number_at(daq, "restarts") == 0);
    CHECK(daq.at("dropped").as_object().empty());
    const auto& ring = daq.at("rings").at(0);
    CHECK(ring.at("name").as_string() == "dcm-0");
    // Before the run 19 or 20 have waited.
    CHECK(number_at(ring, "waiting_most") <= 5);
    CHECK(number_at(ring, "waiting_most") >= 1);
    CHECK(number_at(ring, "waiting_bytes_most") >= 60);
    farm.process().send_signal(SIGTERM);
    CHECK(farm.process().wait(Seconds(30)) == 0);
    CHECK_THAT(farm.process().out(), ContainsSubstring("25 received, 25 sent, 0 dropped"));
  });
}

TEST_CASE("weir-switch forwards without run control, and gets its table again after a death of either") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  test::in_own_space([&] {
    SwitchedFarm farm(folder, "unlimited");
    const auto stranger = farm.make_switch(farm.new_keys("other-keys"));
    farm.start_switch();
    farm.farm().kill_run_control();
    farm.send(5);
    CHECK(farm.receives(5));
    farm.write_table("1gbit");
    farm.farm().start_run_control();
    CHECK(wait_until([&] { return farm.logged("table changed"); }, Seconds(20)));
    farm.send(5);
    CHECK(farm.receives(10));
    farm.kill_switch();
    CHECK(farm.shows("switch daq is silent"));
    farm.start_switch();
    farm.send(5);
    CHECK(farm.receives(15));
    CHECK(farm.shows("switch   daq on "));
    CHECK_THAT(stranger->err(), ContainsSubstring("waiting for a table") && !ContainsSubstring("switching"));
  });
}

TEST_CASE("frames dropped by a switch in a run are a finding and a fault, across restarts") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  test::in_own_space([&] {
    SwitchedFarm farm(folder, "10kbit, packets: 4");
    farm.start_switch();
    REQUIRE(has_rings(farm.farm()));
    farm.farm().begin_run();
    CHECK(switch_findings(farm.farm(), "dropped").empty());
    farm.send(20);
    std::vector<std::string> findings;
    REQUIRE(wait_until(
        [&] {
          findings = switch_findings(farm.farm(), "switch daq dropped ");
          return !findings.empty();
        },
        Seconds(20)));
    REQUIRE(findings.size() == 1);
    CHECK_THAT(findings[0], ContainsSubstring("most for ring dcm-0; raise its `packets`"));
    farm.farm().kill_run_control();
    farm.farm().start_run_control();
    REQUIRE(has_rings(farm.farm()));
    farm.kill_switch();
    farm.start_switch();
    REQUIRE(farm.shows(": 0 frames received"));
    farm.farm().stop_with_faults("switch daq dropped ");
    const auto record = farm.farm().record(1);
    const auto& daq = record.at("switches").at(0);
    CHECK(number_at(daq, "received") == 20);
    CHECK(number_at(daq, "restarts") == 1);
    CHECK(number_at(daq.at("dropped"), "queue_full") >= 10);
    CHECK(number_at(daq.at("rings").at(0), "dropped") == number_at(daq.at("dropped"), "queue_full"));
    CHECK(number_at(daq.at("rings").at(0), "waiting_most") == 4);
  });
}

TEST_CASE(
    "a switch's channel has keys beside links with TLS, and a switch that never connects stops nothing") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  test::in_own_space([&] {
    std::ofstream(folder / "spare.yaml") << "name: spare\nports: [{interface: h2}, {interface: h3}]\n";
    SwitchedFarm farm(folder, "unlimited",
                      std::string(kIdleSwitchedFarm) +
                          "trigger: {mode: rate, rate_hz: 100}\nnetwork: "
                          "{hello_timeout_ms: 1000}\nsecurity: {key_file: '" +
                          (folder / "keys/farm.key") + "', tls: true}\n",
                      ", " + (folder / "spare.yaml"));
    farm.start_switch();
    farm.farm().begin_run();
    farm.send(20);
    CHECK(farm.receives(20));
    REQUIRE(farm.shows("20 frames received"));

    // The links use TLS: a peer without it is refused.
    const auto log = [&] { return farm.farm().node("supervisor").err(); };
    const std::string at = log().substr(log().find("listening at=127.0.0.1:") + 23);
    const WireClient plain(static_cast<std::uint16_t>(std::stoul(at)), v1::ROLE_CONTROL, "dcm-0", "any");
    CHECK(plain.raw().closed_by_peer(Seconds(10)));
    CHECK(wait_until([&] { return log().find("no TLS connection: both sides need") != std::string::npos; },
                     Seconds(20)));

    const auto of_spare = [&] { return switch_findings(farm.farm(), "switch spare "); };
    REQUIRE(wait_until([&] { return !of_spare().empty(); }, Seconds(20)));
    CHECK(of_spare() ==
          std::vector<std::string>{"switch spare has not connected: start `weir-switch --control`"});
    const std::uint64_t before = triggers_of(farm.farm());
    CHECK(wait_until([&] { return triggers_of(farm.farm()) > before + 50; }, Seconds(30)));
    CHECK(farm.farm().state() == "running");
    CHECK(farm.shows("switch   spare: not connected"));
    farm.farm().must({"stop"});
    const auto record = farm.farm().record(1);
    REQUIRE(record.at("switches").as_array().size() == 2);
    CHECK(number_at(record.at("switches").at(0), "received") == 20);
    CHECK(record.at("switches").at(1).at("name").as_string() == "spare");
    CHECK(record.at("switches").at(1).at("host").as_string().empty());
  });
}

TEST_CASE("the summary of `weir run` has the farm's switches, also one that has not connected") {
  const TemporaryFolder folder;
  std::ofstream(folder / "spare.yaml") << "name: spare\nports: [{interface: h2}, {interface: h3}]\n";
  const FarmEnd end =
      run_farm(folder, config_file("event-building.yaml"),
               {"--slices", "100", "--set", "control.switches=[" + (folder / "spare.yaml") + "]"});
  CHECK_BALANCED(end, 0);
  CHECK_THAT(end.out, ContainsSubstring("\nSwitches\n  spare        not connected\n"));
  REQUIRE(end.summary.json().at("switches").as_array().size() == 1);
  CHECK(end.summary.json().at("switches").at(0).at("name").as_string() == "spare");
}

TEST_CASE("garbage on run control's channel costs its sender the connection, and a switch keeps its table") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  test::in_own_space([&] {
    SwitchedFarm farm(folder, "unlimited");
    farm.start_switch();
    const std::string at = "127.0.0.1:" + std::to_string(farm.farm().port());
    send_garbage_to(farm.farm().port());
    const auto own = launch::bus_client(at, farm.keys(), security::BusRole::node);
    const auto foreign = launch::bus_client(at, farm.new_keys("foreign-keys"), security::BusRole::node);
    REQUIRE(own.has_value());
    REQUIRE(foreign.has_value());
    send_reports(*own, {"", "other", "\x01", std::string(100'000, 'x')});
    send_reports(*foreign, {"daq"});
    CHECK(farm.shows("switch   daq on "));
    CHECK(farm.farm().ctl({"status"}).out.find("runs twice") == std::string::npos);
    farm.send(5);
    CHECK(farm.receives(5));

    farm.farm().kill_run_control();
    answer_with_garbage(farm.farm().port(), 2);
    farm.send(5);
    CHECK(farm.receives(10));
    CHECK_FALSE(farm.logged("table changed"));
    farm.write_table("1gbit");
    farm.farm().start_run_control();
    CHECK(wait_until([&] { return farm.logged("table changed"); }, Seconds(20)));
    farm.send(5);
    CHECK(farm.receives(15));
  });
}

TEST_CASE("beyond its rate weir-switch sends each frame or counts it, and its metrics answer") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "switch.yaml",
      "name: daq\nmetrics: 127.0.0.1:0\nports:\n  - {interface: h0, receive_packets: 32}\n  - {interface: "
      "h1, addresses: [10.0.0.2]}\n"
      "rings: [{name: dcm-0, address: 10.0.0.1, via: h1, packets: 8, rate: 10mbit, burst: 2k}]\n" +
          sockets_line());
  test::in_own_space([&] {
    test::add_cable("h0", "data0");
    test::add_cable("h1", "data1");
    REQUIRE(std::system("ip link set lo up") == 0);
    packet_switch::PacketPort sender({"data0", 1514, 64, 4096});
    packet_switch::PacketPort receiver({"data1", 1514, 16384, 64});
    Process process({WEIR_BIN_DIR "/weir-switch", file}, folder / "out", folder / "err");
    const std::string mark = "metrics=";
    REQUIRE(wait_until([&] { return process.err().find(mark) != std::string::npos; }, Seconds(30)));
    const std::string log = process.err();
    const std::size_t begin = log.find(mark) + mark.size();
    const std::string url =
        "http://" + log.substr(begin, log.find_first_of(" \n", begin) - begin) + "/metrics";
    const auto slow = switching::frame_to(switching::kFirstAddress);
    const auto fast = switching::frame_to(switching::kFirstAddress + 1, 80, 200);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    const auto flood = [&](int batches) {
      std::vector<ConstBytes> frames;
      for (int i = 0; i < 32; ++i) frames.insert(frames.end(), {ConstBytes(slow), ConstBytes(fast)});
      for (int i = 0; i < batches; ++i) {
        sent += sender.send(frames).frames;
        while (receiver.receive()) ++received;
      }
    };
    // The kernel's ring becomes full while the process stands still.
    process.send_signal(SIGSTOP);
    flood(2);
    process.send_signal(SIGCONT);
    int answers = 0;
    {
      std::jthread flooder([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) flood(1);
      });
      for (int i = 0; i < 20; ++i) {
        const auto got = http::get(url);
        if (got && got->status == 200) ++answers;
        std::this_thread::sleep_for(Seconds(0.1));
      }
    }
    CHECK(answers == 20);
    // The ring takes 10 ms for its eight frames.
    (void)wait_until(
        [&] {
          while (receiver.receive()) ++received;
          return false;
        },
        Seconds(1));
    process.send_signal(SIGTERM);
    REQUIRE(process.wait(Seconds(30)) == 3);
    while (receiver.receive()) ++received;
    const std::string out = process.out();
    INFO(out);
    // "  frames  N received, N sent, N dropped: queue_full N, receive_full N"
    std::istringstream words(out.substr(out.find("frames ")));
    const auto number_before = [&](const std::string& unit) {
      std::string last;
      for (std::string word; words >> word; last = word) {
        if (word.starts_with(unit)) return std::stoull(last);
      }
      return 0ULL;
    };
    const auto in = number_before("received");
    const auto forwarded = number_before("sent");
    const auto dropped = number_before("dropped");
    CHECK(in == forwarded + dropped);
    CHECK(in + lost_by("data0") == sent);
    CHECK(received + receiver.counts().receive_full + lost_by("h1") == forwarded);
    CHECK_THAT(out, ContainsSubstring("queue_full ") && ContainsSubstring("receive_full ") &&
                        !ContainsSubstring("held"));
  });
}

TEST_CASE("weir-switch leaves its interfaces as they were, also when it is killed, and starts again") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::string file = folder.write("switch.yaml", kSwitchFile + sockets_line());
  test::in_own_space([&] {
    test::add_cable("h0", "data0");
    test::add_cable("h1", "data1");
    REQUIRE(std::system("ip link set lo up") == 0);
    const auto is_left_alone = [] {
      return std::system("ip -d link show h0 | grep -q -e xdp -e 'promiscuity [1-9]'") != 0;
    };
    packet_switch::PacketPort sender({"data0", 1514, 64, 4096});
    packet_switch::PacketPort receiver({"data1", 1514, 4096, 64});
    const auto frame = switching::frame_to(switching::kFirstAddress);
    for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
      REQUIRE(wait_until(is_left_alone, Seconds(10)));
      const std::string name = folder / std::to_string(signal);
      Process process({WEIR_BIN_DIR "/weir-switch", file}, name + ".out", name + ".err");
      REQUIRE(wait_until([&] { return process.err().find("switching queues=") != std::string::npos; },
                         Seconds(30)));
      CHECK_FALSE(is_left_alone());
      REQUIRE(sender.send(std::array{ConstBytes(frame)}).frames == 1);
      CHECK(wait_until([&] { return receiver.receive().has_value(); }, Seconds(20)));
      process.send_signal(signal);
      CHECK(process.wait(Seconds(30)) == (signal == SIGKILL ? -SIGKILL : 0));
    }
    CHECK(wait_until(is_left_alone, Seconds(10)));
  });
}

TEST_CASE("weir-switch names mistakes of its file and a nonexistent interface") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "switch.yaml").string();
  std::ofstream(file) << kSwitchFile;
  CHECK_THAT(run_command(folder, "weir-switch", {file, "--check"}).out,
             ContainsSubstring("switch daq: 2 ports, 1 rings, rings; memory for 520 frames"));
  const CommandEnd end =
      run_command(folder, "weir-switch", {file, "--set", "rings=[{name: a, address: 1, via: h9}]"});
  CHECK(end.status == 2);
  CHECK_THAT(end.err, ContainsSubstring("rings[0].via: `ports` has no interface 'h9'"));
  CHECK_THAT(run_command(folder, "weir-switch", {file, "--control", "127.0.0.1:1"}).err,
             ContainsSubstring("give a switch file, or run control's address"));
  CHECK_THAT(run_command(folder, "weir-switch", {"--control", "127.0.0.1:1", "--set", "mtu=9000"}).err,
             ContainsSubstring("--check and --set are for a switch file"));
  const CommandEnd missing = run_command(folder, "weir-switch", {file});
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, ContainsSubstring("interface 'h0'"));
}
