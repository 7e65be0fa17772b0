#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

// `weir bench changing-farm`: DCMs leave a run and rejoin, and the rate of stored slices follows. The test of
// the paper on remote farms (atlas-remote-farms-wan-2005, section III.B, Fig. 8), in which farm nodes were
// removed and returned at set times.
namespace weir::bench {

// A sample of the supervisor's reports.
struct StoredUntil {
  double at_s = 0;  // since the first one
  std::uint64_t slices = 0;
};

struct FarmChange {
  double at_s = 0;  // on the same clock
  std::string what;
  std::uint32_t dcms = 0;  // present from now on
};

// The time between two changes.
struct Phase {
  FarmChange change;
  double until_s = 0;
  double expected_hz = 0;  // the whole farm's rate times the share of present DCMs
  // Time from the change to the first two consecutive windows with rates within the band around the expected
  // rate; nullopt: none.
  std::optional<double> followed_s;
  double rate_hz = 0;  // from then to the phase's end

  [[nodiscard]] double deviation() const { return rate_hz / expected_hz - 1; }
  [[nodiscard]] bool good() const;
};

constexpr double kRateWindowS = 0.5;
constexpr double kRateBand = 0.05;

// Slices per second between two times, counts in between taken as linear. Zero for an empty time.
[[nodiscard]] double rate_between(const std::vector<StoredUntil>& stored, double from_s, double until_s);

// The first change is the begin, with all DCMs; its phase, without its first second, is the reference for the
// others. Both lists are ascending. Pure.
[[nodiscard]] std::vector<Phase> phases_of(const std::vector<StoredUntil>& stored,
                                           const std::vector<FarmChange>& changes);

struct ChangingFarmOptions {
  std::uint32_t dcms = 6;
  double filter_ms = 25;  // that each DCM's filter takes for a slice, asleep: the rate is dcms / filter_ms
  double step_s = 8;      // between two changes
  std::string out;        // folder; empty: no output
  std::string name = "changing-farm";
  std::string command;
};

struct ChangingFarmResult {
  std::vector<StoredUntil> stored;
  std::vector<Phase> phases;
  bool balanced = false;
  std::uint64_t stored_slices = 0;  // from the account
  std::uint64_t discarded = 0;
  std::string reason;  // that the account gives
};

[[nodiscard]] std::string to_json_line(const ChangingFarmResult& result, const ChangingFarmOptions& options);
[[nodiscard]] std::string table_of(const ChangingFarmResult& result, const ChangingFarmOptions& options,
                                   const std::string& machine);

// The changes of the farm, in order: half of the DCMs leave and rejoin, one is killed and restarted.
struct FarmStep {
  enum class Kind : std::uint8_t { remove, add, kill, start };
  Kind kind = Kind::remove;
  std::string dcm;
};
[[nodiscard]] std::vector<FarmStep> changing_farm_steps(std::uint32_t dcms);

// 0: every phase is good and the ledger balances.
[[nodiscard]] int run_changing_farm(const ChangingFarmOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
