#include "../src/line_rate.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr double kLine = 0.025;  // bytes per ns: 200 Mb/s
constexpr DurationNs kPass = 100 * kMicrosecond;

// Passes during which this many bytes arrive at the line's rate.
TimeNs stretch(LineRate& line, std::uint64_t bytes, TimeNs from_ns) {
  const auto each = static_cast<std::uint64_t>(kLine * static_cast<double>(kPass));
  for (std::uint64_t sent = 0; sent < bytes; sent += each) {
    line.note(each, from_ns, from_ns + kPass);
    from_ns += kPass;
  }
  return from_ns;
}

}  // namespace

TEST_CASE("bursts in a round trip show the pace of the line") {
  LineRate line;
  TimeNs now_ns = kSecond;
  for (int round_trip = 0; round_trip < 3; ++round_trip) {
    now_ns = stretch(line, 116'000, now_ns);
    line.note(0, now_ns, now_ns + 35 * kMillisecond);  // no bytes until the next one
    now_ns += 35 * kMillisecond;
  }
  CHECK(line.rate() > 0.95 * kLine);
  CHECK(line.rate() < 1.05 * kLine);
}

TEST_CASE("bytes of a long pause between passes are not taken for a burst") {
  LineRate line;
  TimeNs now_ns = stretch(line, 200'000, kSecond);
  line.note(1'000'000, now_ns, now_ns + 40 * kMillisecond);
  now_ns += 40 * kMillisecond;
  line.note(100, now_ns, now_ns + 1);
  stretch(line, 200'000, now_ns + 1);
  CHECK(line.rate() < 1.05 * kLine);
}

TEST_CASE("short bursts are ignored, and the measured rate decays") {
  LineRate line;
  TimeNs now_ns = kSecond;
  for (int i = 0; i < 100; ++i) {
    line.note(16'000, now_ns, now_ns + 1000);
    line.note(0, now_ns + 1000, now_ns + 10 * kMillisecond);
    now_ns += 10 * kMillisecond;
  }
  CHECK(line.rate() == 0);
  stretch(line, 200'000, now_ns);
  const double before = line.rate();
  for (int i = 0; i < 100; ++i) line.fade();
  CHECK(line.rate() < 0.5 * before);
}

}  // namespace weir::shaping
