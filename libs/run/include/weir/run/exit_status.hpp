#pragma once

#include <string>

namespace weir::run {

constexpr int kExitFine = 0;      // the ledger balances, every process ended well
constexpr int kExitFailed = 1;    // anything else, with the reason printed
constexpr int kExitUsage = 2;     // a wrong command line or farm file
constexpr int kExitSurvived = 3;  // the ledger balances, with faults survived

// How a run ended, as far as its exit status goes.
struct RunEnd {
  std::string failure;         // why the run could not be done, or not to its end
  bool has_summary = false;    // the supervisor gave its account
  bool balanced = false;       // ... in which the ledger balances
  bool faults = false;         // it names faults
  bool processes_well = true;  // every process ended with status 0
};

[[nodiscard]] int exit_status(const RunEnd& end);
// One sentence why the status is not 0; empty when it is.
[[nodiscard]] std::string explain(const RunEnd& end);

}  // namespace weir::run
