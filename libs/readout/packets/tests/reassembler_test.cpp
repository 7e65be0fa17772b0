#include "packet_bytes.hpp"
#include "weir_catch.hpp"
#include <weir/packets/reassembler.hpp>

#include <map>
#include <random>
#include <string>

using namespace weir;
using namespace weir::packets;
using namespace weir::packets::test;

namespace {

struct Found final : ReassemblySink {
  void whole(SourceId source, SliceId slice, FragmentMemory memory, bool truncated) override {
    const std::string text(reinterpret_cast<const char*>(memory.bytes.get()), memory.size);
    fragments.emplace(std::pair(source.value, slice.value), text + (truncated ? "!" : ""));
  }
  void lost(SourceId source, SliceId slice) override { losses.emplace_back(source.value, slice.value); }
  void passed(SourceId source, SliceId slice, bool gap) override {
    marks.push_back(std::to_string(source.value) + ":" + std::to_string(slice.value) + (gap ? " gap" : ""));
  }
  void time_passed(SourceId source, UtcNs time, bool gap) override {
    progress.push_back(std::to_string(source.value) + ":" + std::to_string(time) + (gap ? " gap" : ""));
  }
  void restarted(SourceId source, const Origin& before, const Origin& after) override {
    lives.push_back(std::to_string(source.value) + ": " + to_text(before) + " > " + to_text(after));
  }
  void second_sender(SourceId source, const Origin& kept, const Origin& other) override {
    clashes.push_back(std::to_string(source.value) + ": " + to_text(kept) + " | " + to_text(other));
  }
  using Pair = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Pair, std::string> fragments;
  std::vector<Pair> losses;
  std::vector<std::string> marks;
  std::vector<std::string> progress;
  std::vector<std::string> lives;
  std::vector<std::string> clashes;
};

struct Bench {
  explicit Bench(ReassemblyLimits limits = {}) : reassembler(RunNumber(1), ids, limits) {}

  // Sends the next packet, of source 5 by default.
  void send(std::uint64_t slice, std::uint32_t offset, std::uint32_t total, std::string_view payload,
            std::uint32_t sequence, bool closes = false, std::uint32_t source = 5) {
    Packet packet;
    packet.source = SourceId(source);
    packet.slice = SliceId(slice);
    packet.offset = offset;
    packet.total = total;
    packet.sequence = sequence;
    packet.closes = closes;
    packet.run = RunNumber(run);
    packet.session = session;
    reassembler.take(datagram(packet, payload), from, now, found);
  }
  void mark(std::uint64_t slice, std::uint32_t sequence, std::optional<UtcNs> time = {}) {
    Packet packet;
    packet.stamp.has_time = time.has_value();
    packet.stamp.time = time.value_or(0);
    packet.type = PacketType::mark;
    packet.source = SourceId(5);
    packet.slice = SliceId(slice);
    packet.sequence = sequence;
    packet.session = session;
    reassembler.take(datagram(packet, ""), from, now, found);
  }
  void wait(DurationNs time) {
    now += time;
    reassembler.tick(now, found);
  }

  std::vector<SourceId> ids{SourceId(5), SourceId(9)};
  std::uint32_t run = 1;
  std::uint32_t session = 0;
  Origin from = address(1);
  TimeNs now = 1000;
  Reassembler reassembler;
  Found found;
};

constexpr DurationNs kGap = ReassemblyLimits{}.gap_ns;

}  // namespace

TEST_CASE("a fragment of one packet is whole at once, an empty one too") {
  Bench bench;
  bench.send(1, 0, 3, "abc", 0);
  bench.send(2, 0, 0, "", 1);
  CHECK(bench.found.fragments.at({5, 1}) == "abc");
  CHECK(bench.found.fragments.at({5, 2}).empty());
  CHECK(bench.reassembler.bytes_begun() == 0);
}

TEST_CASE("a mark with a time reports the source's progress, once earlier packets have arrived or are lost") {
  Bench bench;
  bench.send(0, 0, 3, "abc", 0);
  bench.mark(1, 1, 500);
  CHECK(bench.found.progress == std::vector<std::string>{"5:500"});
  bench.mark(2, 2);
  CHECK(bench.found.progress.size() == 1);
  bench.mark(4, 4, 900);  // packet 3 is missing
  CHECK(bench.found.progress.size() == 1);
  bench.mark(5, 5, 1000);
  bench.now += 10 * kSecond;
  bench.reassembler.tick(bench.now, bench.found);
  CHECK(bench.found.progress == std::vector<std::string>{"5:500", "5:900 gap", "5:1000"});
}

TEST_CASE("parts make a fragment in whichever order they come") {
  Bench bench;
  bench.send(1, 2, 8, "cd", 1);
  bench.send(1, 0, 8, "ab", 0);
  bench.send(1, 6, 8, "gh", 3);
  CHECK(bench.found.fragments.empty());
  bench.send(1, 4, 8, "ef", 2);
  CHECK(bench.found.fragments.at({5, 1}) == "abcdefgh");
  CHECK(bench.reassembler.counters().reordered == 2);
  CHECK(bench.reassembler.packets_lost() == 0);
}

TEST_CASE("slices and sources are put together side by side") {
  Bench bench;
  bench.send(1, 0, 4, "ab", 0);
  bench.send(2, 0, 4, "ef", 1);
  bench.send(1, 0, 4, "mn", 0, false, 9);
  bench.send(2, 2, 4, "gh", 2);
  bench.send(1, 2, 4, "cd", 3);
  bench.send(1, 2, 4, "op", 1, false, 9);
  CHECK(bench.found.fragments ==
        std::map<Found::Pair, std::string>{{{5, 1}, "abcd"}, {{5, 2}, "efgh"}, {{9, 1}, "mnop"}});
}

TEST_CASE("an incomplete fragment is lost when its time has run out") {
  Bench bench;
  bench.send(1, 0, 4, "ab", 0);
  bench.wait(kGap - 1);
  CHECK(bench.found.losses.empty());
  bench.wait(1);
  CHECK(bench.found.losses == std::vector<Found::Pair>{{5, 1}});
  CHECK(bench.reassembler.counters().fragments_lost == 1);
  CHECK(bench.reassembler.bytes_begun() == 0);
}

TEST_CASE("a mark passes its slices at once when nothing is missing") {
  Bench bench;
  bench.send(1, 0, 2, "ab", 0, true);
  bench.mark(3, 1);  // passes slice 2, too
  CHECK(bench.found.marks == std::vector<std::string>{"5:1", "5:3"});
  bench.send(2, 0, 2, "ab", 2);
  CHECK(bench.reassembler.counters().late == 1);
  CHECK(bench.found.fragments.size() == 1);
}

TEST_CASE("a mark waits for missing packets, and passes without a gap when they arrive") {
  Bench bench;
  bench.send(0, 0, 4, "ab", 0);
  bench.send(1, 0, 2, "xy", 2, true);
  CHECK(bench.found.marks.empty());
  CHECK(bench.found.fragments.count({5, 1}) == 1);  // complete, so it does not have to wait
  bench.wait(kGap / 2);
  bench.send(0, 2, 4, "cd", 1, true);
  CHECK(bench.found.fragments.at({5, 0}) == "abcd");
  CHECK(bench.found.marks == std::vector<std::string>{"5:1"});
}

TEST_CASE("a mark with packets that stay missing passes with a gap, and incomplete fragments are lost") {
  Bench bench;
  bench.send(0, 0, 4, "ab", 0);
  bench.send(1, 0, 2, "xy", 2, true);
  bench.wait(kGap);
  CHECK(bench.found.losses == std::vector<Found::Pair>{{5, 0}});
  CHECK(bench.found.marks == std::vector<std::string>{"5:1 gap"});
  CHECK(bench.reassembler.packets_lost() == 1);
  bench.mark(2, 3);
  CHECK(bench.found.marks.back() == "5:2");  // the gap is reported once
}

TEST_CASE("a packet that comes twice changes nothing") {
  Bench bench;
  bench.send(1, 0, 4, "ab", 0);
  bench.send(1, 0, 4, "ab", 0);
  bench.send(1, 2, 4, "cd", 1);
  bench.send(1, 2, 4, "cd", 1);
  CHECK(bench.found.fragments.size() == 1);
  CHECK(bench.reassembler.counters().stale == 2);
  CHECK(bench.reassembler.counters().fragments == 1);
}

TEST_CASE("parts that overlap or disagree on the length are ignored") {
  Bench bench;
  bench.send(1, 0, 6, "abc", 0);
  bench.send(1, 2, 6, "XY", 1);
  bench.send(1, 3, 7, "XYZ", 2);
  bench.send(1, 0, 6, "XYZ", 3);
  CHECK(bench.reassembler.counters().inconsistent == 3);
  bench.send(1, 3, 6, "def", 4);
  CHECK(bench.found.fragments.at({5, 1}) == "abcdef");
}

TEST_CASE("packets of another run, of unknown sources, or too large are counted and ignored") {
  ReassemblyLimits limits;
  limits.fragment_bytes_max = 100;
  Bench bench(limits);
  bench.run = 2;
  bench.send(1, 0, 2, "ab", 0);
  bench.run = 1;
  bench.send(1, 0, 2, "ab", 0, false, 6);
  bench.send(1, 0, 101, "ab", 0);
  bench.reassembler.take(bytes_of("nonsense"), bench.from, 1, bench.found);
  const ReassemblyCounters& counters = bench.reassembler.counters();
  CHECK(counters.other_run == 1);
  CHECK(counters.unknown_source == 1);
  CHECK(counters.too_large == 1);
  CHECK(counters.malformed[static_cast<std::size_t>(PacketError::too_short)] == 1);
  CHECK(bench.found.fragments.empty());
  bench.run = 0;  // any run
  bench.send(1, 0, 2, "ab", 1);
  CHECK(bench.found.fragments.size() == 1);
}

TEST_CASE("fragments begun are bounded in number and in bytes, and the oldest is given up") {
  ReassemblyLimits limits;
  limits.slices_max = 2;
  limits.bytes_max = 250;
  Bench bench(limits);
  bench.send(1, 0, 100, "a", 0);
  ++bench.now;
  bench.send(2, 0, 100, "b", 1);
  ++bench.now;
  bench.send(3, 0, 100, "c", 2);  // a third fragment of one source
  CHECK(bench.found.losses == std::vector<Found::Pair>{{5, 1}});
  ++bench.now;
  bench.send(1, 0, 100, "d", 0, false, 9);  // more bytes than the limit for all sources
  CHECK(bench.found.losses == std::vector<Found::Pair>{{5, 1}, {5, 2}});
  CHECK(bench.reassembler.bytes_begun() == 200);
}

TEST_CASE(
    "packets in random order with losses and repeats give every fragment right, or lost and never both") {
  std::mt19937 random(GENERATE(range(1U, 21U)));
  Bench bench;
  struct Sent {
    std::uint64_t slice;
    std::uint32_t offset;
    std::uint32_t sequence;
    bool closes;
  };
  const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::vector<Sent> all;
  std::uint32_t sequence = 0;
  for (std::uint64_t slice = 1; slice <= 60; ++slice) {
    for (std::uint32_t at = 0; at < 36; at += 6) all.push_back({slice, at, sequence++, at == 30});
  }
  std::vector<Sent> wire;
  for (const Sent& packet : all) {
    if (random() % 50 == 0) continue;
    wire.push_back(packet);
    if (random() % 30 == 0) wire.push_back(packet);
  }
  for (std::size_t i = 0; i + 5 < wire.size(); ++i) std::swap(wire[i], wire[i + random() % 5]);
  for (const Sent& packet : wire) {
    bench.send(packet.slice, packet.offset, 36, std::string_view(text).substr(packet.offset, 6),
               packet.sequence, packet.closes);
    bench.wait(kGap / 100);
  }
  bench.mark(60, sequence);
  bench.wait(kGap);
  bench.wait(kGap);
  for (const auto& [which, content] : bench.found.fragments) CHECK(content == text);
  for (const Found::Pair& loss : bench.found.losses) CHECK(bench.found.fragments.count(loss) == 0);
  CHECK(bench.found.fragments.size() + bench.found.losses.size() <= 60);
  CHECK(bench.found.fragments.size() > 20);
  CHECK(bench.reassembler.bytes_begun() == 0);
  CHECK(bench.found.marks.back().substr(0, 4) == "5:60");
}

TEST_CASE("a front-end that restarts with a session number loses none of its new data") {
  Bench bench;
  bench.session = 7;
  for (std::uint32_t i = 0; i < 10; ++i) bench.send(i, 0, 2, "ab", i, true);
  bench.send(10, 0, 4, "ab", 10);  // the rest of this fragment dies with its front-end
  bench.session = 8;
  bench.from = address(2);
  bench.send(10, 0, 4, "AB", 0);
  bench.send(10, 2, 4, "CD", 1, true);
  for (std::uint32_t i = 2; i < 10; ++i) bench.send(20 + i, 0, 2, "cd", i, true);
  CHECK(bench.found.lives == std::vector<std::string>{"5: 10.0.0.1:1 > 10.0.0.2:2"});
  CHECK(bench.found.fragments.at({5, 10}) == "ABCD");  // no byte of the old life is in it
  CHECK(bench.found.fragments.size() == 19);
  CHECK(bench.reassembler.counters().stale == 0);
  CHECK(bench.reassembler.counters().restarts == 1);
  // Packets in between may have been lost.
  CHECK(std::count(bench.found.marks.begin(), bench.found.marks.end(), "5:10 gap") == 1);
  CHECK(bench.found.marks.back() == "5:29");
  CHECK(bench.reassembler.bytes_begun() == 0);
}

TEST_CASE("a front-end that restarts without a session number is read from its eighth packet on") {
  Bench bench;
  for (std::uint32_t i = 0; i < 100; ++i) bench.send(i, 0, 2, "ab", i, true);
  bench.from = address(2);
  for (std::uint32_t i = 0; i < 100; ++i) bench.send(100 + i, 0, 2, "cd", i, true);
  CHECK(bench.found.lives == std::vector<std::string>{"5: 10.0.0.1:1 > 10.0.0.2:2"});
  CHECK(bench.found.fragments.size() == 193);
  CHECK(bench.reassembler.counters().unconfirmed == 7);
  CHECK(std::count(bench.found.marks.begin(), bench.found.marks.end(), "5:107 gap") == 1);
  bench.reassembler.for_each_losses([](SourceId source, const SourceLosses& losses) {
    CHECK(source == SourceId(5));
    CHECK(losses.reached == 200);
    CHECK(losses.lost[static_cast<std::size_t>(PacketLoss::unconfirmed)] == 7);
  });
}

TEST_CASE("of two boards with one source id one is read, and every packet of the other counts as lost") {
  Bench bench;
  for (std::uint32_t i = 0; i < 100; ++i) {
    bench.from = address(1);
    bench.send(i, 0, 2, "aa", i, true);
    bench.from = address(2);
    bench.send(i, 0, 2, "bb", i, true);
  }
  CHECK(bench.found.clashes == std::vector<std::string>{"5: 10.0.0.1:1 | 10.0.0.2:2"});
  CHECK(bench.found.fragments.size() == 100);
  for (const auto& [which, text] : bench.found.fragments) CHECK(text == "aa");
  bench.reassembler.for_each_losses([](SourceId, const SourceLosses& losses) {
    CHECK(losses.reached == 200);
    CHECK(losses.lost[static_cast<std::size_t>(PacketLoss::unconfirmed)] == 7);
    CHECK(losses.lost[static_cast<std::size_t>(PacketLoss::second_sender)] == 93);
  });
}

TEST_CASE("packets sent twice are not losses, unless the front-end only repeats itself") {
  Bench bench;
  const auto lost = [&] {
    std::uint64_t sum = 0;
    bench.reassembler.for_each_losses([&](SourceId, const SourceLosses& losses) {
      for (const std::uint64_t one : losses.lost) sum += one;
    });
    return sum;
  };
  for (std::uint32_t i = 0; i < 1000; ++i) {
    bench.send(i, 0, 2, "ab", i, true);
    bench.send(i, 0, 2, "ab", i, true);
  }
  CHECK(bench.reassembler.counters().stale == 1000);
  CHECK(lost() == 0);
  for (std::uint32_t i = 0; i < 1000; ++i) bench.send(i, 0, 2, "ab", i, true);
  CHECK(lost() > 900);
}
