#include <weir/base/assert.hpp>
#include <weir/switching/switch.hpp>

#include <array>
#include <cstdint>

// The input is a sequence of frames, each behind a byte with port and time and two bytes of length. They pass
// through a small switch, which must account for every one.
namespace {

using namespace weir;
using namespace weir::switching;

constexpr Address kFirst = 0x0a000001;
constexpr std::size_t kPorts = 4;
constexpr std::size_t kHeader = 3;

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Switch machine(settings_of(data[0]));
  const ConstBytes all(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  TimeNs now = 0;
  for (std::size_t at = 0; at + kHeader <= all.size();) {
    const auto what = std::to_integer<unsigned>(all[at]);
    const std::size_t length =
        std::min<std::size_t>(load_le<std::uint16_t>(&all[at + 1]), all.size() - at - kHeader);
    now += static_cast<TimeNs>(what >> 3U) * 10 * kMicrosecond;
    machine.receive(what % kPorts, now, all.subspan(at + kHeader, length));
    machine.run(now);
    std::array<ConstBytes, 2> frames;
    const std::size_t out = (what >> 2U) % kPorts;
    const std::size_t count = machine.transmit(out, now, frames);
    if ((what & 0x80U) != 0 && count > 0) {
      machine.refused(out);
    } else {
      machine.sent(out, count);
    }
    check(machine, now);
    at += kHeader + length;
  }
  return 0;
}
