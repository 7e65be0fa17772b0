// Front-ends in step, with jitter, losses and flipped bits: a readout and a farm of slices by number, without
// processes.
#include "weir_catch.hpp"
#include <weir/numbering/counter_track.hpp>
#include <weir/numbering/jump_watch.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/numbering/seen_numbers.hpp>

#include <array>
#include <optional>
#include <random>
#include <vector>

using namespace weir;
using namespace weir::numbering;

namespace {

constexpr std::size_t kReadouts = 3;
constexpr std::size_t kPerReadout = 2;
constexpr std::size_t kSources = kReadouts * kPerReadout;
constexpr DurationNs kPeriod = kMillisecond;
constexpr DurationNs kNoiseSkew = 20 * kMillisecond;
constexpr DurationNs kNoiseApart = 150 * kMillisecond;
constexpr std::size_t kLatest = 6;  // periods from an event to the arrival of its fragments, at most

struct Sent {
  std::size_t source;
  std::uint64_t number;
  bool flipped;
};

class NoisyFarm {
 public:
  NoisyFarm(std::uint32_t bits, std::uint64_t flipped_permille, std::uint64_t seed)
      : bits_(bits),
        flipped_permille_(flipped_permille),
        random_(seed),
        seen_(kReadouts, SeenNumbers(kPerReadout)),
        order_(kReadouts, kNoiseSkew),
        jumps_(kSources, JumpWatch(kNoiseApart)) {
    for (std::size_t i = 0; i < kSources; ++i)
      tracks_.emplace_back(CounterSettings{bits, 0, SliceId()}).begin();
    for (SeenNumbers& one : seen_) one.begin();
    for (JumpWatch& one : jumps_) one.begin();
    order_.begin(SliceId(), now_);
  }

  void play(std::uint64_t slices) {
    for (std::uint64_t slice = 0; slice < slices + 10 * kLatest; ++slice) {
      for (std::size_t source = 0; source < kSources && slice < slices; ++source) {
        if (chance(50)) continue;  // lost
        coming_[(slice + below(kLatest)) % kLatest].push_back({source, slice, chance(flipped_permille_)});
      }
      for (const Sent& one : coming_[slice % kLatest]) arrive(one);
      coming_[slice % kLatest].clear();
      make_slices();
      now_ += kPeriod;
    }
  }

  std::uint64_t misplaced = 0;  // fragments without a flipped bit
  std::uint64_t alarms = 0;
  std::uint64_t made = 0;
  std::uint64_t fragments = 0;
  std::uint64_t flips = 0;

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(std::uint64_t permille) { return below(1000) < permille; }

  void arrive(const Sent& packet) {
    ++fragments;
    flips += packet.flipped;
    const std::uint64_t mask = (1ULL << bits_) - 1;
    std::uint64_t counter = packet.number & mask;
    if (packet.flipped) counter ^= 1ULL << below(bits_);
    const auto number = tracks_[packet.source].take(counter, latest_);
    if (!packet.flipped && number != SliceId(packet.number)) ++misplaced;
    if (!number) return;
    if (jumps_[packet.source].see(*number, now_, now_)) ++alarms;
    seen_[packet.source / kPerReadout].note(packet.source % kPerReadout, *number, now_, now_);
  }
  void make_slices() {
    for (std::size_t readout = 0; readout < kReadouts; ++readout) {
      seen_[readout].take(1000, now_, batch_);
      for (const SeenNumber& one : batch_) order_.seen(readout, one.number, one.time, now_);
    }
    while (const auto due = order_.next(now_)) {
      ++made;
      latest_ = due->number;
      for (JumpWatch& jump : jumps_) alarms += jump.announced(due->number, due->time) ? 1 : 0;
    }
    if (!latest_) return;
    for (SeenNumbers& one : seen_) one.announced(*latest_);
  }

  std::uint32_t bits_;
  std::uint64_t flipped_permille_;
  std::mt19937_64 random_;
  std::vector<CounterTrack> tracks_;
  std::vector<SeenNumbers> seen_;
  NumberOrder order_;
  std::vector<JumpWatch> jumps_;
  std::array<std::vector<Sent>, kLatest> coming_;
  std::optional<SliceId> latest_;
  std::vector<SeenNumber> batch_;
  TimeNs now_ = kSecond;
};

void check_noise(std::uint64_t slices) {
  const std::uint32_t bits = GENERATE(16U, 32U, 48U);
  const std::uint64_t flipped = GENERATE(5U, 20U);
  NoisyFarm farm(bits, flipped, bits);
  farm.play(slices);
  INFO(bits << " bits: " << farm.fragments << " fragments, " << farm.flips << " flipped");
  CHECK(farm.misplaced == 0);
  CHECK(farm.alarms == 0);
  // With so many flips a gap of some hundred numbers may be closed too early, once in a million slices.
  const std::uint64_t passed_over = flipped > 5 && slices > 100'000 ? 1000 : 0;
  CHECK(farm.made + passed_over >= slices);
  CHECK(farm.made <= slices + kFarAhead);
  CHECK(farm.flips > farm.fragments / 1200 * flipped);
}

}  // namespace

TEST_CASE("jitter, losses and flipped bits move no counter and raise no alarm") { check_noise(40'000); }

TEST_CASE("nor do they in a million slices", "[.million]") { check_noise(1'000'000); }
