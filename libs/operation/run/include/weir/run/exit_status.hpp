#pragma once

#include <string>

namespace weir::run {

constexpr int kExitFine = 0;      // the ledger balances, every process ended well
constexpr int kExitFailed = 1;    // anything else, with the reason printed
constexpr int kExitUsage = 2;     // a wrong command line or farm file
constexpr int kExitSurvived = 3;  // the ledger balances, with faults survived

// The end of a run, as needed for the exit status.
struct RunEnd {
  std::string failure;         // why the run failed or could not be finished
  bool has_summary = false;    // the supervisor gave its account
  bool balanced = false;       // ... in which the ledger balances
  bool faults = false;         // it lists faults
  bool processes_well = true;  // every process ended with status 0
};

[[nodiscard]] int exit_status(const RunEnd& end);
// Returns one sentence with the reason of a status other than 0, else an empty string.
[[nodiscard]] std::string explain(const RunEnd& end);

}  // namespace weir::run
