#include "player.hpp"

#include "weir_catch.hpp"
#include <weir/emulation/dummy_source.hpp>
#include <weir/packets/reassembler.hpp>

#include <algorithm>
#include <map>

using namespace weir;
using namespace weir::emit;

namespace {

constexpr TimeNs kStart = 10 * kSecond;

// Two sources of 3000 bytes, to two targets: three packets each.
Player make_player(PlayerSettings settings, std::uint32_t bytes = 3000) {
  emulation::DummySettings dummy;
  dummy.size_bytes = bytes;
  const auto group = std::make_shared<emulation::DummyGroup>(dummy, false);
  std::vector<Player::Played> sources;
  for (std::uint32_t i = 0; i < 2; ++i) {
    sources.push_back({std::make_unique<emulation::DummySource>(SourceId(7 + i), group), i});
  }
  sources[0].source->begin_run(RunNumber(5));
  settings.run = RunNumber(5);
  Player player(settings, std::move(sources));
  player.start(kStart, 0);
  return player;
}

// A front-end that neither restarts nor has a double.
struct Heard : packets::ReassemblySink {
  void restarted(SourceId, const packets::Origin&, const packets::Origin&) override { FAIL(); }
  void second_sender(SourceId, const packets::Origin&, const packets::Origin&) override { FAIL(); }
};

std::vector<std::byte> datagram(const OutgoingPacket& packet) {
  std::vector<std::byte> bytes(packet.header().begin(), packet.header().end());
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  return bytes;
}

}  // namespace

TEST_CASE("the packets of a slice are spread evenly over its time") {
  PlayerSettings settings;
  settings.rate_hz = 1000;
  settings.slices = 2;
  Player player = make_player(settings);
  OutgoingPacket packet;
  std::vector<TimeNs> times;
  for (TimeNs now = kStart; !player.done(); now += 1000) {
    if (player.next(now, packet)) times.push_back(now - kStart);
  }
  REQUIRE(times.size() == 12);
  for (std::size_t i = 0; i < times.size(); ++i) {
    CHECK(std::abs(times[i] - static_cast<TimeNs>(i) * kMillisecond / 6) <= 1000);
  }
}

TEST_CASE("a late player sends due packets one after another, and no more") {
  PlayerSettings settings;
  settings.rate_hz = 1000;
  Player player = make_player(settings);
  OutgoingPacket packet;
  int count = 0;
  while (player.next(kStart + 2 * kMillisecond, packet)) ++count;
  CHECK(count == 13);  // two slices, and the first packet of the third
  CHECK(player.next_due() > kStart + 2 * kMillisecond);
}

TEST_CASE("a player's packets become the same fragments again, and the end of each slice is marked") {
  PlayerSettings settings;
  settings.rate_hz = 0;
  settings.slices = 5;
  settings.first = SliceId(100);
  Player player = make_player(settings);

  struct Found final : Heard {
    void whole(SourceId source, SliceId slice, packets::FragmentMemory memory, bool) override {
      good += verifier.verify(RunNumber(5), source, slice, {memory.bytes.get(), memory.size}) &&
              memory.size == 3000;
    }
    void lost(SourceId, SliceId) override { ++lost_count; }
    void passed(SourceId source, SliceId slice, bool gap) override {
      passed_to[source.value] = slice.value;
      gaps += gap ? 1 : 0;
    }
    emulation::DummyVerifier verifier;
    int good = 0;
    int lost_count = 0;
    int gaps = 0;
    std::map<std::uint32_t, std::uint64_t> passed_to;
  } found;
  const std::vector<SourceId> ids{SourceId(7), SourceId(8)};
  packets::Reassembler reassembler(RunNumber(5), ids, {});
  OutgoingPacket packet;
  std::vector<std::uint64_t> ended;
  while (player.next(kStart, packet)) {
    CHECK(datagram(packet).size() <= settings.packet_bytes);
    reassembler.take(datagram(packet), {}, kStart, found);
    if (packet.ended) ended.push_back(packet.ended->value);
  }
  CHECK(player.done());
  CHECK(found.good == 10);
  CHECK(found.lost_count == 0);
  CHECK(found.gaps == 0);
  CHECK(found.passed_to == std::map<std::uint32_t, std::uint64_t>{{7, 104}, {8, 104}});
  CHECK(ended == std::vector<std::uint64_t>{100, 101, 102, 103, 104});
}

TEST_CASE("all packets of a player carry its session number") {
  PlayerSettings settings;
  settings.rate_hz = 0;
  settings.slices = 2;
  settings.session = 77;
  Player player = make_player(settings);
  OutgoingPacket packet;
  const auto session_of = [](const OutgoingPacket& sent) {
    const auto bytes = datagram(sent);
    const auto parsed = packets::parse(bytes);
    REQUIRE(parsed);
    return parsed->session;
  };
  int sent = 0;
  for (; player.next(kStart, packet); ++sent) CHECK(session_of(packet) == 77);
  CHECK(sent == 12);
  for (const OutgoingPacket& mark : player.last_marks()) CHECK(session_of(mark) == 77);
}

TEST_CASE("a player sends each front-end's counter and time in all packets of a fragment") {
  PlayerSettings settings;
  settings.rate_hz = 0;
  settings.slices = 2;
  settings.first = SliceId(100);
  settings.stamps = true;
  settings.packet_bytes = 1000;
  Player player = make_player(settings);
  OutgoingPacket packet;
  int sent = 0;
  for (; player.next(kStart, packet); ++sent) {
    const auto bytes = datagram(packet);
    CHECK(bytes.size() <= 1000);
    const auto parsed = packets::parse(bytes);
    REQUIRE(parsed);
    CHECK(parsed->stamp == emulation::stamp_in_step(player.trigger_of(parsed->slice)));
  }
  CHECK(sent == 2 * 2 * 4);
}

TEST_CASE(
    "a front-end with a clock sends each piece with its time, and then its progress up to the next one") {
  PlayerSettings settings;
  settings.rate_hz = 1000;
  settings.slices = 4;
  settings.stamps = settings.progress = true;
  settings.first = SliceId(10);
  Player player = make_player(settings);
  struct Found final : Heard {
    void whole(SourceId source, SliceId number, packets::FragmentMemory memory, bool) override {
      pieces[source.value].emplace_back(number.value, memory.stamp.time);
      CHECK(memory.stamp.has_time);
    }
    void lost(SourceId, SliceId) override { FAIL(); }
    void passed(SourceId, SliceId, bool gap) override { CHECK_FALSE(gap); }
    void time_passed(SourceId source, UtcNs time, bool gap) override {
      progress[source.value].push_back(time);
      CHECK_FALSE(gap);
    }
    std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, UtcNs>>> pieces;
    std::map<std::uint32_t, std::vector<UtcNs>> progress;
  } found;
  const std::vector<SourceId> ids{SourceId(7), SourceId(8)};
  packets::Reassembler reassembler(RunNumber(5), ids, {});
  OutgoingPacket packet;
  std::uint64_t slices = 0;
  while (player.next(kStart + kSecond, packet)) {
    reassembler.take(datagram(packet), {}, kStart, found);
    slices += packet.ended ? 1 : 0;
  }
  CHECK(slices == 4);
  for (const std::uint32_t source : {7U, 8U}) {
    REQUIRE(found.pieces[source].size() == 4);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const auto time = static_cast<UtcNs>(i) * kMillisecond;
      CHECK(found.pieces[source][i] == std::pair<std::uint64_t, UtcNs>(10 + 2 * i, time));
      CHECK(found.progress[source].at(i) == time + kMillisecond);
    }
  }
}

TEST_CASE("packets that are withheld are missed by their sequence, and the last marks tell") {
  PlayerSettings settings;
  settings.rate_hz = 0;
  settings.slices = 4;
  settings.drop_every = 12;  // the last packet of every second slice
  Player player = make_player(settings);
  struct Found final : Heard {
    void whole(SourceId, SliceId, packets::FragmentMemory, bool) override { ++wholes; }
    void lost(SourceId, SliceId) override { ++losses; }
    void passed(SourceId, SliceId slice, bool) override { last = slice.value; }
    int wholes = 0;
    int losses = 0;
    std::uint64_t last = 0;
  } found;
  const std::vector<SourceId> ids{SourceId(8)};
  packets::Reassembler reassembler(RunNumber(5), ids, {});
  OutgoingPacket packet;
  while (player.next(kStart, packet)) {
    if (!packet.withheld) reassembler.take(datagram(packet), {}, kStart, found);
  }
  CHECK(found.wholes == 2);
  for (const OutgoingPacket& mark : player.last_marks()) reassembler.take(datagram(mark), {}, kStart, found);
  reassembler.tick(kStart + kSecond, found);
  CHECK(found.losses == 2);
  CHECK(found.last == 3);
  CHECK(reassembler.packets_lost() == 2);
}
