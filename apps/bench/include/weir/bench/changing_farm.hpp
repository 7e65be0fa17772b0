#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

// `weir bench changing-farm`: DCMs leave a run and come back, and the rate of stored slices follows. The test
// of the paper on remote farms (atlas-remote-farms-wan-2005, section III.B, Fig. 8), whose farm nodes were
// removed and returned at set times.
namespace weir::bench {

// What the supervisor had said by then.
struct StoredUntil {
  double at_s = 0;  // since the first one
  std::uint64_t slices = 0;
};

struct FarmChange {
  double at_s = 0;  // on the same clock
  std::string what;
  std::uint32_t dcms = 0;  // that are there from now on
};

// From one change to the next.
struct Phase {
  FarmChange change;
  double until_s = 0;
  double expected_hz = 0;  // the whole farm's rate, in the share of DCMs that are there
  // From the change to the first two windows in a row whose rates are within the band around what is
  // expected; nothing: there were none.
  std::optional<double> followed_s;
  double rate_hz = 0;  // from then to the phase's end

  [[nodiscard]] double deviation() const { return rate_hz / expected_hz - 1; }
  [[nodiscard]] bool good() const;
};

constexpr double kRateWindowS = 0.5;
constexpr double kRateBand = 0.05;

// Slices per second between two times, counts in between taken as linear. Zero for an empty time.
[[nodiscard]] double rate_between(const std::vector<StoredUntil>& stored, double from_s, double until_s);

// The first change is the begin, with all DCMs; its phase, without its first second, is what the others are
// compared with. Both lists ascend. Pure.
[[nodiscard]] std::vector<Phase> phases_of(const std::vector<StoredUntil>& stored,
                                           const std::vector<FarmChange>& changes);

struct ChangingFarmOptions {
  std::uint32_t dcms = 6;
  double filter_ms = 25;  // that each DCM's filter takes for a slice, asleep: the rate is dcms / filter_ms
  double step_s = 8;      // from one change to the next
  std::string out;        // folder; empty: nothing is written
  std::string name = "changing-farm";
  std::string command;
};

struct ChangingFarmResult {
  std::vector<StoredUntil> stored;
  std::vector<Phase> phases;
  bool balanced = false;
  std::uint64_t stored_slices = 0;  // of the account
  std::uint64_t discarded = 0;
  std::string reason;  // that the account gives
};

[[nodiscard]] std::string to_json_line(const ChangingFarmResult& result, const ChangingFarmOptions& options);
[[nodiscard]] std::string table_of(const ChangingFarmResult& result, const ChangingFarmOptions& options,
                                   const std::string& machine);

// What is done to the farm, one after the other: half of the DCMs leave and come back, one is killed and
// started again.
struct FarmStep {
  enum class Kind : std::uint8_t { remove, add, kill, start };
  Kind kind = Kind::remove;
  std::string dcm;
};
[[nodiscard]] std::vector<FarmStep> changing_farm_steps(std::uint32_t dcms);

// 0: every phase is good and the ledger balances.
[[nodiscard]] int run_changing_farm(const ChangingFarmOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
