#pragma once

#include <weir/control/states.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

// Commands and kills at random moments of many runs, drawn from a seed, and the account of these runs (`weir
// soak`; antares-2002, section 5.5.2).
namespace weir::control {

struct SoakSettings {
  double run_s = 0;          // mean length of a run
  double kill_every_s = 0;   // mean time between kills; 0: none
  double pause_every_s = 0;  // mean time between pauses; 0: none
};

struct SoakStep {
  enum class Kind : std::uint8_t {
    kill,      // of a process, by a number to be taken modulo the processes
    pause,     // pauses the run for `lasts_s`, and continues it
    run_ends,  // stops the run
  };
  Kind kind = Kind::run_ends;
  double after_s = 0;  // since the last step
  double lasts_s = 0;
  std::uint64_t victim = 0;
};

// Draws the same steps from the same seed, on every platform.
class SoakPlan {
 public:
  // Requires: run_s > 0, the others not negative.
  SoakPlan(std::uint64_t seed, const SoakSettings& settings);

  // Returns the steps of the next run, in order. The last one is run_ends.
  [[nodiscard]] std::vector<SoakStep> next_run();
  // Draws whether the farm is reset, and initialised and configured again, before the next run: one in four.
  [[nodiscard]] bool resets_next();

 private:
  [[nodiscard]] double fraction();  // from 0 up to 1, without 1
  [[nodiscard]] double interval(double mean_s);

  SoakSettings settings_;
  std::mt19937_64 random_;
};

// The end of one run, as run control accounts for it.
struct SoakRun {
  std::uint32_t run = 0;
  bool balanced = false;
  std::string failure;  // empty: none
  std::uint64_t triggered = 0;
  std::uint64_t stored = 0;
  std::uint64_t rejected = 0;
  std::uint64_t discarded = 0;
  std::uint32_t faults = 0;
};

// Sums of all runs, and the findings: what must not happen, whatever is killed.
class SoakAccount {
 public:
  static constexpr std::size_t kFindingsMax = 100;  // further ones are counted only

  // Adds a run. A ledger that does not balance, a failed run, or triggered slices without an outcome are
  // findings.
  void add(const SoakRun& run);
  void add_finding(std::string finding);
  void count_transition() { ++transitions_; }
  void count_kill() { ++kills_; }

  [[nodiscard]] bool is_good() const { return finding_count_ == 0; }
  [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
  // Returns runs, transitions, kills, the sums of the ledgers, and each finding, a line each.
  [[nodiscard]] std::string text() const;

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t balanced_ = 0;
  std::uint64_t transitions_ = 0;
  std::uint64_t kills_ = 0;
  std::uint64_t faults_ = 0;
  SoakRun sums_;
  std::vector<std::string> findings_;
  std::uint64_t finding_count_ = 0;
};

}  // namespace weir::control
