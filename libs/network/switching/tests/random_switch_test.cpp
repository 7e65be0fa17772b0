#include "tcp_frames.hpp"
#include "weir_catch.hpp"
#include <weir/switching/switch.hpp>

#include <array>
#include <map>
#include <random>

namespace weir::switching {
namespace {

constexpr std::size_t kPorts = 5;
constexpr std::size_t kRings = 6;
constexpr std::uint32_t kRingFrames = 20;

SwitchSettings random_settings(std::mt19937& random) {
  const auto draw = [&](unsigned below) { return static_cast<std::uint32_t>(random() % below); };
  SwitchSettings settings;
  settings.queueing = static_cast<Queueing>(draw(4));
  settings.when_full = static_cast<WhenFull>(draw(2));
  settings.frame_bytes_max = 1514;
  settings.other_frames = 1 + draw(10);
  settings.mark_frames = draw(2) * draw(10);
  for (std::size_t i = 0; i < kPorts; ++i) {
    settings.ports.push_back({.name = "p",
                              .transmit_frames = 1 + draw(4),
                              .receive_frames = 1 + draw(10),
                              .bits_per_s = 1'000'000'000,
                              .obeys_pauses = draw(2) == 0,
                              .pause_bytes = draw(2) * 20'000});
  }
  for (std::uint32_t i = 0; i < kRings; ++i) {
    settings.rings.push_back({.name = "r",
                              .address = kFirstAddress + i,
                              .via = draw(kPorts),
                              .frames_max = 1 + draw(kRingFrames),
                              .bytes_max = draw(2) * 10'000,
                              .bits_per_s = draw(2) * 500'000'000,
                              .burst_bytes = 1538 + draw(10'000)});
  }
  settings.routes = {{kFirstAddress + 100, 0}, {kFirstAddress + 101, 1}};
  return settings;
}

// Random frames in and out of a switch, with its promises checked after each step.
class Traffic {
 public:
  explicit Traffic(std::uint32_t seed) : random_(seed), machine_(random_settings(random_)) {}

  void step() {
    now_ += draw(3) * 1000;
    if (draw(3) != 0) {
      arrive();
    } else {
      leave();
    }
    if (draw(2) == 0) machine_.run(now_);
    if (draw(50) == 0) change();
    check();
  }
  // Ends all pauses and empties the switch.
  void drain() {
    for (int i = 0; i < 10'000 && machine_.held() > 0; ++i) {
      now_ += 100 * kMillisecond;
      machine_.run(now_);
      for (std::size_t port = 0; port < kPorts; ++port) send(port, 100);
    }
    check();
    REQUIRE(machine_.held() == 0);
  }

 private:
  std::uint32_t draw(unsigned below) { return static_cast<std::uint32_t>(random_() % below); }

  void arrive() {
    const std::size_t port = draw(kPorts);
    const std::uint32_t kind = draw(10);
    if (kind == 0) {
      std::vector<std::byte> garbage(draw(100));
      for (std::byte& byte : garbage) byte = static_cast<std::byte>(draw(256));
      machine_.receive(port, now_, garbage);
    } else if (kind == 1) {
      machine_.receive(port, now_, pause_frame(static_cast<PauseQuanta>(draw(200))));
    } else {
      const std::uint32_t ring = draw(kRings);
      const Address to = kind == 2 ? kFirstAddress + 100 + draw(3) : kFirstAddress + ring;
      // A number for each pair of port and destination, so that their order can be checked.
      const std::uint32_t number = ++numbers_[{port, to}];
      machine_.receive(port, now_,
                       frame_to(to, static_cast<std::uint16_t>(port), 60 + draw(1500), number,
                                static_cast<std::uint8_t>(draw(4))));
    }
  }

  // Other rates and longer rings.
  void change() {
    SwitchSettings settings = machine_.settings();
    if (settings.queueing != Queueing::rings) return;
    for (FlowRing& ring : settings.rings) {
      ring.bits_per_s = draw(2) * 500'000'000;
      ring.frames_max += draw(3);
    }
    machine_.change(settings);
  }

  void leave() { send(draw(kPorts), 1 + draw(4)); }

  void send(std::size_t port, std::size_t most) {
    std::array<ConstBytes, 100> frames;
    const std::size_t count = machine_.transmit(port, now_, std::span(frames).first(most));
    if (count > 0 && draw(20) == 0) return machine_.refused(port);
    for (std::size_t i = 0; i < count; ++i) check_order(frames[i]);
    machine_.sent(port, count);
  }

  // Frames of one flow by one way never overtake each other, and arrive unchanged.
  void check_order(ConstBytes frame) {
    if (is_link_control(frame)) return;
    const auto to = destination_of(frame);
    REQUIRE(to.has_value());
    REQUIRE(checks(frame));
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = (number << 8U) | std::to_integer<std::uint32_t>(frame[38 + i]);
    std::uint32_t& last = seen_[{to->port, to->address}];
    REQUIRE(number > last);
    last = number;
  }

  void check() {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    for (std::size_t port = 0; port < kPorts; ++port) {
      const SwitchPortCounters counters = machine_.port(port, now_);
      in += counters.received;
      out += counters.sent + counters.link_control;
      for (const std::uint64_t dropped : counters.dropped) out += dropped;
      REQUIRE(counters.paused_ns >= 0);
      REQUIRE(counters.paused_ns <= now_);
    }
    REQUIRE(in == out + machine_.held());
    std::uint64_t held_most = machine_.memory_frames();
    for (const PortSettings& port : machine_.settings().ports)
      held_most += port.transmit_frames + port.receive_frames;
    REQUIRE(machine_.held() <= held_most);
  }

  std::mt19937 random_;
  Switch machine_;
  TimeNs now_ = 0;
  std::map<std::pair<std::size_t, Address>, std::uint32_t> numbers_;
  std::map<std::pair<std::size_t, Address>, std::uint32_t> seen_;
};

TEST_CASE("every frame of random traffic is sent in order, dropped for a reason, or held") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Traffic traffic(seed);
    for (int i = 0; i < 2000; ++i) traffic.step();
    traffic.drain();
  }
}

}  // namespace
}  // namespace weir::switching
