// The switch in software: in a farm's lab, and as a program between interfaces of this host.
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "own_space.hpp"
#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/packet_switch/packet_port.hpp>

#include <boost/json.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;
using Catch::Matchers::ContainsSubstring;

constexpr const char* kSwitchFile =
    "name: daq\nmetrics: 127.0.0.1:0\nports:\n  - {interface: h0, addresses: [10.0.0.2]}\n  - {interface: "
    "h1}\n"
    "rings: [{name: dcm-0, address: 10.0.0.1, via: h1, packets: 8, rate: 1mbit, burst: 2k}]\n";

std::string status_of(pid_t pid) { return read_file("/proc/" + std::to_string(pid) + "/status"); }

}  // namespace

TEST_CASE("a farm behind software switches gives each DCM of a host a ring, and loses no frame") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::vector<std::string> arguments{"--lab", config_file("lab/mesh-6.yaml"), "--slices", "120"};
  std::vector<std::string> more = arguments;
  for (const char* set : {"lab.switches=software", "lab.port_queue=per-dcm", "lab.addresses=per-dcm",
                          "dcm.shaper=none", "lab.port_rate=100mbit", "source.size_bytes=8192"}) {
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
}

TEST_CASE("weir-switch gives up its rights, limits a ring, and accounts for every frame") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "switch.yaml").string();
  std::ofstream(file) << kSwitchFile;
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
  const CommandEnd missing = run_command(folder, "weir-switch", {file});
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, ContainsSubstring("interface 'h0'"));
}
