#include "packet_bytes.hpp"
#include "weir_catch.hpp"
#include <weir/packets/sender_tracker.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::packets;
using namespace weir::packets::test;
using Standing = SenderTracker::Standing;

namespace {

constexpr DurationNs kStep = kMillisecond;

// A front-end that numbers its packets, one per slice.
struct FrontEnd {
  Origin from;
  std::uint32_t session = 0;
  std::uint32_t sequence = 0;
  std::uint64_t slice = 0;
};

struct SentPacket {
  Packet packet;
  Origin from;
};

struct Tracked {
  Standing send(const SentPacket& sent, DurationNs after = kStep) {
    now += after;
    ++packets;
    return take(sent);
  }
  Standing take(const SentPacket& sent) {
    const auto verdict = tracker.take(sent.packet, sent.from, now);
    if (verdict.standing == Standing::restarted) {
      ++restarts;
      for (const SentPacket& one : std::exchange(held, {}))
        if (one.packet.session == sent.packet.session) (void)take(one);
      (void)take(sent);
      return Standing::restarted;
    }
    if (verdict.hold) held.push_back(sent);
    using Arrival = Sequence::Arrival;
    const bool fits = verdict.arrival == Arrival::next || verdict.arrival == Arrival::reordered;
    taken += verdict.standing == Standing::taken && fits;
    seconds += verdict.standing == Standing::new_second;
    return verdict.standing;
  }
  static SentPacket next(FrontEnd& front_end) {
    SentPacket sent;
    sent.packet.session = front_end.session;
    sent.packet.sequence = front_end.sequence++;
    sent.packet.slice = SliceId(front_end.slice++);
    sent.from = front_end.from;
    return sent;
  }
  void run(FrontEnd& front_end, int count, DurationNs step = kStep) {
    for (int i = 0; i < count; ++i) send(next(front_end), step);
  }

  SenderTracker tracker;
  std::vector<SentPacket> held;
  TimeNs now = kSecond;
  int packets = 0;
  int taken = 0;
  int restarts = 0;
  int seconds = 0;
};

}  // namespace

TEST_CASE("addresses are printed as people write them") {
  CHECK(to_text(address(7)) == "10.0.0.7:7");
  Origin loopback;
  loopback.address[15] = 1;
  loopback.port = 80;
  loopback.ipv6 = true;
  CHECK(to_text(loopback) == "[0:0:0:0:0:0:0:1]:80");
}

TEST_CASE("two packets with a new session number are a restart, from whichever address") {
  const std::uint8_t port = GENERATE(std::uint8_t{1}, std::uint8_t{2});
  Tracked bench;
  FrontEnd first{address(1), 7};
  bench.run(first, 20);
  FrontEnd again{address(port), 9, 0, 20};
  bench.run(again, 20);
  CHECK(bench.restarts == 1);
  CHECK(bench.taken == 40);
  CHECK(bench.tracker.previous() == address(1));
  CHECK(bench.tracker.current() == address(port));
}

TEST_CASE("packets of the old life between the first of a new one delay the restart, and cost nothing") {
  Tracked bench;
  FrontEnd first{address(1), 7};
  bench.run(first, 50);
  FrontEnd again{address(1), 8, 0, 60};
  for (int i = 0; i < 6; ++i) {
    bench.run(again, 1);
    bench.run(first, 1);
  }
  bench.run(again, 20);
  CHECK(bench.restarts == 1);
  CHECK(bench.seconds == 0);
  CHECK(bench.taken == 82);
}

TEST_CASE("a session number that changes while the count goes on loses nothing") {
  const int every = GENERATE(1, 2, 7);
  const std::uint32_t stride = GENERATE(1U, 3U);
  Tracked bench;
  FrontEnd board{address(1), 1};
  for (int i = 0; i < 1024; ++i) {
    bench.run(board, 1);
    if (i % every == every - 1) ++board.session;
    board.sequence += stride - 1;  // lost
  }
  CHECK(bench.taken == 1024);
  CHECK(bench.restarts == 0);
  (void)bench.tracker.sequence().give_up_before(UINT64_MAX);
  CHECK(bench.tracker.sequence().lost() >= 1022 * (stride - 1));
  CHECK(bench.tracker.sequence().lost() <= 1023 * (stride - 1));
}

TEST_CASE("a restart without a session number is taken from the eighth packet on, whatever its old count") {
  const std::uint32_t before = GENERATE(1U, 5U, 100U, 12'000U, 70'000U, 3'000'000'000U);
  const bool same_address = GENERATE(false, true);
  CAPTURE(before, same_address);
  if (same_address && before < 8) return;  // too short a life to recognise: the counts overlap
  Tracked bench;
  FrontEnd first{address(1), 0, before > 200 ? before - 200 : 0};
  bench.run(first, before > 200 ? 200 : static_cast<int>(before));
  const int taken = bench.taken;
  FrontEnd again{same_address ? address(1) : address(2), 0, 0, first.slice};
  bench.run(again, 100);
  CHECK(bench.restarts == 1);
  CHECK(bench.taken == taken + (before == 1 ? 99 : 93));  // a single packet may have been damaged
  CHECK(bench.seconds == 0);
}

TEST_CASE("restarts that follow each other are each taken, at old and new addresses") {
  for (const std::uint32_t with_sessions : {0U, 1U}) {
    Tracked bench;
    std::uint64_t slice = 0;
    for (std::uint32_t life = 0; life < 12; ++life) {
      FrontEnd front_end{address(static_cast<std::uint8_t>(1 + life % 3)), with_sessions * (life + 1), 0,
                         slice};
      bench.run(front_end, 300);
      slice = front_end.slice;
    }
    CAPTURE(with_sessions);
    CHECK(bench.restarts == 11);
    CHECK(bench.seconds == 0);
    CHECK(bench.packets - bench.taken == (with_sessions != 0 ? 0 : 77));
  }
}

TEST_CASE("delayed packets of an earlier life begin no new one, however many") {
  const std::uint32_t with_sessions = GENERATE(0U, 1U);
  Tracked bench;
  FrontEnd first{address(1), with_sessions * 7};
  std::vector<SentPacket> old;
  for (int i = 0; i < 200; ++i) {
    old.push_back(Tracked::next(first));
    if (i < 195) bench.send(old.back());  // the last ones are still in flight
  }
  FrontEnd again{address(2), with_sessions * 8, 0, 200};
  bench.run(again, 20);
  REQUIRE(bench.restarts == 1);
  const int taken = bench.taken;
  // Repeated and delayed packets, with and without packets of the new life between them.
  for (const SentPacket& sent : old) {
    const Standing standing = bench.send(sent, kMillisecond / 10);
    CHECK((standing == Standing::former || standing == Standing::unconfirmed));
  }
  CHECK(bench.restarts == 1);
  CHECK(bench.seconds == 0);
  CHECK(bench.taken == taken);
  bench.run(again, 20);
  CHECK(bench.taken == taken + 20);
  for (const SentPacket& sent : old) {
    bench.send(sent, kMillisecond / 10);
    bench.send(Tracked::next(again), kMillisecond / 10);
  }
  CHECK(bench.restarts == 1);
  CHECK(bench.seconds == 0);
  CHECK(bench.taken == taken + 20 + 200);
}

TEST_CASE("repeated packets of the life that is read begin nothing") {
  Tracked bench;
  FrontEnd front_end{address(1)};
  std::vector<SentPacket> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(Tracked::next(front_end));
    bench.send(all.back());
  }
  for (const SentPacket& sent : all) CHECK(bench.send(sent) == Standing::taken);
  CHECK(bench.taken == 100);
  CHECK(bench.restarts == 0);
}

TEST_CASE("two front-ends with one id: one is read, and the other is noticed within a few packets") {
  const std::uint32_t ahead = GENERATE(0U, 3U, 500U, 5'000U, 2'000'000U);
  const int burst = GENERATE(1, 3, 12);
  const std::uint32_t with_sessions = GENERATE(0U, 1U);
  CAPTURE(ahead, burst, with_sessions);
  Tracked bench;
  FrontEnd one{address(1), with_sessions * 7};
  FrontEnd two{address(2), with_sessions * 8, ahead, 0};
  for (int i = 0; i < 2400 / burst; ++i) {
    bench.run(one, burst);
    bench.run(two, burst);
  }
  CHECK(bench.seconds == 1);
  CHECK(bench.restarts <= 1);
  // Once recognised, a front-end loses no more packets; only its first ones are lost.
  CHECK(bench.taken >= 2400 - 2 * SenderTracker::kConfirm - 12);
}

TEST_CASE("when the front-end that is read ends, the second one is taken after a second") {
  Tracked bench;
  FrontEnd one{address(1)};
  FrontEnd two{address(2), 0, 5'000};
  for (int i = 0; i < 100; ++i) {
    bench.run(one, 1);
    bench.run(two, 1);
  }
  REQUIRE(bench.seconds == 1);
  const int taken = bench.taken;
  bench.run(two, 2000);
  CHECK(bench.restarts == 1);
  CHECK(bench.taken >= taken + 980);
}

TEST_CASE("a front-end that sends from many addresses is one front-end") {
  std::mt19937 random(GENERATE(range(1U, 6U)));
  Tracked bench;
  FrontEnd front_end{address(1), 0, 0xffffff00};  // its counter overflows
  std::vector<SentPacket> window;
  for (int i = 0; i < 5000; ++i) {
    front_end.from = address(static_cast<std::uint8_t>(random() % 200));
    window.push_back(Tracked::next(front_end));
    if (window.size() < 20) continue;
    const std::size_t which = random() % window.size();
    bench.send(window[which]);
    window.erase(window.begin() + static_cast<std::ptrdiff_t>(which));
  }
  CHECK(bench.restarts == 0);
  CHECK(bench.seconds == 0);
  CHECK(bench.taken >= bench.packets - 20);  // numbers below the first that arrived
}

TEST_CASE("a slow front-end that restarts is taken too, though its packets are seconds apart") {
  Tracked bench;
  FrontEnd first{address(1)};
  bench.run(first, 50, 3 * kSecond);
  FrontEnd again{address(2), 0, 0, 50};
  bench.run(again, 50, 3 * kSecond);
  CHECK(bench.restarts == 1);
  CHECK(bench.taken == 93);
}

TEST_CASE("a stranger that repeats one packet does not keep a restart from being seen for long") {
  Tracked bench;
  FrontEnd first{address(1)};
  bench.run(first, 5000);
  SentPacket stranger;
  stranger.packet.sequence = 3;
  stranger.from = address(9);
  FrontEnd again{address(2), 0, 0, 5000};
  for (int i = 0; i < 3000; ++i) {
    bench.send(stranger);
    bench.send(Tracked::next(again));
  }
  CHECK(bench.restarts == 1);
  CHECK(bench.taken > 5000 + 2000);
}
