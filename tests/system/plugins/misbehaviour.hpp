#pragma once

#include <cstdint>

// Maps slices to the misbehaviour of the plugin `misbehaves`; shared by the plugin and its test.
namespace weir::system_test {

enum class Misbehaviour : std::uint8_t {
  none,
  aborts,
  writes_wildly,  // to an unmapped address
  exits_well,     // exits with status 0
  dies_once,      // at the first attempt only
  hangs,          // longer than the lease
  throws,
  lies,       // returns an undefined verdict
  overflows,  // more output than the farm allows
  asks_for_strangers,
  asks_for_ever
};

constexpr std::uint64_t kMisbehavesEvery = 80;

[[nodiscard]] constexpr Misbehaviour misbehaviour_of(std::uint64_t slice, std::uint64_t seed) {
  std::uint64_t mixed = (slice + 1) * 0x9e3779b97f4a7c15U + seed * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 32;
  if (mixed % kMisbehavesEvery != 0) return Misbehaviour::none;
  return static_cast<Misbehaviour>(1 + mixed / kMisbehavesEvery % 10);
}

[[nodiscard]] constexpr bool kills_every_time(Misbehaviour what) {
  return what == Misbehaviour::aborts || what == Misbehaviour::writes_wildly ||
         what == Misbehaviour::exits_well;
}
// True for misbehaviour that counts as an error of the filter but leaves its process running.
[[nodiscard]] constexpr bool is_error(Misbehaviour what) { return what >= Misbehaviour::throws; }
[[nodiscard]] constexpr bool kills_or_hangs(Misbehaviour what) {
  return kills_every_time(what) || what == Misbehaviour::hangs || what == Misbehaviour::dies_once;
}

}  // namespace weir::system_test
