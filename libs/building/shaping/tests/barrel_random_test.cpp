#include "weir_catch.hpp"
#include <weir/shaping/barrel.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace weir;
using namespace weir::shaping;

namespace {

using Amount = BarrelCounters::Amount;

void add_to(Amount& sum, const Amount& amount) {
  sum.fragments += amount.fragments;
  sum.bytes += amount.bytes;
}

// Returns an empty string, or the equation that does not hold.
std::string imbalance(const BarrelCounters& counters) {
  Amount sum;
  for (const Amount& amount : {counters.sent, counters.suppressed, counters.dropped, counters.waiting})
    add_to(sum, amount);
  for (const Amount& amount : counters.not_pushed) add_to(sum, amount);
  if (sum.fragments != counters.offered.fragments) return "fragments";
  return sum.bytes == counters.offered.bytes ? "" : "bytes";
}

BarrelSettings random_settings(std::mt19937_64& random) {
  BarrelSettings settings;
  settings.barrel = random() % 4 != 0;
  settings.sources = 1 + static_cast<std::uint32_t>(random() % 4);
  settings.dcms = 1 + static_cast<std::uint32_t>(random() % 5);
  settings.slot_ns = 1'000;
  settings.delay_slots = static_cast<std::uint32_t>(random() % 6);
  settings.overrun = static_cast<Overrun>(random() % 4);
  settings.overrun_bytes = random() % 2 == 0 ? 800 : 0;
  settings.cut_off_bytes = random() % 2 == 0 ? 500 : 0;
  settings.cut_off_slices = 1 + static_cast<std::uint32_t>(random() % 4);
  std::uint32_t group = 0;
  for (std::uint32_t source = 0; settings.overrun_bytes > 0 && source < settings.sources; ++source)
    settings.cut_off_groups.push_back(group += static_cast<std::uint32_t>(random() % 2));
  settings.ahead_bytes = 600;
  settings.piece_bytes = 100;
  settings.slices_max = 8 + random() % 64;
  settings.stall_ns = 5'000;
  settings.holds = random() % 2 == 0;
  return settings;
}

}  // namespace

TEST_CASE("every byte is sent, cut, suppressed, left or waits, and slices in order begin so") {
  const std::uint64_t seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{61}));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const BarrelSettings settings = random_settings(random);
  Barrel barrel(settings);
  std::vector<PushLink> links(settings.dcms, {true, 0});
  // Bytes received of each fragment: pieces must follow each other, and end once.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> have;
  std::set<std::uint64_t> begun;
  std::uint64_t sent = 0;
  std::uint64_t slice = 0;
  TimeNs now = 0;
  bool burst = false;
  TimeNs jump = 0;  // of the clock that gives the slices' times
  std::map<std::uint32_t, std::uint64_t> newest_to;
  for (int step = 0; step < 4000; ++step) {
    now += static_cast<TimeNs>(random() % 300);
    if (random() % 4 == 0) {
      if (random() % 10 == 0) burst = !burst;
      if (random() % 10 == 0) jump = static_cast<TimeNs>(random() % 5'000);
      std::vector<std::uint32_t> sizes(settings.sources);
      for (std::uint32_t& size : sizes) size = static_cast<std::uint32_t>(random() % (burst ? 2000 : 300));
      const auto dcm = static_cast<std::uint32_t>(slice % settings.dcms);
      barrel.add(SliceId(slice++), dcm, random() % 8 == 0 ? now - 10'000 : now + jump, sizes);
    }
    for (PushLink& link : links) {
      link.unsent_bytes -= std::min<std::uint64_t>(link.unsent_bytes, random() % 200);
      if (random() % 200 == 0) link = {!link.up, 0};
    }
    if (slice > 0 && random() % 5 == 0) barrel.forget(SliceId(random() % slice));
    if (slice > 0 && random() % 9 == 0)
      barrel.asked_for(SliceId(random() % slice), static_cast<std::uint32_t>(random() % settings.sources));
    for (int pieces = 0; const auto piece = barrel.next(now, links); ++pieces) {
      REQUIRE(pieces < 100'000);
      REQUIRE(links[piece->dcm].up);
      REQUIRE(links[piece->dcm].unsent_bytes < settings.ahead_bytes);
      std::uint64_t& before = have[{piece->slice.value, piece->source}];
      REQUIRE(before == piece->offset);
      before += piece->length;
      std::uint64_t& newest = newest_to[piece->dcm];
      const bool begins = begun.insert(piece->slice.value).second;
      if (settings.holds && begins) REQUIRE(piece->slice.value >= newest);
      newest = std::max(newest, piece->slice.value);
      sent += piece->length;
      links[piece->dcm].unsent_bytes += piece->length;
    }
    REQUIRE(imbalance(barrel.counters()) == "");
    REQUIRE(barrel.counters().sent.bytes == sent);
  }
  CHECK(sent > 0);
  barrel.forget_all();
  CHECK(imbalance(barrel.counters()) == "");
  CHECK(barrel.counters().waiting.fragments == 0);
  CHECK(barrel.counters().waiting.bytes == 0);
}
