#include "weir_catch.hpp"
#include <weir/line_figures/flood.hpp>

#include <algorithm>
#include <random>

namespace weir::line_figures {
namespace {

constexpr double kNs = 1e9;

// A port with a token bucket and a drop-tail buffer, and senders with clocks of their own.
struct ModelledFlood {
  double port_bits_per_s = 200e6;
  double buffer_bytes = 100'000;
  double bucket_bytes = 16 * 1024;
  std::size_t interface_frames = 0;  // behind the buffer; places become free when half of them have left
  std::vector<double> senders_bits_per_s = {600e6};
  std::vector<DurationNs> clocks_ahead_ns = {0, 0, 0};
  DurationNs line_ns = 50'000;
  DurationNs pause_every_ns = 0;  // a sender that loses its core
  DurationNs pause_ns = 0;
  DurationNs length_ns = 300 * kMillisecond;
  double payload = 1472;

  [[nodiscard]] std::vector<FloodPart> run() const {
    struct Sent {
      std::size_t sender;
      Arrival arrival;
      DurationNs at_ns;
    };
    const FrameSizes sizes = frame_sizes(payload, 20);
    std::vector<Sent> all;
    std::vector<FloodPart> parts(senders_bits_per_s.size());
    for (std::size_t sender = 0; sender < parts.size(); ++sender) {
      double at = static_cast<double>(sender) * 1000;
      double next_pause = pause_every_ns > 0 ? static_cast<double>(pause_every_ns) : 1e18;
      parts[sender].least_transit_ns = line_ns - clocks_ahead_ns[sender];
      while (at < static_cast<double>(length_ns)) {
        const auto ns = static_cast<DurationNs>(at);
        all.push_back({sender, {parts[sender].sent++, ns + clocks_ahead_ns[sender], 0, false}, ns});
        at += sizes.on_wire * 8 / senders_bits_per_s[sender] * kNs;
        if (at > next_pause) {
          at += static_cast<double>(pause_ns);
          next_pause = at + static_cast<double>(pause_every_ns);
        }
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Sent& a, const Sent& b) { return a.at_ns < b.at_ns; });
    for (const Sent& sent : all) {
      FloodPart& part = parts[sent.sender];
      if (part.first_sent_ns == 0) part.first_sent_ns = sent.arrival.sent_ns;
      part.last_sent_ns = sent.arrival.sent_ns;
    }
    pass(all, parts, sizes);
    return parts;
  }

 private:
  template <class Sent>
  void pass(const std::vector<Sent>& all, std::vector<FloodPart>& parts, const FrameSizes& sizes) const {
    const double frame_ns = sizes.on_wire * 8 / port_bits_per_s * kNs;
    const double bucket_ns = bucket_bytes * 8 / port_bits_per_s * kNs;
    double full_at_ns = -1e18;  // the bucket is full from then on
    std::vector<double> leaves;
    std::size_t gone = 0;
    std::size_t in_interface = 0;
    bool stopped = false;
    const auto refill = [&] {
      if (2 * in_interface <= interface_frames) stopped = false;
      while (!stopped && in_interface < interface_frames && gone + in_interface < leaves.size()) {
        stopped = ++in_interface == interface_frames;
      }
    };
    for (const Sent& sent : all) {
      const auto now = static_cast<double>(sent.at_ns);
      for (; gone < leaves.size() && leaves[gone] <= now; refill()) {
        ++gone;
        if (in_interface > 0) --in_interface;
      }
      const double queued = static_cast<double>(leaves.size() - gone - in_interface) * sizes.buffered;
      if (queued + sizes.buffered > buffer_bytes) continue;
      full_at_ns = std::max(full_at_ns, now) + frame_ns;
      leaves.push_back(std::max(now, full_at_ns - bucket_ns));
      Arrival arrival = sent.arrival;
      arrival.arrived_ns = static_cast<UtcNs>(leaves.back()) + line_ns;
      parts[sent.sender].arrivals.push_back(arrival);
      refill();
    }
  }
};

TEST_CASE("a flood shows rate and buffer of the port, whatever the clocks of the hosts say") {
  ModelledFlood flood;
  flood.clocks_ahead_ns = {37 * kSecond};
  const FloodFigures figures = flood_figures(flood.run(), frame_sizes(1472, 20));
  CHECK(figures.limit == FloodLimit::port);
  CHECK(figures.rate_bits_per_s == Approx(200e6).epsilon(0.005));
  CHECK(figures.offered_bits_per_s == Approx(600e6).epsilon(0.005));
  REQUIRE(figures.buffer_bytes);
  CHECK(*figures.buffer_bytes == Approx(100'000).margin(2 * 1514));
  CHECK(figures.full_queues > 1000);
}

TEST_CASE("the first loss shows the buffer and the burst that the port passes at once") {
  ModelledFlood flood;
  const auto biased = flood_figures(flood.run(), frame_sizes(1472, 20)).first_loss_bytes;
  REQUIRE(biased);
  CHECK(*biased == Approx(100'000 + 16 * 1024).margin(3 * 1514));
  flood.bucket_bytes = 0;
  const auto exact = flood_figures(flood.run(), frame_sizes(1472, 20)).first_loss_bytes;
  REQUIRE(exact);
  CHECK(*exact == Approx(100'000).margin(3 * 1514));
}

TEST_CASE("a sender that loses its core changes neither rate nor buffer") {
  ModelledFlood flood;
  flood.pause_every_ns = 7 * kMillisecond;
  flood.pause_ns = 6 * kMillisecond;  // longer than the queue lasts
  const FloodFigures figures = flood_figures(flood.run(), frame_sizes(1472, 20));
  CHECK(figures.rate_bits_per_s == Approx(200e6).epsilon(0.03));
  REQUIRE(figures.buffer_bytes);
  CHECK(*figures.buffer_bytes == Approx(100'000).margin(3 * 1514));
}

TEST_CASE("a port that stops for a while is measured by the time in which it sends") {
  ModelledFlood flood;
  std::vector<FloodPart> parts = flood.run();
  DurationNs late = 0;
  UtcNs next = 40 * kMillisecond;
  for (Arrival& arrival : parts.front().arrivals) {
    if (arrival.arrived_ns > next) {
      late += 8 * kMillisecond;
      next += 40 * kMillisecond;
    }
    arrival.arrived_ns += late;
    arrival.sent_ns += late;  // the queue stays as it is
  }
  parts.front().last_sent_ns += late;
  const FloodFigures figures = flood_figures(parts, frame_sizes(1472, 20));
  CHECK(figures.rate_bits_per_s == Approx(200e6).epsilon(0.01));
  REQUIRE(figures.buffer_bytes);
  CHECK(*figures.buffer_bytes == Approx(100'000).margin(3 * 1514));
}

TEST_CASE("two senders that are no faster than the port fill its buffer together") {
  ModelledFlood flood;
  flood.senders_bits_per_s = {190e6, 195e6};
  flood.clocks_ahead_ns = {-5 * kSecond, 11 * kSecond};
  const FloodFigures figures = flood_figures(flood.run(), frame_sizes(1472, 20));
  CHECK(figures.limit == FloodLimit::port);
  CHECK(figures.rate_bits_per_s == Approx(200e6).epsilon(0.01));
  REQUIRE(figures.buffer_bytes);
  CHECK(*figures.buffer_bytes == Approx(100'000).margin(3 * 1514));
}

TEST_CASE("places of an interface that become free in halves count in full") {
  for (const std::size_t frames : {16U, 32U, 128U}) {
    ModelledFlood flood;
    flood.interface_frames = frames;
    flood.senders_bits_per_s = {4e9};  // so that few frames leave while the free places fill
    const FloodFigures figures = flood_figures(flood.run(), frame_sizes(1472, 20));
    REQUIRE(figures.buffer_bytes);
    CHECK(*figures.buffer_bytes == Approx(100'000 + static_cast<double>(frames) * 1514).margin(4 * 1514));
  }
}

// Holds frames up in front of the port for a while, in this share of the time.
FloodFigures held_up(double share) {
  ModelledFlood flood;
  std::vector<FloodPart> parts = flood.run();
  constexpr DurationNs kPeriod = 10 * kMillisecond;
  for (Arrival& arrival : parts.front().arrivals) {
    const auto of_period = static_cast<double>(arrival.arrived_ns % kPeriod) / static_cast<double>(kPeriod);
    if (of_period < share) arrival.sent_ns -= 3 * kMillisecond;
  }
  return flood_figures(parts, frame_sizes(1472, 20));
}

TEST_CASE("a buffer is not stated while other things hold frames up as well") {
  const FloodFigures seldom = held_up(0.08);
  REQUIRE(seldom.buffer_bytes);
  CHECK(*seldom.buffer_bytes == Approx(100'000).margin(3 * 1514));
  const FloodFigures often = held_up(0.4);
  CHECK_FALSE(often.buffer_bytes);
  CHECK(often.full_least_bytes == Approx(100'000).margin(3 * 1514));
  CHECK(often.full_most_bytes > 1.25 * 100'000);
  CHECK(often.full_queues > kFullQueuesMin);
}

TEST_CASE("random ports and loads are measured within 5 and 10 per cent") {
  std::mt19937_64 random(4711);
  const auto between = [&random](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  for (int i = 0; i < 20; ++i) {
    ModelledFlood flood;
    flood.port_bits_per_s = between(10e6, 900e6);
    flood.buffer_bytes = between(20'000, 400'000);
    flood.senders_bits_per_s = {flood.port_bits_per_s * between(1.3, 6)};
    flood.pause_every_ns = static_cast<DurationNs>(between(5e6, 50e6));
    flood.pause_ns = static_cast<DurationNs>(between(0, 5e6));
    flood.payload = between(300, 1472);
    const double bits = 15'000 * frame_sizes(flood.payload, 20).on_wire * 8;
    flood.length_ns = static_cast<DurationNs>(bits / flood.senders_bits_per_s.front() * kNs);
    const FloodFigures figures = flood_figures(flood.run(), frame_sizes(flood.payload, 20));
    INFO("port " << flood.port_bits_per_s << " buffer " << flood.buffer_bytes);
    CHECK(figures.rate_bits_per_s == Approx(flood.port_bits_per_s).epsilon(0.05));
    REQUIRE(figures.buffer_bytes);
    CHECK(*figures.buffer_bytes == Approx(flood.buffer_bytes).epsilon(0.1));
  }
}

TEST_CASE("a flood below the port's rate states no buffer and names its own limit") {
  ModelledFlood flood;
  flood.senders_bits_per_s = {150e6};
  std::vector<FloodPart> parts = flood.run();
  const FloodFigures slow = flood_figures(parts, frame_sizes(1472, 20));
  CHECK(slow.limit == FloodLimit::sender_cpu);
  CHECK(slow.rate_bits_per_s == Approx(150e6).epsilon(0.01));
  CHECK_FALSE(slow.buffer_bytes);
  CHECK_FALSE(slow.first_loss_bytes);
  parts.front().held_up = true;
  CHECK(flood_figures(parts, frame_sizes(1472, 20)).limit == FloodLimit::sender_output);
}

TEST_CASE("drops of the sender's own queue are not attributed to a switch") {
  ModelledFlood flood;
  std::vector<FloodPart> parts = flood.run();
  parts.front().dropped_by_sender = 5;
  CHECK(flood_figures(parts, frame_sizes(1472, 20)).limit == FloodLimit::sender_output);
}

TEST_CASE("drops of the receiver's own socket are not attributed to the line") {
  ModelledFlood flood;
  flood.senders_bits_per_s = {150e6};
  std::vector<FloodPart> parts = flood.run();
  auto& arrivals = parts.front().arrivals;
  for (std::size_t i = 100; i + 100 < arrivals.size(); i += 50) {
    arrivals.erase(arrivals.begin() + static_cast<std::ptrdiff_t>(i));
    arrivals[i].after_drop = true;
    ++parts.front().dropped_here;
  }
  const FloodFigures figures = flood_figures(parts, frame_sizes(1472, 20));
  CHECK(figures.lost == 0);
  CHECK(figures.full_queues == 0);
  CHECK(figures.rate_bits_per_s == Approx(150e6).epsilon(0.01));
}

TEST_CASE("a flood without arrivals has no figures") {
  const FloodFigures figures = flood_figures(std::vector<FloodPart>(2), frame_sizes(64, 40));
  CHECK(figures.rate_bits_per_s == 0);
  CHECK_FALSE(figures.buffer_bytes);
  CHECK(frame_sizes(1, 20).on_wire == 84);
}

}  // namespace
}  // namespace weir::line_figures
