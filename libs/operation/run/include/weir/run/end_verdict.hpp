#pragma once

#include <cstdint>

namespace weir::run {

// Facts about a process that has ended during a run.
struct EndFacts {
  bool supervisor = false;
  bool well = false;       // with status 0, which does not mean that it was asked to end
  bool run_over = false;   // every slice is settled: the supervisor ends the others
  bool taken_out = false;  // removed by an operator
  bool looked = false;     // run_over and taken_out are known for the time of its end
  bool led = true;      // run control is connected and the farm is in its run: a restarted process joins it
  bool journal = true;  // a restarted supervisor can resume the run
};

enum class EndVerdict : std::uint8_t {
  told,         // expected
  look,         // decide later, when more is known
  start_again,  // if it has restarts left
  stays_away,   // the run continues without it
  run_fails     // the run cannot continue
};

// Returns the verdict. A process that ends on its own is missing, whatever its status. The supervisor is
// needed until its account of the run has arrived, also while it collects final reports. (If it ended with
// status 0 it has sent its account, which may still be in flight; the caller handles that.) Pure.
[[nodiscard]] EndVerdict verdict_of(const EndFacts& facts);

}  // namespace weir::run
