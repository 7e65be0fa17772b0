#include <weir/base/assert.hpp>
#include <weir/switching/switch.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

// The input is a sequence of frames and of changes of the table. Each has a byte with port and time before
// it, and two bytes of length; the highest bit of the length marks a change. A small switch must account for
// every frame and keep the order of each flow.
namespace {

using namespace weir;
using namespace weir::switching;

constexpr Address kFirst = 0x0a000001;
constexpr std::size_t kPorts = 4;
constexpr std::size_t kHeader = 3;
constexpr std::uint16_t kChange = 0x8000;

SwitchSettings settings_of(std::uint8_t choice) {
  SwitchSettings settings;
  settings.queueing = static_cast<Queueing>(choice & 3U);
  settings.when_full = (choice & 4U) != 0 ? WhenFull::hold : WhenFull::drop;
  settings.frame_bytes_max = 1514;
  settings.other_frames = 4;
  settings.mark_frames = 1;
  for (std::size_t i = 0; i < kPorts; ++i) {
    settings.ports.push_back({.name = "p",
                              .transmit_frames = 2,
                              .receive_frames = 3,
                              .bits_per_s = 1'000'000'000,
                              .obeys_pauses = true,
                              .pause_bytes = 2000});
  }
  for (std::uint32_t i = 0; i < 3; ++i)
    settings.rings.push_back({.name = "r", .address = kFirst + i, .via = i, .frames_max = 4});
  settings.rings.push_back(
      {.name = "p", .address = kFirst, .port = 80, .frames_max = 4, .bits_per_s = 1'000'000});
  settings.routes = {{kFirst + 3, 3}};
  return settings;
}

// Rings and routes of a change: two bytes for each address, in order.
void set_table(ConstBytes choice, SwitchSettings& settings) {
  settings.rings.clear();
  settings.routes.clear();
  for (std::uint32_t i = 0; 2 * i + 1 < choice.size() && i < 4; ++i) {
    const auto first = std::to_integer<unsigned>(choice[2 * i]);
    const auto second = std::to_integer<unsigned>(choice[2 * i + 1]);
    const std::size_t via = first % kPorts;
    FlowRing ring{.name = "r",
                  .address = kFirst + i,
                  .via = via,
                  .frames_max = 1 + second % 8,
                  .bits_per_s = (second >> 3U) % 4 * 500'000'000,
                  .burst_bytes = (second >> 5U) * 1000};
    const bool has_whole = (first & 4U) != 0;
    if (has_whole) settings.rings.push_back(ring);
    ring.port = 80;
    const bool has_part = (first & 8U) != 0;
    if (has_part) settings.rings.push_back(ring);
    if (!has_whole && !has_part && (first & 16U) != 0) settings.routes.push_back({ring.address, via});
  }
}

// Numbers the IPv4 frames of each port in a field that no switch reads, and checks that those to one address
// and TCP port leave in this order.
class Order {
 public:
  void number(std::size_t port, std::vector<std::byte>& frame) {
    const auto to = destination_of(frame);
    if (!to || !to->is_data || next_[port] == kNumbers - 1) return;
    const std::size_t value = port * kNumbers + ++next_[port];
    frame[kAt] = static_cast<std::byte>(value >> 8U);
    frame[kAt + 1] = static_cast<std::byte>(value & 0xffU);
  }
  void check(ConstBytes frame) {
    if (is_link_control(frame)) return;
    const auto to = destination_of(frame);
    WEIR_ASSERT(to.has_value());
    if (!to->is_data) return;
    const std::size_t value =
        (std::to_integer<std::size_t>(frame[kAt]) << 8U) | std::to_integer<std::size_t>(frame[kAt + 1]);
    if (next_[value / kNumbers] == kNumbers - 1) return;
    std::size_t& last = last_[{value / kNumbers, to->address, to->port}];
    WEIR_ASSERT(value > last);
    last = value;
  }

 private:
  static constexpr std::size_t kAt = 18;  // the identification of a packet
  static constexpr std::size_t kNumbers = 0x10000 / kPorts;
  std::array<std::size_t, kPorts> next_{};
  std::map<std::tuple<std::size_t, Address, std::uint16_t>, std::size_t> last_;
};

void check(const Switch& machine, TimeNs now) {
  std::uint64_t in = 0;
  std::uint64_t out = machine.held();
  for (std::size_t port = 0; port < kPorts; ++port) {
    const SwitchPortCounters counters = machine.port(port, now);
    in += counters.received;
    out += counters.sent + counters.link_control;
    for (const std::uint64_t dropped : counters.dropped) out += dropped;
  }
  WEIR_ASSERT(in == out);
}

void send(Switch& machine, std::size_t port, TimeNs now, bool refuses, Order& order) {
  std::array<ConstBytes, 2> frames;
  const std::size_t count = machine.transmit(port, now, frames);
  if (refuses && count > 0) return machine.refused(port);
  for (std::size_t i = 0; i < count; ++i) order.check(frames[i]);
  machine.sent(port, count);
}

// Frames never wait for each other forever.
void drain(Switch& machine, TimeNs now, Order& order) {
  for (int i = 0; i < 1000 && machine.held() > 0; ++i) {
    now += kSecond;
    machine.run(now);
    for (std::size_t port = 0; port < kPorts; ++port) send(machine, port, now, false, order);
  }
  WEIR_ASSERT(machine.held() == 0);
  check(machine, now);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Switch machine(settings_of(data[0]));
  const ConstBytes all(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  Order order;
  TimeNs now = 0;
  for (std::size_t at = 0; at + kHeader <= all.size();) {
    const auto what = std::to_integer<unsigned>(all[at]);
    const auto field = load_le<std::uint16_t>(&all[at + 1]);
    const bool changes = (field & kChange) != 0;
    const std::size_t length = std::min<std::size_t>(field % kChange, all.size() - at - kHeader);
    const ConstBytes content = all.subspan(at + kHeader, length);
    now += static_cast<TimeNs>(what >> 3U) * 10 * kMicrosecond;
    if (changes && machine.settings().queueing == Queueing::rings) {
      SwitchSettings settings = machine.settings();
      set_table(content, settings);
      machine.change(settings);
    } else if (!changes) {
      std::vector<std::byte> frame(content.begin(), content.end());
      order.number(what % kPorts, frame);
      machine.receive(what % kPorts, now, frame);
    }
    machine.run(now);
    // Fewer frames leave than arrive, so that queues become full.
    if ((what & 0x60U) == 0) send(machine, (what >> 2U) % kPorts, now, (what & 0x80U) != 0, order);
    check(machine, now);
    at += kHeader + length;
  }
  drain(machine, now, order);
  return 0;
}
