#pragma once

#include <cstdint>

namespace weir::run {

// What is known when a process of a run has ended in its middle.
struct EndFacts {
  bool supervisor = false;
  bool well = false;       // with status 0, which says nothing of whether it was told to
  bool run_over = false;   // every slice is settled: the supervisor tells the others to end
  bool taken_out = false;  // an operator took it out of the farm
  bool looked = false;     // run_over and taken_out are known as they were at its end
  bool led = true;      // run control is there and the farm in its run: a process that is restarted joins it
  bool journal = true;  // a supervisor that is started again goes on with the run
};

enum class EndVerdict : std::uint8_t {
  told,         // nothing is missing
  look,         // ask again when more is known
  start_again,  // as far as it has restarts
  stays_away,   // the run goes on without it
  run_fails     // it cannot
};

// A process that ends without having been told to is missing, whatever its status. The supervisor is missed
// until its account of the run is here, so also while it collects the others' final reports. (Ended with
// status 0 it has sent its account, which may still be on its way: that is the caller's.) Pure.
[[nodiscard]] EndVerdict verdict_of(const EndFacts& facts);

}  // namespace weir::run
