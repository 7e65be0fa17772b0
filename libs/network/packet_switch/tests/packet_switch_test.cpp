#include "needs_root.hpp"
#include "own_space.hpp"
#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/clock/clock.hpp>
#include <weir/packet_switch/packet_port.hpp>
#include <weir/packet_switch/packet_switch.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <thread>

namespace weir::packet_switch {
namespace {

using switching::frame_to;
using switching::FrameDrop;
using switching::kFirstAddress;
using test::add_cable;
using test::in_own_space;

constexpr DurationNs kPatience = 20 * kSecond;

// The sockets of the switches here, as the ctest test asks for them.
Sockets sockets() {
  const char* const name = std::getenv("WEIR_TEST_SOCKETS");
  if (name == nullptr) return Sockets::packet;
  return std::string(name) == "xdp" ? Sockets::xdp : Sockets::xdp_generic;
}

PortInterface interface_of(const char* device) {
  PortInterface interface;
  interface.device = device;
  interface.sockets = sockets();
  return interface;
}

// Makes a device with frames that wait in the queue of another one, which is up.
void add_device_on(const std::string& at, const std::string& name) {
  REQUIRE(std::system(("ip link add link " + at + " name " + name +
                       " type macvlan mode passthru && ip link set " + name + " arp off up")
                          .c_str()) == 0);
}

// A switch with two ports, h0 and h1, and a socket at the other end of each cable.
struct Network {
  explicit Network(std::uint32_t ring_frames, std::uint32_t receive_frames = 1024,
                   std::uint32_t transmit_frames = 64, DurationNs busy_poll_ns = 0) {
    add_cable("h0", "data0");
    if (::if_nametoindex("h1") == 0) add_cable("h1", "data1");
    PacketSwitchSettings settings;
    settings.interfaces = {{"h0", 1514, receive_frames, transmit_frames, sockets()},
                           {"h1", 1514, receive_frames, transmit_frames, sockets()}};
    settings.busy_poll_ns = busy_poll_ns;
    settings.machine.frame_bytes_max = 1514;
    settings.machine.other_frames = 256;
    settings.machine.ports = {{.name = "h0", .transmit_frames = 64}, {.name = "h1", .transmit_frames = 64}};
    settings.machine.rings = {{.name = "dcm", .address = kFirstAddress, .via = 1, .frames_max = ring_frames}};
    settings.machine.routes = {{kFirstAddress + 1, 0}};
    machine = std::make_unique<PacketSwitch>(settings);
    sender = std::make_unique<PacketPort>(PortInterface{"data0", 1514, 1024, 4096});
    receiver = std::make_unique<PacketPort>(PortInterface{"data1", 1514, 8192, 64});
  }

  void send(const std::vector<std::byte>& frame, std::size_t count) const {
    const std::vector<ConstBytes> frames(count, ConstBytes(frame));
    REQUIRE(sender->send(frames).frames == count);
  }
  // Runs the switch until so many frames have arrived; returns their number.
  std::size_t receive(std::size_t wanted) {
    std::size_t received = 0;
    const TimeNs end = monotonic_now_ns() + kPatience;
    while (received < wanted && monotonic_now_ns() < end) {
      pollfd file{machine->file(), POLLIN, 0};
      (void)::poll(&file, 1, 1);
      REQUIRE(machine->run());
      while (const auto frame = receiver->receive()) {
        CHECK_FALSE(frame->unfit.has_value());
        last.assign(frame->bytes.begin(), frame->bytes.end());
        ++received;
      }
    }
    return received;
  }
  void run_until(const std::function<bool(const SwitchCounts&)>& done) {
    const TimeNs end = monotonic_now_ns() + kPatience;
    while (monotonic_now_ns() < end && !done(machine->counts())) REQUIRE(machine->run());
    REQUIRE(done(machine->counts()));
  }

  std::unique_ptr<PacketSwitch> machine;
  std::unique_ptr<PacketPort> sender;
  std::unique_ptr<PacketPort> receiver;
  std::vector<std::byte> last;
};

std::uint64_t accounted(const SwitchCounts& counts) {
  std::uint64_t control = 0;
  for (const auto& port : counts.ports) control += port.link_control;
  return counts.sent() + counts.dropped() + control + counts.held;
}

// Runs the switch until it ends. Returns false if it does not.
bool ends(Network& network) {
  const TimeNs end = monotonic_now_ns() + kPatience;
  bool runs = true;
  while (runs && monotonic_now_ns() < end) runs = network.machine->run();
  return !runs;
}

TEST_CASE("frames pass from interface to interface, unchanged, and are counted") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(4096);
    const auto frame = frame_to(kFirstAddress, 80, 1514, 42);
    network.send(frame, 500);
    CHECK(network.receive(500) == 500);
    CHECK(network.last == frame);
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.ports[1].sent == 500);
    CHECK(counts.rings[0].frames == 500);
    CHECK(counts.dropped() == 0);
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("frames that the kernel had no room for are drops of the switch") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(4096, 32);
    network.send(frame_to(kFirstAddress), 200);
    // The switch has not run: its ring of 32 frames is full.
    network.run_until([](const SwitchCounts& counts) { return counts.sent() == 32; });
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.dropped(FrameDrop::receive_full) == 168);
    CHECK(counts.received() == 200);
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("frames that the kernel still has at the end are counted, those beyond the held ones as drops") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(15);
    network.send(frame_to(kFirstAddress), 20);
    CHECK(network.machine->counts().received() == 0);
    network.machine->take_rest();
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.received() == 20);
    CHECK(counts.held == 15);
    CHECK(counts.dropped(FrameDrop::queue_full) == 5);
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("a slow interface makes frames wait in their ring, and a full ring drops by name") {
  NEEDS_ROOT();
  in_own_space([] {
    add_cable("slow", "data1");
    add_device_on("slow", "h1");
    Network network(50, 1024, 8);
    REQUIRE(std::system("tc qdisc add dev slow root tbf rate 2mbit burst 1600 limit 1000000") == 0);
    network.send(frame_to(kFirstAddress), 200);
    network.run_until([](const SwitchCounts& counts) { return counts.received() == 200; });
    SwitchCounts counts = network.machine->counts();
    CHECK(counts.dropped(FrameDrop::queue_full) > 50);
    CHECK(counts.dropped() == counts.dropped(FrameDrop::queue_full));
    CHECK(counts.held > 40);
    CHECK(counts.rings[0].waiting_most == 50);
    REQUIRE(std::system("tc qdisc del dev slow root") == 0);
    network.run_until([](const SwitchCounts& now) { return now.held == 0; });
    counts = network.machine->counts();
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("a link that is down refuses frames by name, and takes them again when it is up") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(4096);
    REQUIRE(std::system("ip link set h1 down") == 0);
    network.send(frame_to(kFirstAddress), 100);
    // AF_XDP keeps those that it was given before it noticed.
    const std::uint64_t kept = sockets() == Sockets::packet ? 0 : 32;
    network.run_until([&](const SwitchCounts& counts) {
      return counts.held == kept && counts.dropped(FrameDrop::refused) == 100 - kept;
    });
    CHECK(network.machine->counts().received() == 100);
    REQUIRE(std::system("ip link set h1 up") == 0);
    network.send(frame_to(kFirstAddress), 10);
    CHECK(network.receive(10 + kept) == 10 + kept);
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.sent() == 10 + kept);
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("an interface without a carrier refuses frames of AF_XDP by name") {
  NEEDS_ROOT();
  in_own_space([] {
    if (sockets() == Sockets::packet) return;  // the kernel takes them, and says nothing
    Network network(4096);
    REQUIRE(std::system("ip link set data1 down") == 0);
    network.send(frame_to(kFirstAddress), 100);
    network.run_until(
        [](const SwitchCounts& counts) { return counts.received() == 100 && counts.held == 0; });
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.dropped(FrameDrop::refused) == 100);
    CHECK(counts.received() == accounted(counts));
  });
}

TEST_CASE("tagged and foreign frames are dropped by name") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100);
    auto tagged = frame_to(kFirstAddress);
    tagged[12] = std::byte{0x81};
    tagged[13] = std::byte{0x00};
    network.send(tagged, 3);
    network.send(frame_to(kFirstAddress + 77), 2);
    network.run_until([](const SwitchCounts& counts) { return counts.received() == 5; });
    const SwitchCounts counts = network.machine->counts();
    CHECK(counts.dropped(FrameDrop::other_protocol) == 3);
    CHECK(counts.dropped(FrameDrop::no_route) == 2);
  });
}

TEST_CASE("a switch that polls forwards frames that arrive after it has found none, without an event") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100, 1024, 64, 2 * kSecond);
    std::jthread sender([&] {
      for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        network.send(frame_to(kFirstAddress), 1);
      }
    });
    REQUIRE(network.machine->run());
    sender.join();
    CHECK(network.machine->counts().sent() == 3);
  });
}

TEST_CASE("a switch that polls serves a ring at its rate, and ends with its interface") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100, 1024, 64, 50 * kMillisecond);
    auto slow = network.machine->settings();
    slow.rings[0].bits_per_s = 10'000'000;
    network.machine->change(slow);
    network.send(frame_to(kFirstAddress), 50);
    CHECK(network.receive(50) == 50);
    REQUIRE(std::system("ip link del h1") == 0);
    CHECK(ends(network));
  });
}

TEST_CASE("removing an interface ends its switch") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100);
    REQUIRE(network.machine->run());
    REQUIRE(std::system("ip link del h1") == 0);
    CHECK(ends(network));
  });
}

TEST_CASE("a removed interface ends its switch, also after its link was down") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100);
    REQUIRE(std::system("ip link set h1 down") == 0);
    REQUIRE(network.machine->run());
    REQUIRE(std::system("ip link del h1") == 0);
    CHECK(ends(network));
  });
}

TEST_CASE("an unknown interface is named") {
  NEEDS_ROOT();
  in_own_space([] {
    CHECK_THROWS_WITH(open_port(interface_of("nowhere")), Catch::Matchers::ContainsSubstring("'nowhere'"));
  });
}

TEST_CASE("frames that are longer than any are dropped by name") {
  NEEDS_ROOT();
  in_own_space([] {
    if (sockets() == Sockets::xdp) return;  // a veth with XDP takes none
    add_cable("h1", "data1");
    REQUIRE(std::system("ip link set h1 mtu 9000 && ip link set data1 mtu 9000") == 0);
    Network network(100);
    PacketPort sender(PortInterface{"data1", 9014, 64, 64});
    const auto frame = frame_to(kFirstAddress + 1, 80, 5000);
    const std::vector<ConstBytes> frames(7, ConstBytes(frame));
    REQUIRE(sender.send(frames).frames == 7);
    network.run_until([](const SwitchCounts& counts) { return counts.received() == 7; });
    CHECK(network.machine->counts().dropped(FrameDrop::too_long) == 7);
  });
}

TEST_CASE("frames with a checksum that was left to a card are dropped by name") {
  NEEDS_ROOT();
  in_own_space([] {
    Network network(100);
    REQUIRE(std::system("ip address add 10.0.0.9/24 dev data0") == 0);
    const OwnedDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    to.sin_addr.s_addr = htonl(kFirstAddress);
    for (int i = 0; i < 3; ++i)
      REQUIRE(::sendto(socket.get(), "text", 4, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 4);
    network.run_until([](const SwitchCounts& counts) { return counts.received() == 3; });
    CHECK(network.machine->counts().dropped(FrameDrop::no_checksum) == 3);
  });
}

TEST_CASE(
    "AF_XDP refuses long frames, several queues and a second program, and leaves an interface as it was") {
  NEEDS_ROOT();
  in_own_space([] {
    if (sockets() == Sockets::packet) return;
    add_cable("h0", "data0");
    PortInterface interface = interface_of("h0");
    {
      const auto port = open_port(interface);
      CHECK_THROWS_WITH(open_port(interface), Catch::Matchers::ContainsSubstring("'h0'") &&
                                                  Catch::Matchers::ContainsSubstring("another XDP program"));
      CHECK(std::system("ip link show h0 | grep -q xdp") == 0);
    }
    CHECK(std::system("ip link show h0 | grep -q xdp") != 0);
    for (int i = 0; i < 3; ++i) CHECK(open_port(interface)->exists());
    interface.frame_bytes_max = 9014;
    CHECK_THROWS_WITH(open_port(interface), Catch::Matchers::ContainsSubstring("a smaller `mtu`"));
    REQUIRE(std::system("ip link add two numrxqueues 2 numtxqueues 2 type veth peer name far") == 0);
    CHECK_THROWS_WITH(open_port(interface_of("two")),
                      Catch::Matchers::ContainsSubstring("2 receive queues") &&
                          Catch::Matchers::ContainsSubstring("ethtool -L two rx 1"));
  });
}

TEST_CASE("a build without AF_XDP says how to have it") {
  if (sockets() != Sockets::packet) return;
  PortInterface interface = interface_of("h0");
  interface.sockets = Sockets::xdp;
  const auto problem = problem_of(interface);
  if (problem) CHECK_THAT(*problem, Catch::Matchers::ContainsSubstring("WEIR_SWITCH_XDP=ON"));
  CHECK_FALSE(problem_of(interface_of("h0")).has_value());
}

}  // namespace
}  // namespace weir::packet_switch
