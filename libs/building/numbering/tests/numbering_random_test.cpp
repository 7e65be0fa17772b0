// Front-ends, readouts and the supervisor's order together: losses, jumps, reordering and restarts from a
// seed.
#include "weir_catch.hpp"
#include <weir/numbering/counter_track.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/numbering/seen_numbers.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

using namespace weir;

namespace {

constexpr DurationNs kSkewOfFarm = 20 * kMillisecond;

struct Packet {
  TimeNs arrives = 0;
  std::size_t source = 0;
  std::uint64_t number = 0;  // the true one
  std::uint64_t counter = 0;
};

}  // namespace

TEST_CASE(
    "every number that a front-end sends in time becomes a trigger, once, in order, whatever one of them "
    "does") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const std::size_t readouts = 1 + below(3);
    const std::size_t per_readout = 1 + below(3);
    const std::size_t sources = readouts * per_readout;
    const auto bits = static_cast<std::uint32_t>(10 + below(20));
    const std::uint64_t mask = (1ULL << bits) - 1;
    const std::uint64_t first = below(1ULL << 30U);
    constexpr std::uint64_t kNumbers = 3000;
    // One of at least three sources jumps by a bit, for good: most of its readout or of the farm must not.
    const bool jumps = readouts >= 3 || (readouts == 1 && per_readout >= 3);
    const std::uint64_t jump_from = 500 + below(1000);
    const std::uint64_t jump_by = 1ULL << (5 + below(std::min<std::uint32_t>(bits, 12) - 6));

    std::vector<Packet> packets;
    for (std::uint64_t i = 0; i < kNumbers; ++i) {
      const TimeNs made = kSecond + static_cast<TimeNs>(i) * kMillisecond;
      for (std::size_t source = 0; source < sources; ++source) {
        if (below(100) < 3) continue;  // lost
        const bool jumped = jumps && source == 0 && i >= jump_from;
        packets.push_back({made + static_cast<TimeNs>(below(kSkewOfFarm / 4)), source, first + i,
                           (first + i + (jumped ? jump_by : 0)) & mask});
      }
    }
    std::stable_sort(packets.begin(), packets.end(),
                     [](const Packet& a, const Packet& b) { return a.arrives < b.arrives; });

    std::vector<numbering::CounterTrack> tracks;
    for (std::size_t source = 0; source < sources; ++source)
      tracks.emplace_back(numbering::CounterSettings{bits, 0, SliceId(first)});
    std::vector<numbering::SeenNumbers> seen(readouts, numbering::SeenNumbers(per_readout));
    for (auto& each : seen) each.begin();
    numbering::NumberOrder order(readouts, kSkewOfFarm);
    order.begin(SliceId(first), kSecond);
    std::optional<SliceId> latest;
    std::vector<std::uint64_t> made;
    std::set<std::uint64_t> sent;
    std::vector<numbering::SeenNumber> batch;
    const std::size_t restarts_at = below(2) == 0 ? packets.size() / 2 : packets.size();

    const auto pass = [&](TimeNs now) {
      for (std::size_t readout = 0; readout < readouts; ++readout) {
        seen[readout].take(1 + below(50), now, batch);
        for (const numbering::SeenNumber& one : batch) order.seen(readout, one.number, one.time, now);
      }
      while (const auto due = order.next(now)) {
        made.push_back(due->number.value);
        latest = due->number;
      }
      if (latest)
        for (auto& each : seen) each.announced(*latest);
    };
    for (std::size_t at = 0; at < packets.size(); ++at) {
      const Packet& packet = packets[at];
      const auto number = tracks[packet.source].take(packet.counter, latest);
      INFO("seed " << seed << " packet " << at << " number " << packet.number);
      REQUIRE(number.has_value());
      const bool jumped = jumps && packet.source == 0 && packet.number >= first + jump_from;
      REQUIRE(number->value == packet.number + (jumped ? jump_by : 0));
      if (!jumped) sent.insert(packet.number);
      seen[packet.source / per_readout].note(packet.source % per_readout, *number, 0, packet.arrives);
      if (below(8) == 0) pass(packet.arrives);
      if (at == restarts_at) {  // the supervisor: all that it knows is what it has announced
        order.begin(SliceId(latest ? latest->value + 1 : first), packet.arrives);
        for (auto& each : seen) each.repeat();
      }
    }
    const TimeNs end = packets.back().arrives;
    for (TimeNs now = end; now < end + 100 * kMillisecond; now += kMillisecond) pass(now);

    INFO("seed " << seed << " readouts " << readouts << " of " << per_readout);
    REQUIRE(std::is_sorted(made.begin(), made.end()));
    REQUIRE(std::adjacent_find(made.begin(), made.end()) == made.end());
    std::vector<std::uint64_t> lacking;
    const std::uint64_t until = made.empty() ? 0 : made.back();
    for (const std::uint64_t number : sent) {
      if (number <= until && !std::binary_search(made.begin(), made.end(), number)) lacking.push_back(number);
    }
    CAPTURE(lacking, jump_from, jump_by, restarts_at, first, bits);
    CHECK(lacking.empty());
    // Nothing that only the jumping front-end has counted is made while the others deliver.
    if (jumps) CHECK(until < first + kNumbers + jump_by);
    CHECK(until + 1 >= first + kNumbers);
  }
}
