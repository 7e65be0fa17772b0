// The choice of a DCM's plane, over single cuts and random ones.
#include "../src/plane_choice.hpp"

#include "weir_catch.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace weir::dcm {
namespace {

constexpr DurationNs kPeriod = 100 * kMillisecond;
constexpr std::uint32_t kMisses = 3;
constexpr DurationNs kHold = 2 * kSecond;
constexpr auto kHoldBeats = static_cast<std::size_t>(kHold / kPeriod);

PlaneSettings settings_of(std::uint32_t planes, std::size_t readouts, std::uint32_t home = 0) {
  return {.planes = planes,
          .home = home,
          .turn = home + 1,
          .readouts = readouts,
          .period_ns = kPeriod,
          .misses = kMisses,
          .hold_ns = kHold};
}

// A DCM and its readouts, with ways that can be cut, and processes that can be stopped.
struct Network {
  Network(std::uint32_t planes, std::size_t readouts, std::uint32_t home = 0)
      : settings(settings_of(planes, readouts, home)),
        choice(settings),
        cut(planes, std::vector<bool>(readouts)),
        stopped(readouts) {}

  // Every readout that can answers, then the beat.
  std::optional<PlaneChoice::Move> beat() {
    now += kPeriod;
    for (std::uint32_t plane = 0; plane < settings.planes; ++plane) {
      for (std::size_t readout = 0; readout < settings.readouts; ++readout) {
        if (!cut[plane][readout] && !stopped[readout]) choice.heard(plane, readout);
      }
    }
    return choice.beat(now);
  }
  // Returns the moves of so many beats.
  std::vector<PlaneChoice::Move> beats(std::size_t count) {
    std::vector<PlaneChoice::Move> moves;
    for (; count > 0; --count) {
      if (const auto move = beat()) moves.push_back(*move);
    }
    return moves;
  }
  void set_cut(std::uint32_t plane, bool is_cut) { std::fill(cut[plane].begin(), cut[plane].end(), is_cut); }

  PlaneSettings settings;
  PlaneChoice choice;
  std::vector<std::vector<bool>> cut;  // by plane and readout
  std::vector<bool> stopped;           // by readout
  TimeNs now = kSecond;
};

}  // namespace

TEST_CASE("a DCM leaves a plane that is cut after the stated number of misses") {
  Network net(2, 3);
  CHECK(net.beats(20).empty());
  net.set_cut(0, true);
  CHECK(net.beats(kMisses - 1).empty());
  const auto move = net.beat();
  REQUIRE(move.has_value());
  CHECK(move->from == 0);
  CHECK(move->to == 1);
  CHECK(move->lacking == 3);
}

TEST_CASE("a DCM leaves a plane that has lost one readout, and no other DCM does") {
  Network net(2, 3);
  Network other(2, 3, 1);
  net.cut[0][1] = other.cut[0][1] = true;
  CHECK(net.beats(kMisses).size() == 1);
  CHECK(other.beats(100).empty());
}

TEST_CASE("a DCM returns when its home has answered for the hold time") {
  Network net(2, 2);
  net.set_cut(0, true);
  CHECK(net.beats(50).size() == 1);
  net.set_cut(0, false);
  const auto beats = static_cast<std::size_t>(kHold / kPeriod);
  CHECK(net.beats(beats).empty());
  net.set_cut(0, true);  // shortly before the time is over
  CHECK(net.beats(kMisses).empty());
  net.set_cut(0, false);
  CHECK(net.beats(beats).empty());
  const auto back = net.beats(kMisses);
  REQUIRE(back.size() == 1);
  CHECK(back.front().to == 0);
  CHECK(back.front().lacking == 0);
}

TEST_CASE("a stopped or dead readout moves no DCM, and neither does a DCM that did not run") {
  Network net(3, 4);
  (void)net.beats(5);
  net.stopped[2] = true;
  CHECK(net.beats(100).empty());
  net.stopped.assign(4, true);
  CHECK(net.beats(100).empty());
  net.stopped.assign(4, false);
  net.now += 100 * kSecond;
  CHECK(net.beats(100).empty());
}

TEST_CASE("a slow plane is not left, if something arrives before the last miss") {
  Network net(2, 1);
  for (int i = 0; i < 100; ++i) {
    net.set_cut(0, i % static_cast<int>(kMisses) != 0);  // two of three heartbeats are late
    CHECK(!net.beat());
  }
}

TEST_CASE("DCMs of a cut plane spread over the others") {
  std::vector<int> arrived(3);
  for (std::uint32_t dcm = 0; dcm < 12; dcm += 3) {  // those of plane 0
    PlaneSettings settings = settings_of(3, 1);
    settings.turn = dcm + 1 + dcm / 3 % 2;
    PlaneChoice choice(settings);
    std::optional<PlaneChoice::Move> move;
    for (std::uint32_t beat = 0; beat < kMisses; ++beat) {
      choice.heard(1, 0);
      choice.heard(2, 0);
      move = choice.beat(kSecond + beat * kPeriod);
    }
    REQUIRE(move.has_value());
    ++arrived[move->to];
  }
  CHECK(arrived == std::vector<int>{0, 2, 2});
}

TEST_CASE("a move that may reach a lost readout comes before the farm's judgement, a hold time does not") {
  Network net(2, 2);
  (void)net.beats(5);
  CHECK(!net.choice.is_deciding(0, net.now));
  net.cut[0][0] = true;
  (void)net.beat();
  CHECK(net.choice.is_deciding(0, net.now));
  CHECK(!net.choice.is_deciding(1, net.now));
  (void)net.beats(kMisses - 1);
  CHECK(net.choice.plane() == 1);
  CHECK(net.choice.is_deciding(0, net.now));  // it connects
  (void)net.beats(kMisses);
  CHECK(!net.choice.is_deciding(0, net.now));
  net.cut[1][0] = true;
  net.cut[0][0] = false;
  (void)net.beats(2);
  CHECK(!net.choice.is_deciding(0, net.now));  // it may not move yet
}

TEST_CASE("a lost carrier is left at once, and returned to when heartbeats have come for the hold time") {
  Network net(2, 3);
  (void)net.beats(5);
  const auto move = net.choice.carriers_lost({0}, net.now);
  REQUIRE(move.has_value());
  CHECK(move->to == 1);
  CHECK(move->lacking == 3);
  CHECK(net.choice.is_deciding(0, net.now));  // it connects
  net.set_cut(0, true);
  CHECK(net.beats(2 * kHoldBeats).empty());  // a carrier that returns is not reported
  net.set_cut(0, false);
  CHECK(net.beats(kHoldBeats - 1).empty());
  const auto back = net.beats(kMisses);
  REQUIRE(back.size() == 1);
  CHECK(back.front().to == 0);
}

TEST_CASE("carriers that are lost together, of another plane, or within the hold time move no DCM") {
  Network net(2, 3);
  (void)net.beats(5);
  CHECK(!net.choice.carriers_lost({1}, net.now));
  (void)net.beats(5);
  CHECK(!net.choice.carriers_lost({0, 1}, net.now));
  (void)net.beats(5);
  REQUIRE(net.choice.carriers_lost({0}, net.now).has_value());
  CHECK(!net.choice.carriers_lost({1}, net.now + kPeriod));
  CHECK(net.choice.plane() == 1);
  CHECK(!net.choice.has_broken_hold());
}

TEST_CASE("a carrier that is lost in the hold time is left after it, if heartbeats have not come since") {
  Network net(3, 2);
  (void)net.beats(5);
  REQUIRE(net.choice.carriers_lost({0}, net.now).has_value());
  net.set_cut(0, true);
  net.set_cut(1, true);
  CHECK(!net.choice.carriers_lost({1}, net.now));
  CHECK(net.beats(kHoldBeats - 1).empty());
  const auto moves = net.beats(1);
  REQUIRE(moves.size() == 1);
  CHECK(moves.front().to == 2);
}

TEST_CASE("readouts that are cut off in different planes are left to the farm") {
  Network net(2, 2);
  (void)net.beats(5);
  net.cut[0][0] = net.cut[1][1] = true;
  CHECK(net.beats(10 * kMisses).empty());
  CHECK(!net.choice.is_deciding(0, net.now));
}

TEST_CASE("random cuts, stops and flapping break no promise") {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    Network net(2 + static_cast<std::uint32_t>(below(3)), 1 + below(5));
    const std::size_t often = 1 + below(40);  // of 100 beats change something
    std::optional<TimeNs> last;
    TimeNs steady_since = net.now;
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t from = net.choice.plane();
      if (i % 500 < 250 && below(100) < often) {
        const auto plane = static_cast<std::uint32_t>(below(net.settings.planes));
        const std::size_t readout = below(net.settings.readouts);
        if (below(3) == 0) {
          net.set_cut(plane, below(2) == 0);
        } else if (below(4) == 0) {
          net.stopped[readout] = !net.stopped[readout];
        } else {
          net.cut[plane][readout] = !net.cut[plane][readout];
        }
        steady_since = net.now;
      }
      // Now and then the cut of a whole plane is that of the link here, and the beat comes after it.
      std::optional<PlaneChoice::Move> move;
      const std::size_t lost = below(net.settings.planes);
      if (below(20) == 0 && std::ranges::all_of(net.cut[lost], [](bool is_cut) { return is_cut; }))
        move = net.choice.carriers_lost({lost}, net.now + 1);
      if (move) {
        ++net.now;
      } else {
        move = net.beat();
      }
      if (move) {
        INFO("seed " << seed << " beat " << i);
        CHECK((!last || net.now - *last >= kHold));
        last = net.now;
        CHECK(move->from == from);
        CHECK(move->to == net.choice.plane());
      }
      // In steady state no plane reaches more of the readouts that run than the present one.
      if (net.now - steady_since < 2 * kHold + 2 * kMisses * kPeriod) continue;
      INFO("seed " << seed << " beat " << i);
      const auto reaches = [&](std::uint32_t plane) {
        std::size_t count = 0;
        for (std::size_t r = 0; r < net.settings.readouts; ++r)
          count += !net.stopped[r] && !net.cut[plane][r];
        return count;
      };
      for (std::uint32_t plane = 0; plane < net.settings.planes; ++plane)
        CHECK(reaches(net.choice.plane()) >= reaches(plane));
    }
    CHECK(!net.choice.has_broken_hold());
  }
}

}  // namespace weir::dcm
