#include "weir_catch.hpp"
#include <weir/assignment/blame.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr std::uint8_t kFilteredMax = 2;
constexpr std::uint8_t kAttemptsMax = 4;
const BlameRule kRule(kFilteredMax, kAttemptsMax);

SliceEntry assigned(std::uint64_t slice) {
  SliceEntry entry;
  entry.slice = SliceId(slice);
  entry.state = SliceState::assigned;
  return entry;
}

FilterNote alone(std::uint64_t slice) { return {{}, Lease{SliceId(slice), Attempt(0)}}; }

}  // namespace

TEST_CASE("a DCM that died without a note makes suspects of all its undecided slices") {
  SliceEntry entry = assigned(7);
  CHECK(kRule.of_death(entry, {}) == Blame::suspect);
  CHECK(entry.losses == 1);
  CHECK(entry.kills == 0);
  CHECK(kRule.try_again(entry, Blame::suspect));
  CHECK(entry.suspect);
}

TEST_CASE("only the slice that was alone in the filter when its DCM died is to blame, for two kills") {
  SliceEntry entry = assigned(7);
  CHECK(kRule.of_death(entry, alone(7)) == Blame::attempt);
  CHECK(kRule.try_again(entry, Blame::attempt));
  CHECK(entry.kills == 2);
  CHECK(kRule.unfiltered(entry));
  CHECK_FALSE(entry.suspect);  // it comes in no filter any more
  SliceEntry other = assigned(8);
  CHECK(kRule.of_death(other, alone(7)) == Blame::nobody);
  CHECK(other.kills + other.losses == 0);
  SliceEntry later = assigned(7);
  later.attempt = Attempt(1);
  CHECK(kRule.of_death(later, alone(7)) == Blame::nobody);  // that was an earlier attempt
}

TEST_CASE("a suspect and what hangs beside it are blamed once for a death of the DCM") {
  const FilterNote both{{}, Lease{SliceId(7), Attempt(0)}, {{SliceId(8), Attempt(0)}}};
  SliceEntry suspect = assigned(7);
  CHECK(kRule.of_death(suspect, both) == Blame::attempt);
  CHECK(kRule.try_again(suspect, Blame::attempt));
  CHECK(suspect.kills == 1);
  SliceEntry beside = assigned(8);
  CHECK(kRule.of_death(beside, both) == Blame::attempt);
  CHECK(beside.kills == 0);  // try_again() counts
  SliceEntry other = assigned(9);
  CHECK(kRule.of_death(other, both) == Blame::nobody);
  CHECK(other.kills + other.losses == 0);
  // And alone the next time:
  suspect.state = SliceState::assigned;
  CHECK(kRule.of_death(suspect, alone(7)) == Blame::attempt);
  CHECK(kRule.try_again(suspect, Blame::attempt));
  CHECK(kRule.unfiltered(suspect));
}

TEST_CASE("what hangs in a filter that others pass is blamed once, and the others are suspects") {
  const FilterNote hangs{{}, std::nullopt, {{SliceId(8), Attempt(0)}}};
  SliceEntry slow = assigned(8);
  CHECK(kRule.of_death(slow, hangs) == Blame::attempt);
  CHECK(kRule.try_again(slow, Blame::attempt));
  CHECK(slow.kills == 1);
  SliceEntry other = assigned(9);
  CHECK(kRule.of_death(other, hangs) == Blame::suspect);
  CHECK(other.kills + other.losses == 0);
}

TEST_CASE("a decided slice, or an accepted one held back, is never blamed") {
  SliceEntry entry = assigned(7);
  entry.state = GENERATE(SliceState::confirmed, SliceState::waiting_writer, SliceState::assigned);
  entry.held = entry.state == SliceState::assigned;
  CHECK(kRule.of_death(entry, {}) == Blame::nobody);
  CHECK(kRule.of_death(entry, alone(7)) == Blame::nobody);
  CHECK(entry.kills + entry.losses == 0);
}

TEST_CASE("an expired lease counts as a kill only for a slice that was in the filter for long") {
  SliceEntry entry = assigned(7);
  CHECK(kRule.of_expiry(entry, false) == Blame::nobody);
  CHECK(entry.losses == 1);
  CHECK(kRule.of_expiry(entry, true) == Blame::attempt);
  CHECK(entry.losses == 1);
}

TEST_CASE("a suspect stays one until its kills reach the limit") {
  SliceEntry entry = assigned(7);
  CHECK(kRule.try_again(entry, Blame::suspect));
  CHECK(kRule.try_again(entry, Blame::nobody));
  CHECK(entry.suspect);
  CHECK(kRule.try_again(entry, Blame::attempt));
  CHECK(entry.suspect);
  CHECK_FALSE(kRule.unfiltered(entry));
  CHECK(kRule.try_again(entry, Blame::attempt));
  CHECK_FALSE(entry.suspect);
  CHECK(kRule.unfiltered(entry));
}

TEST_CASE("a slice has no further attempt after too many kills or losses, or when numbers are used up") {
  SliceEntry killed = assigned(7);
  for (int i = 1; i < kAttemptsMax; ++i) CHECK(kRule.try_again(killed, Blame::attempt));
  CHECK_FALSE(kRule.try_again(killed, Blame::attempt));
  SliceEntry lost = assigned(7);
  for (int i = 1; i < kAttemptsMax; ++i) CHECK(kRule.try_again(lost, kRule.of_expiry(lost, false)));
  CHECK_FALSE(kRule.try_again(lost, kRule.of_expiry(lost, false)));
  SliceEntry last = assigned(7);
  last.attempt = Attempt(UINT16_MAX);
  CHECK_FALSE(kRule.try_again(last, Blame::nobody));
}

TEST_CASE("counts saturate, and another attempt ends the hold") {
  const BlameRule endless(UINT8_MAX, UINT8_MAX);
  SliceEntry entry = assigned(7);
  entry.held = true;
  entry.kills = entry.losses = UINT8_MAX;
  CHECK_FALSE(endless.try_again(entry, Blame::attempt));
  CHECK_FALSE(entry.held);
  (void)endless.of_expiry(entry, false);
  CHECK(entry.kills == UINT8_MAX);
  CHECK(entry.losses == UINT8_MAX);
}

TEST_CASE("kills of filter workers add up with those of attempts") {
  SliceEntry entry = assigned(7);
  kRule.killed(entry, 1);
  CHECK_FALSE(kRule.unfiltered(entry));
  CHECK(kRule.try_again(entry, Blame::nobody));  // its DCM left
  kRule.killed(entry, 1);
  CHECK(kRule.unfiltered(entry));
  kRule.killed(entry, 1000);
  CHECK(entry.kills == UINT8_MAX);
}
