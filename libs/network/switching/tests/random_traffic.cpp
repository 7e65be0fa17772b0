#include "random_traffic.hpp"

#include "tcp_frames.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>

namespace weir::switching {
namespace {

constexpr std::size_t kPorts = 5;
constexpr std::uint32_t kDcms = 6;
constexpr std::uint32_t kFirstRouted = 100;  // addresses without a ring
constexpr std::uint32_t kRouted = 2;
constexpr std::uint32_t kRingFrames = 20;
constexpr std::uint64_t kLinkRate = 1'000'000'000;

void expect(bool holds, const char* promise) {
  if (!holds) throw std::runtime_error(promise);
}

}  // namespace

RandomTraffic::RandomTraffic(std::uint32_t seed)
    : random_(seed), machine_(random_settings()), paused_until_ns_(kPorts) {}

SwitchSettings RandomTraffic::random_settings() {
  SwitchSettings settings;
  settings.queueing = static_cast<Queueing>(draw(4) * draw(2));  // rings in five of eight
  settings.when_full = static_cast<WhenFull>(draw(2));
  settings.frame_bytes_max = 1514;
  settings.other_frames = 1 + draw(10);
  settings.mark_frames = draw(2) * draw(10);
  for (std::size_t i = 0; i < kPorts; ++i) {
    settings.ports.push_back({.name = "p",
                              .transmit_frames = 1 + draw(4),
                              .receive_frames = 1 + draw(10),
                              .bits_per_s = kLinkRate,
                              .obeys_pauses = draw(2) == 0,
                              .pause_bytes = draw(2) * 20'000});
  }
  for (std::uint32_t i = 0; i < kDcms; ++i) {
    FlowRing ring{.name = "r",
                  .address = kFirstAddress + i,
                  .via = draw(kPorts),
                  .frames_max = 1 + draw(kRingFrames),
                  .bytes_max = draw(2) * 10'000,
                  .bits_per_s = draw(2) * 500'000'000,
                  .burst_bytes = 1538 + draw(10'000)};
    settings.rings.push_back(ring);
    rings_.push_back(ring);
    ring.port = static_cast<std::uint16_t>(1 + i % 2);
    rings_.push_back(ring);
  }
  for (std::uint32_t i = 0; i < kRouted; ++i)
    settings.routes.push_back({kFirstAddress + kFirstRouted + i, i});
  for (const FlowRing& ring : settings.rings) ring_limits_.push_back(ring.frames_max);
  return settings;
}

void RandomTraffic::step() {
  now_ += draw(3) * 1000;
  if (draw(3) != 0) {
    arrive();
  } else {
    send(draw(kPorts), 1 + draw(4));
  }
  if (draw(2) == 0) machine_.run(now_);
  if (draw(50) == 0) change();
  check();
}

void RandomTraffic::drain() {
  for (int i = 0; i < 10'000 && machine_.held() > 0; ++i) {
    now_ += 100 * kMillisecond;
    machine_.run(now_);
    for (std::size_t port = 0; port < kPorts; ++port) send(port, 100);
  }
  check();
  expect(machine_.held() == 0, "a switch without pauses becomes empty");
}

void RandomTraffic::arrive() {
  const std::size_t port = draw(kPorts);
  const std::uint32_t kind = draw(10);
  if (kind == 0) {
    std::vector<std::byte> garbage(draw(100));
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(draw(256));
    machine_.receive(port, now_, garbage);
  } else if (kind == 1) {
    pause(port);
  } else {
    const Address to = kFirstAddress + (kind == 2 ? kFirstRouted + draw(kRouted + 1) : draw(kDcms));
    // A number for each pair of port and destination, so that their order can be checked.
    const std::uint32_t number = ++numbers_[{port, to}];
    machine_.receive(port, now_,
                     frame_to(to, static_cast<std::uint16_t>(port), 60 + draw(1500), number,
                              static_cast<std::uint8_t>(draw(4))));
  }
}

void RandomTraffic::pause(std::size_t port) {
  const auto quanta = static_cast<PauseQuanta>(draw(200));
  machine_.receive(port, now_, pause_frame(quanta));
  if (machine_.settings().ports[port].obeys_pauses)
    paused_until_ns_[port] = now_ + pause_ns(quanta, kLinkRate);
}

// Changes rates and lengths, adds, removes and divides rings, and moves addresses to other ports.
void RandomTraffic::change() {
  SwitchSettings settings = machine_.settings();
  if (settings.queueing != Queueing::rings) return;
  changed_ = true;
  settings.rings.clear();
  settings.routes.clear();
  for (std::uint32_t i = 0; i < kRouted; ++i) {
    if (draw(4) != 0) settings.routes.push_back({kFirstAddress + kFirstRouted + i, draw(kPorts)});
  }
  for (std::uint32_t i = 0; i < kDcms; ++i) {
    const bool moves = draw(4) == 0;
    const std::size_t via = moves ? draw(kPorts) : rings_[std::size_t{2} * i].via;
    for (std::size_t part = 0; part < 2; ++part) {
      FlowRing& ring = rings_[2 * i + part];
      ring.via = via;
      ring.bits_per_s = draw(2) * 500'000'000;
      ring.frames_max = 1 + draw(kRingFrames);
    }
    const bool has_whole = draw(3) != 0;
    if (has_whole) settings.rings.push_back(rings_[std::size_t{2} * i]);
    const bool has_part = draw(3) == 0;
    if (has_part) settings.rings.push_back(rings_[std::size_t{2} * i + 1]);
    if (!has_whole && !has_part && draw(2) == 0) settings.routes.push_back({kFirstAddress + i, via});
  }
  machine_.change(settings);
  ring_limits_.clear();
}

void RandomTraffic::send(std::size_t port, std::size_t most) {
  std::array<ConstBytes, 100> frames;
  const std::size_t count = machine_.transmit(port, now_, std::span(frames).first(most));
  for (std::size_t i = 0; i < count; ++i)
    expect(is_link_control(frames[i]) || paused_until_ns_[port] <= now_, "a paused port sends no data");
  if (count > 0 && draw(20) == 0) return machine_.refused(port);
  for (std::size_t i = 0; i < count; ++i) check_order(frames[i]);
  machine_.sent(port, count);
}

// Frames of one flow never overtake each other, and arrive unchanged.
void RandomTraffic::check_order(ConstBytes frame) {
  if (is_link_control(frame)) return;
  const auto to = destination_of(frame);
  expect(to.has_value() && checks(frame), "a frame leaves as it came");
  const std::uint32_t number = mark_of(frame);
  std::uint32_t& last = seen_[{to->port, to->address}];
  expect(number > last, "frames of a flow leave in order");
  last = number;
}

void RandomTraffic::check() {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  for (std::size_t port = 0; port < kPorts; ++port) {
    const SwitchPortCounters counters = machine_.port(port, now_);
    in += counters.received;
    out += counters.sent + counters.link_control;
    for (const std::uint64_t dropped : counters.dropped) out += dropped;
    expect(counters.paused_ns >= 0 && counters.paused_ns <= now_, "a port is paused for a part of the time");
  }
  expect(in == out + machine_.held(), "every frame was sent, dropped for a reason, or is held");
  const SwitchSettings& settings = machine_.settings();
  if (settings.queueing == Queueing::rings) {
    // A ring that was made shorter keeps its frames.
    if (ring_limits_.empty()) ring_limits_.resize(settings.rings.size(), UINT64_MAX);
    for (std::size_t i = 0; i < settings.rings.size(); ++i) {
      const std::uint64_t waiting = machine_.ring(i).waiting;
      expect(waiting <= ring_limits_[i], "a ring keeps its limit");
      ring_limits_[i] = std::max<std::uint64_t>(settings.rings[i].frames_max, waiting);
    }
  }
  if (changed_) return;  // removed and shortened rings have frames besides
  std::uint64_t held_most = machine_.memory_frames();
  for (const PortSettings& port : settings.ports) held_most += port.transmit_frames + port.receive_frames;
  expect(machine_.held() <= held_most, "a switch keeps its memory");
}

}  // namespace weir::switching
