// Tests the adaptive shaper with a model of a switch port: same seed, same outcome.
#include "port_model.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

namespace weir::shaping {
namespace {

constexpr double kWire = 1538.0 / 1448;

std::unique_ptr<Shaper> make(std::string_view name, std::uint32_t readouts, std::uint64_t window = 72'000) {
  ShaperSettings settings;
  settings.readouts = readouts;
  settings.window_bytes = window;
  settings.window_fragments = 1'000'000;
  return *make_shaper(name, settings);
}

// Measures the used share of the port's capacity since the last call.
struct Meter {
  const PortModel::Collector& collector;
  double bytes_per_s;
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  TimeNs at_ns = 0;

  double share(TimeNs now_ns) {
    const double came = static_cast<double>(collector.bytes - bytes) * kWire;
    const double could = bytes_per_s * static_cast<double>(now_ns - at_ns) / static_cast<double>(kSecond);
    bytes = collector.bytes;
    at_ns = now_ns;
    return came / could;
  }
  std::uint64_t losses() { return collector.lost - std::exchange(lost, collector.lost); }
};

double p99_over_serialisation(PortModel::Collector& collector, double bytes_per_s) {
  std::vector<DurationNs>& all = collector.latencies_ns;
  REQUIRE_FALSE(all.empty());
  std::sort(all.begin(), all.end());
  const double slice = static_cast<double>(collector.readouts * collector.fragment_bytes) * kWire;
  const auto p99 = static_cast<double>(all[all.size() * 99 / 100]);
  all.clear();
  return p99 / (slice / bytes_per_s * static_cast<double>(kSecond));
}

}  // namespace

TEST_CASE("the adaptive window fills an unknown port, and loses nothing") {
  const double rate = GENERATE(12.5e6, 25e6, 125e6);
  const double buffer = GENERATE(100e3, 1e6);
  const std::uint32_t readouts = GENERATE(8U, 24U);
  CAPTURE(rate, buffer, readouts);
  PortModel::Settings settings;
  settings.bytes_per_s = rate;
  settings.buffer_bytes = buffer;
  PortModel model(settings);
  auto& collector = model.add(make("adaptive", readouts), readouts, 64U << 10U);
  Meter meter{collector, rate};
  model.run_until(kSecond);
  (void)meter.share(kSecond);
  collector.latencies_ns.clear();
  model.run_until(6 * kSecond);
  CHECK(meter.share(6 * kSecond) > 0.99);
  CHECK(collector.lost == 0);
  CHECK(p99_over_serialisation(collector, rate) < 1.2);
}

TEST_CASE("a small buffer costs a loss at most while the window is sought") {
  const double rate = GENERATE(12.5e6, 125e6);
  CAPTURE(rate);
  PortModel::Settings settings;
  settings.bytes_per_s = rate;
  settings.buffer_bytes = 30e3;
  PortModel model(settings);
  auto& collector = model.add(make("adaptive", 8), 8, 64U << 10U);
  Meter meter{collector, rate};
  model.run_until(3 * kSecond);
  (void)meter.share(3 * kSecond);
  (void)meter.losses();
  model.run_until(8 * kSecond);
  CHECK(meter.share(8 * kSecond) > 0.8);
  CHECK(meter.losses() <= 2);
}

TEST_CASE("without a window all data arrives together, and the model's port drops it") {
  PortModel model({});
  auto& collector = model.add(make("none", 8), 8, 64U << 10U);
  Meter meter{collector, 125e6};
  model.run_until(3 * kSecond);
  CHECK(collector.lost > 100);
  CHECK(meter.share(3 * kSecond) < 0.7);
}

TEST_CASE("a window of bytes set by hand fills the port, with every slice within 1.15 of its serialisation") {
  PortModel model({});
  auto& collector = model.add(make("byte-credits", 8), 8, 64U << 10U);
  Meter meter{collector, 125e6};
  model.run_until(3 * kSecond);
  CHECK(meter.share(3 * kSecond) > 0.995);
  CHECK(collector.lost == 0);
  CHECK(p99_over_serialisation(collector, 125e6) < 1.15);
}

TEST_CASE("two DCMs behind one port share it, with or without information about each other") {
  const bool told = GENERATE(true, false);
  CAPTURE(told);
  PortModel model({});
  auto& first = model.add(make("adaptive", 8), 8, 64U << 10U);
  auto& second = model.add(make("adaptive", 8), 8, 64U << 10U);
  second.from_ns = 3 * kSecond;
  model.run_until(3 * kSecond);
  const std::uint64_t lost = first.lost;
  TimeNs now = 3 * kSecond;
  Meter meters[] = {{first, 125e6}, {second, 125e6}};
  const auto go_on = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      now += 200 * kMillisecond;
      model.run_until(now);
      if (!told) continue;
      DurationNs base = 0;
      for (const auto* one : {&first, &second}) {
        const DurationNs seen = one->shaper->base_ns();
        if (seen > 0 && (base == 0 || seen < base)) base = seen;
      }
      for (auto* one : {&first, &second}) one->shaper->set_share({2, base});
    }
  };
  go_on(5);
  for (Meter& meter : meters) (void)meter.share(now);
  go_on(25);
  const double a = meters[0].share(now);
  const double b = meters[1].share(now);
  CAPTURE(a, b);
  CHECK(a + b > 0.98);
  CHECK(std::abs(a - b) / (a + b) < (told ? 0.05 : 0.15));
  if (told) CHECK(first.lost + second.lost <= lost + 1);
}

TEST_CASE("a port that becomes slower, and faster again, is followed") {
  PortModel model({});
  auto& collector = model.add(make("adaptive", 8), 8, 64U << 10U);
  model.run_until(3 * kSecond);
  model.settings().bytes_per_s = 62.5e6;
  model.run_until(6 * kSecond);
  Meter meter{collector, 62.5e6, collector.bytes, collector.lost, 6 * kSecond};
  model.run_until(9 * kSecond);
  CHECK(meter.share(9 * kSecond) > 0.98);
  CHECK(meter.losses() == 0);
  model.settings().bytes_per_s = 125e6;
  model.run_until(12 * kSecond);
  meter.bytes_per_s = 125e6;
  (void)meter.share(12 * kSecond);
  model.run_until(15 * kSecond);
  CHECK(meter.share(15 * kSecond) > 0.98);
  CHECK(meter.losses() == 0);
}

TEST_CASE("at low load slices take little longer than their serialisation") {
  PortModel model({});
  auto& collector = model.add(make("adaptive", 8), 8, 64U << 10U);
  collector.slices_per_s = 0.3 * 125e6 / (8 * 65536 * kWire);
  model.run_until(4 * kSecond);
  std::vector<DurationNs>& all = collector.latencies_ns;
  std::sort(all.begin(), all.end());
  const double p50 = static_cast<double>(all[all.size() / 2]) / (8 * 65536 * kWire / 125e6 * 1e9);
  CHECK(p50 < 1.1);
  CHECK(collector.lost == 0);
}

TEST_CASE("a rarely requested readout does not stall: the window stays as it is") {
  PortModel model({});
  auto& collector = model.add(make("adaptive", 8), 8, 64U << 10U);
  collector.slices_per_s = 5;
  const std::uint64_t window = collector.shaper->window();
  model.run_until(4 * kSecond);
  CHECK(collector.latencies_ns.size() >= 19);
  CHECK(collector.shaper->window() >= window);
}

TEST_CASE("if a line needs a large window the pieces are larger, but each readout has several in transit") {
  const std::uint32_t readouts = GENERATE(2U, 32U);
  CAPTURE(readouts);
  PortModel::Settings settings;
  settings.bytes_per_s = 250e6;
  settings.buffer_bytes = 2e6;
  settings.way_ns = 10 * kMillisecond;
  PortModel model(settings);
  auto& collector = model.add(make("adaptive", readouts), readouts, (64U << 20U) / readouts);
  model.run_until(3 * kSecond);
  const std::uint64_t window = collector.shaper->window();
  CHECK(window > 2'000'000);
  CHECK(collector.shaper->piece_bytes() <= window / 16);
  CHECK((collector.shaper->piece_bytes() > 100'000) == (readouts == 2));
  CHECK(collector.lost < 20);  // in the first half second; only the window delays this model's pieces
}

TEST_CASE("what waited behind a lost segment of a long line is not requested again at once") {
  constexpr DurationNs kStep = 500 * kMicrosecond;
  constexpr double kPortBytesPerNs = 0.0125;
  struct Sent {
    TimeNs asked_ns;
    TimeNs due_ns;
    std::uint64_t bytes;
  };
  const auto shaper = make("adaptive", 2);
  std::array<std::deque<Sent>, 2> sent;  // to a readout beside the DCM, and to one 40 ms away
  TimeNs port_free_ns = 0;
  std::uint64_t released = 0;
  std::uint64_t granted = 0;
  const TimeNs blocked_ns = 3 * kSecond;
  const TimeNs released_ns = blocked_ns + 60 * kMillisecond;
  for (TimeNs now_ns = kStep; now_ns <= released_ns; now_ns += kStep) {
    for (std::uint32_t readout = 0; readout < 2; ++readout) {
      if (readout == 1 && now_ns > blocked_ns && now_ns < released_ns) continue;
      while (!sent[readout].empty() && sent[readout].front().due_ns <= now_ns) {
        const Sent answer = sent[readout].front();
        sent[readout].pop_front();
        shaper->arrived(readout, answer.bytes, now_ns);
        shaper->answered(readout, 1, 0, now_ns);
        shaper->response({readout, now_ns - answer.asked_ns, answer.bytes, 0, answer.bytes}, now_ns);
        if (readout == 1 && now_ns == released_ns) released += answer.bytes;
      }
    }
    for (const std::uint32_t readout : {1U, 0U}) {
      const std::uint64_t bytes = shaper->piece_bytes();
      if (now_ns == released_ns && readout == 1) CHECK(shaper->room(1) == 0);
      while (shaper->try_take({readout, 1, bytes}, now_ns) == Credit::granted) {
        port_free_ns = std::max(port_free_ns, now_ns) +
                       static_cast<DurationNs>(static_cast<double>(bytes) / kPortBytesPerNs);
        sent[readout].push_back({now_ns, readout == 1 ? now_ns + 40 * kMillisecond : port_free_ns, bytes});
        if (readout == 1 && now_ns == released_ns) granted += bytes;
      }
    }
    shaper->end_of_pass(true, now_ns);
  }
  CHECK(released > 150'000);
  CHECK(granted > 0);
  CHECK(granted < released / 4);
}

}  // namespace weir::shaping
