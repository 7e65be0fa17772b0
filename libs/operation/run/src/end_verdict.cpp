#include <weir/run/end_verdict.hpp>

namespace weir::run {

EndVerdict verdict_of(const EndFacts& facts) {
  if (facts.supervisor) {
    if (facts.well) return EndVerdict::told;
    return facts.led && facts.journal ? EndVerdict::start_again : EndVerdict::run_fails;
  }
  if (facts.well) {
    if (facts.run_over || facts.taken_out) return EndVerdict::told;
    if (!facts.looked) return EndVerdict::look;
  }
  return facts.led && !facts.run_over ? EndVerdict::start_again : EndVerdict::stays_away;
}

}  // namespace weir::run
