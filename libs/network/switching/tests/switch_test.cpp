#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/switching/switch.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace weir::switching {
namespace {

constexpr std::uint64_t kGigabit = 1'000'000'000;

// A readout at port 0 (and more at 3), DCMs at ports 1 and 2: two of them at port 1.
SwitchSettings small_switch() {
  SwitchSettings settings;
  settings.frame_bytes_max = 1514;
  settings.other_frames = 256;
  for (const char* name : {"in", "a", "b", "in2"})
    settings.ports.push_back(
        {.name = name, .transmit_frames = 32, .receive_frames = 256, .bits_per_s = kGigabit});
  for (std::uint32_t i = 0; i < 3; ++i) {
    settings.rings.push_back(
        {.name = "dcm", .address = kFirstAddress + i, .via = i < 2 ? std::size_t{1} : 2, .frames_max = 100});
  }
  settings.routes = {{kFirstAddress + 10, 0}, {kFirstAddress + 11, 3}};
  return settings;
}

std::uint64_t dropped(const Switch& machine, std::size_t port, FrameDrop reason) {
  return machine.port(port, 0).dropped[static_cast<std::size_t>(reason)];
}

// Takes up to so many frames out of a port, and returns their addresses, in order.
std::vector<Address> take(Switch& machine, std::size_t port, std::size_t most, TimeNs now = 0) {
  std::vector<Address> taken;
  while (taken.size() < most) {
    machine.run(now);
    std::array<ConstBytes, 1> first;
    if (machine.transmit(port, now, first) == 0) break;
    taken.push_back(destination_of(first[0])->address);
    machine.sent(port, 1);
  }
  return taken;
}

// Takes all frames out of a port, and returns their marks, which must ascend.
std::vector<std::uint32_t> take_marks(Switch& machine, std::size_t port) {
  std::vector<std::uint32_t> marks;
  for (;;) {
    machine.run(0);
    std::array<ConstBytes, 1> first;
    if (machine.transmit(port, 0, first) == 0) break;
    marks.push_back(mark_of(first[0]));
    machine.sent(port, 1);
  }
  CHECK(std::ranges::is_sorted(marks));
  return marks;
}

TEST_CASE("a frame leaves by the port of its address, unchanged") {
  Switch machine(small_switch());
  const auto frame = frame_to(kFirstAddress + 2, 80, 777, 42);
  machine.receive(0, 0, frame);
  machine.run(0);
  std::array<ConstBytes, 4> out;
  CHECK(machine.transmit(1, 0, out) == 0);
  REQUIRE(machine.transmit(2, 0, out) == 1);
  CHECK(std::equal(out[0].begin(), out[0].end(), frame.begin(), frame.end()));
  CHECK(machine.held() == 1);
  machine.sent(2, 1);
  CHECK(machine.held() == 0);
  CHECK(machine.port(2, 0).sent_bytes == 777);
}

TEST_CASE("rings of one port are served in turn, however full they are") {
  Switch machine(small_switch());
  for (int i = 0; i < 90; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  for (int i = 0; i < 10; ++i) machine.receive(0, 0, frame_to(kFirstAddress + 1));
  std::map<Address, int> among;
  for (const Address address : take(machine, 1, 52)) ++among[address];
  CHECK(among[kFirstAddress] == 42);  // 32 were in the transmit queue before the others came to it
  CHECK(among[kFirstAddress + 1] == 10);
}

TEST_CASE("acknowledgements keep up with the data of several full rings of their port") {
  SwitchSettings settings = small_switch();
  settings.rings[2].via = 1;
  settings.routes.push_back({kFirstAddress + 20, 1});
  Switch machine(settings);
  for (int i = 0; i < 60; ++i) {
    for (std::uint32_t ring = 0; ring < 3; ++ring)
      machine.receive(0, 0, frame_to(kFirstAddress + ring, 80, 1514));
  }
  for (int i = 0; i < 100; ++i) machine.receive(0, 0, frame_to(kFirstAddress + 20, 80, 66));
  std::map<Address, int> among;
  for (const Address address : take(machine, 1, 180)) ++among[address];
  CHECK(among[kFirstAddress + 20] == 100);
  CHECK(among[kFirstAddress] + among[kFirstAddress + 1] + among[kFirstAddress + 2] == 80);
}

TEST_CASE("a full transmit queue holds its rings up, and no other port's") {
  Switch machine(small_switch());
  for (int i = 0; i < 60; ++i) {
    machine.receive(0, 0, frame_to(kFirstAddress));
    machine.receive(0, 0, frame_to(kFirstAddress + 2));
  }
  CHECK(take(machine, 2, 1000).size() == 60);
  CHECK(machine.ring(0).waiting == 60 - 32);
  CHECK(machine.ring(2).waiting == 0);
  CHECK(take(machine, 1, 1000).size() == 60);
}

TEST_CASE("a slow DCM holds all others up in one queue, and none in rings") {
  for (const Queueing queueing :
       {Queueing::rings, Queueing::output, Queueing::virtual_output, Queueing::fifo}) {
    SwitchSettings settings = small_switch();
    settings.queueing = queueing;
    Switch machine(settings);
    for (int i = 0; i < 60; ++i) {
      machine.receive(0, 0, frame_to(kFirstAddress));
      machine.receive(0, 0, frame_to(kFirstAddress + 2));
    }
    INFO(name_of(queueing));
    // The port of the first takes nothing.
    CHECK(take(machine, 2, 1000).size() == (queueing == Queueing::fifo ? 32 : 60));
    CHECK(machine.memory_frames() == 300 + 4 * 256);
  }
}

TEST_CASE("a ring's rate leaves the rest of its port to the others") {
  SwitchSettings settings = small_switch();
  settings.rings[0].bits_per_s = kGigabit / 10;
  settings.rings[0].burst_bytes = 1538;
  Switch machine(settings);
  for (int i = 0; i < 50; ++i) {
    machine.receive(0, 0, frame_to(kFirstAddress));
    machine.receive(0, 0, frame_to(kFirstAddress + 1));
  }
  CHECK(take(machine, 1, 1000, 0).size() == 51);
  REQUIRE(machine.due_ns().has_value());
  CHECK(*machine.due_ns() == 1538 * 80);  // 0.1 Gb/s: 80 ns a byte
  CHECK(take(machine, 1, 1000, 1538 * 80 - 1).empty());
  CHECK(take(machine, 1, 1000, 1538 * 80).size() == 1);
}

TEST_CASE("every refused frame has its reason") {
  Switch machine(small_switch());
  machine.receive(0, 0, std::vector<std::byte>(5));
  machine.receive(0, 0, frame_to(kFirstAddress, 80, 1515));
  machine.receive(0, 0, frame_to(kFirstAddress + 99));
  machine.receive(0, 0, frame_to(kFirstAddress + 10));
  auto other = frame_to(kFirstAddress);
  other[12] = std::byte{0x86};
  machine.receive(0, 0, other);
  CHECK(dropped(machine, 0, FrameDrop::malformed) == 1);
  CHECK(dropped(machine, 0, FrameDrop::too_long) == 1);
  CHECK(dropped(machine, 0, FrameDrop::no_route) == 1);
  CHECK(dropped(machine, 0, FrameDrop::same_port) == 1);
  CHECK(dropped(machine, 0, FrameDrop::other_protocol) == 1);
  CHECK(machine.port(0, 0).received == 5);
  CHECK(machine.held() == 0);
}

TEST_CASE("a full ring drops, and its counters and those of its port say so") {
  Switch machine(small_switch());
  for (int i = 0; i < 103; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(dropped(machine, 0, FrameDrop::queue_full) == 3);
  CHECK(machine.ring(0).dropped == 3);
  CHECK(machine.ring(0).waiting_most == 100);
  CHECK(machine.ring(0).waiting_bytes_most == 100 * frame_to(kFirstAddress).size());
  CHECK(machine.port(1, 0).dropped_ahead == 3);
  CHECK(machine.ring(1).dropped == 0);
}

TEST_CASE("the greatest depth of a ring is that of the present period, in frames and bytes") {
  SwitchSettings settings = small_switch();
  settings.rings[0].bits_per_s = kGigabit / 1000;
  settings.rings[0].burst_bytes = 1538;
  Switch machine(settings);
  const std::uint64_t bytes = frame_to(kFirstAddress).size();
  for (int i = 0; i < 50; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(take(machine, 1, 1000).size() == 1);
  machine.begin_period();
  CHECK(machine.ring(0).waiting_most == 49);
  CHECK(machine.ring(0).waiting_bytes == 49 * bytes);
  CHECK(machine.ring(0).waiting_bytes_most == 49 * bytes);
  machine.receive(0, 0, frame_to(kFirstAddress));
  machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(machine.ring(0).waiting_most == 51);
  CHECK(machine.ring(0).waiting_bytes_most == 51 * bytes);
}

TEST_CASE("a ring may be limited in bytes") {
  SwitchSettings settings = small_switch();
  settings.rings[0].bytes_max = 5000;
  Switch machine(settings);
  for (int i = 0; i < 10; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(machine.ring(0).waiting == 3);
  machine.receive(0, 0, frame_to(kFirstAddress, 80, 458));
  CHECK(machine.ring(0).waiting == 4);
}

TEST_CASE("a ring of one TCP port is apart from that of the address") {
  SwitchSettings settings = small_switch();
  settings.rings[1] = {.name = "dcm", .address = kFirstAddress, .port = 4711, .via = 1, .frames_max = 100};
  Switch machine(settings);
  machine.receive(0, 0, frame_to(kFirstAddress, 4711));
  machine.receive(0, 0, frame_to(kFirstAddress, 4712));
  machine.receive(0, 0, frame_to(kFirstAddress, 4712));
  CHECK(machine.ring(0).waiting == 2);
  CHECK(machine.ring(1).waiting == 1);
}

TEST_CASE("with `hold` frames wait in the receive queue, in order, and the port takes no more") {
  SwitchSettings settings = small_switch();
  settings.when_full = WhenFull::hold;
  settings.ports[0].receive_frames = 10;
  Switch machine(settings);
  for (int i = 0; i < 105; ++i)
    machine.receive(0, 0, frame_to(kFirstAddress, 80, 100, static_cast<std::uint32_t>(i)));
  CHECK(machine.takes(0));
  machine.receive(0, 0, frame_to(kFirstAddress + 2));  // behind the others
  CHECK(take(machine, 2, 10).empty());
  for (int i = 0; i < 4; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK_FALSE(machine.takes(0));
  machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(dropped(machine, 0, FrameDrop::receive_full) == 1);
  CHECK(take(machine, 1, 1000).size() == 109);
  CHECK(take(machine, 2, 10).size() == 1);
  CHECK(machine.takes(0));
}

TEST_CASE("a paused port sends nothing until the pause ends, or is ended") {
  SwitchSettings settings = small_switch();
  settings.ports[1].obeys_pauses = true;
  Switch machine(settings);
  machine.receive(0, 0, frame_to(kFirstAddress));
  machine.receive(1, 0, pause_frame(1000));  // 512 us
  CHECK(take(machine, 1, 10, 511'000).empty());
  CHECK(machine.due_ns() == 512 * kMicrosecond);
  CHECK(take(machine, 1, 10, 512'000).size() == 1);
  machine.receive(1, 600'000, pause_frame(kLongestPause));
  machine.receive(0, 600'000, frame_to(kFirstAddress));
  CHECK(take(machine, 1, 10, 700'000).empty());
  machine.receive(1, 700'000, pause_frame(0));
  CHECK(take(machine, 1, 10, 700'000).size() == 1);
  CHECK(machine.port(1, kSecond).paused_ns == 612 * kMicrosecond);
  CHECK(machine.port(1, kSecond).link_control == 3);
}

TEST_CASE("pauses are ignored unless the port obeys them, and never forwarded") {
  Switch machine(small_switch());
  machine.receive(0, 0, frame_to(kFirstAddress));
  machine.receive(1, 0, pause_frame(kLongestPause));
  CHECK(take(machine, 1, 10).size() == 1);
  CHECK(machine.held() == 0);
}

TEST_CASE("a sender with too many stored bytes is told to pause, again in time, and to resume") {
  SwitchSettings settings = small_switch();
  settings.ports[0].pause_bytes = 10'000;
  Switch machine(settings);
  for (int i = 0; i < 7; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  const auto pause = [&](TimeNs now) -> std::optional<PauseQuanta> {
    machine.run(now);
    std::array<ConstBytes, 1> first;
    if (machine.transmit(0, now, first) == 0) return std::nullopt;
    const auto quanta = pause_in(first[0]);
    machine.sent(0, 1);
    return quanta;
  };
  CHECK(pause(0) == kLongestPause);
  CHECK_FALSE(pause(1).has_value());
  CHECK(machine.due_ns() == 33'553'920 / 2);
  CHECK(pause(17 * kMillisecond) == kLongestPause);
  CHECK(take(machine, 1, 4, 18 * kMillisecond).size() == 4);
  CHECK(pause(18 * kMillisecond) == PauseQuanta{0});
  CHECK_FALSE(pause(40 * kMillisecond).has_value());
  CHECK(machine.port(0, 0).pauses_sent == 3);
  CHECK(machine.port(0, 0).sent == 0);
}

TEST_CASE("a long ring marks frames of senders that use marks") {
  SwitchSettings settings = small_switch();
  settings.mark_frames = 5;
  Switch machine(settings);
  for (int i = 0; i < 10; ++i) machine.receive(0, 0, frame_to(kFirstAddress, 80, 100, 0, 2));
  for (int i = 0; i < 10; ++i) machine.receive(0, 0, frame_to(kFirstAddress + 1, 80, 100, 0, 0));
  CHECK(machine.ring(0).marked == 4);
  CHECK(machine.ring(1).marked == 0);
}

TEST_CASE("a frame that the interface lost is a drop of its way in") {
  Switch machine(small_switch());
  machine.receive(3, 0, frame_to(kFirstAddress));
  machine.run(0);
  machine.refused(1);
  CHECK(dropped(machine, 3, FrameDrop::refused) == 1);
  CHECK(machine.held() == 0);
  CHECK(machine.port(1, 0).sent == 0);
}

TEST_CASE("a card's machine pauses the switch in front of it, and neither drops a frame") {
  SwitchSettings of_switch = small_switch();
  of_switch.ports[1].obeys_pauses = true;
  of_switch.ports[1].bits_per_s = kGigabit;
  of_switch.rings[0].frames_max = 1000;
  Switch machine(of_switch);
  SwitchSettings of_card;
  of_card.queueing = Queueing::output;
  of_card.frame_bytes_max = 1514;
  of_card.other_frames = 40;
  of_card.ports = {{.name = "link", .transmit_frames = 32, .bits_per_s = kGigabit, .pause_bytes = 30'000},
                   {.name = "host", .transmit_frames = 1}};
  of_card.routes = {{kFirstAddress, 1}};
  Switch card(of_card);
  const auto move = [](Switch& from, std::size_t out, Switch& to, std::size_t in, TimeNs now,
                       std::size_t most) {
    std::vector<ConstBytes> frames(most);
    const std::size_t count = from.transmit(out, now, frames);
    for (std::size_t i = 0; i < count; ++i) to.receive(in, now, frames[i]);
    from.sent(out, count);
    return count;
  };
  // 900 frames come at once; the card's host takes one where the link carries two.
  for (int i = 0; i < 900; ++i) machine.receive(0, 0, frame_to(kFirstAddress, 0, 1514));
  std::size_t taken = 0;
  for (TimeNs now = 0; now < kSecond && taken < 900; now += 24'000) {
    machine.run(now);
    (void)move(machine, 1, card, 0, now, 2);
    card.run(now);
    (void)move(card, 0, machine, 1, now, 1);
    taken += take(card, 1, 1, now).size();
  }
  CHECK(taken == 900);
  CHECK(machine.port(1, kSecond).pauses > 5);
  CHECK(machine.port(1, kSecond).dropped_ahead == 0);
  CHECK(card.port(1, kSecond).dropped_ahead == 0);
}

TEST_CASE("a running switch takes another rate, and keeps the frames and counters of its rings") {
  SwitchSettings settings = small_switch();
  settings.rings[0].bits_per_s = kGigabit / 1000;
  settings.rings[0].burst_bytes = 1538;
  Switch machine(settings);
  for (int i = 0; i < 50; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(take(machine, 1, 1000).size() == 1);
  settings.rings[0].bits_per_s = 0;
  settings.rings[0].frames_max = 60;
  machine.change(settings);
  CHECK(machine.ring(0).waiting == 49);
  CHECK(machine.ring(0).waiting_most == 50);
  for (int i = 0; i < 20; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(dropped(machine, 0, FrameDrop::queue_full) == 9);
  CHECK(take(machine, 1, 1000).size() == 60);
  CHECK(machine.ring(0).frames == 61);
}

TEST_CASE("frames of a removed ring leave by their port, and its memory serves the next ring") {
  SwitchSettings settings = small_switch();
  Switch machine(settings);
  for (int i = 0; i < 50; ++i) machine.receive(0, 0, frame_to(kFirstAddress));
  settings.rings.erase(settings.rings.begin());
  settings.rings.push_back({.name = "new", .address = kFirstAddress + 5, .via = 2, .frames_max = 7});
  machine.change(settings);
  CHECK(machine.memory_frames() == 207 + 4 * 256);
  machine.receive(0, 0, frame_to(kFirstAddress));
  CHECK(dropped(machine, 0, FrameDrop::no_route) == 1);
  for (int i = 0; i < 8; ++i) machine.receive(0, 0, frame_to(kFirstAddress + 5));
  CHECK(dropped(machine, 0, FrameDrop::queue_full) == 1);
  CHECK(take(machine, 2, 1000) == std::vector<Address>(7, kFirstAddress + 5));
  CHECK(take(machine, 1, 1000).size() == 50);
  CHECK(machine.held() == 0);
}

TEST_CASE("frames to an address that moves behind another port leave there, before later ones") {
  SwitchSettings settings = small_switch();
  settings.routes.push_back({kFirstAddress + 20, 1});
  Switch machine(settings);
  std::uint32_t marks = 0;
  const auto arrive = [&](std::size_t port, Address to) {
    machine.receive(port, 0, frame_to(to, 80, 100, ++marks));
  };
  for (int i = 0; i < 40; ++i) arrive(0, kFirstAddress);
  for (int i = 0; i < 3; ++i) arrive(0, kFirstAddress + 20);
  machine.run(0);
  REQUIRE(machine.port(1, 0).waiting == 43);  // 32 of them in the transmit queue
  arrive(2, kFirstAddress);                   // comes from the port behind which its destination will be
  settings.rings[0].via = 2;
  settings.routes.back().via = 3;
  machine.change(settings);
  CHECK(machine.port(1, 0).waiting == 0);
  CHECK(dropped(machine, 2, FrameDrop::same_port) == 1);
  arrive(0, kFirstAddress);
  CHECK(take(machine, 1, 100).empty());
  CHECK(take(machine, 3, 100) == std::vector<Address>(3, kFirstAddress + 20));
  CHECK(take_marks(machine, 2).size() == 41);
  CHECK(machine.ring(0).frames == 41);
}

TEST_CASE("held frames take their new way when the table changes, or are dropped by name") {
  SwitchSettings settings = small_switch();
  settings.when_full = WhenFull::hold;
  settings.rings[0].frames_max = 1;
  settings.ports[1].transmit_frames = 1;
  Switch machine(settings);
  std::uint32_t marks = 0;
  const auto arrive = [&](Address to) { machine.receive(0, 0, frame_to(to, 80, 100, ++marks)); };
  for (int i = 0; i < 3; ++i) arrive(kFirstAddress);
  arrive(kFirstAddress + 1);
  arrive(kFirstAddress);
  CHECK(machine.held() == 5);
  // The ring of the first address gives way to one of its port 80, the second address has none.
  settings.rings[0].port = 80;
  settings.rings.erase(settings.rings.begin() + 1);
  machine.change(settings);
  CHECK(dropped(machine, 0, FrameDrop::no_route) == 1);
  arrive(kFirstAddress);
  CHECK(take_marks(machine, 1) == std::vector<std::uint32_t>{1, 2, 3, 5, 6});
  CHECK(machine.held() == 0);
}

TEST_CASE("ports, lengths and kinds of queues cannot change while a switch runs") {
  const SwitchSettings from = small_switch();
  SwitchSettings to = from;
  to.routes.clear();
  CHECK_FALSE(problem_of_change(from, to).has_value());
  to.ports[1].transmit_frames = 31;
  CHECK(problem_of_change(from, to) ==
        "only rings and addresses can change while the switch runs: restart it");
  to = from;
  to.rings[1].address = kFirstAddress;
  CHECK_THAT(*problem_of_change(from, to), Catch::ContainsSubstring("has another ring already"));
  SwitchSettings one = from;
  one.queueing = Queueing::fifo;
  CHECK(problem_of_change(one, one) ==
        "queues \"one queue\" cannot change while the switch runs: restart it");
}

TEST_CASE("settings that contradict each other are refused with the place") {
  SwitchSettings settings = small_switch();
  CHECK_FALSE(problem_of(settings).has_value());
  settings.routes.push_back({kFirstAddress, 0});
  CHECK(problem_of(settings) == "route to 10.0.0.1: the address has a ring or another route");
  settings = small_switch();
  settings.rings[2].via = 9;
  CHECK(problem_of(settings) == "ring dcm: no port 9");
  settings = small_switch();
  settings.rings[1].address = settings.rings[0].address;
  CHECK(problem_of(settings) == "ring dcm: 10.0.0.1 has another ring already");
  settings = small_switch();
  settings.ports[0] = {.name = "in", .transmit_frames = 32, .obeys_pauses = true};
  CHECK(problem_of(settings) == "port in: pauses need the link's rate");
}

}  // namespace
}  // namespace weir::switching
