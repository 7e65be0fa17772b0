#include "run_phases.hpp"

#include <weir/base/assert.hpp>

namespace weir::dcm {

void RunPhases::enter(DcmPhase to) {
  WEIR_ASSERT(kRunTransitions.allow(phase_, to));
  phase_ = to;
}

void RunPhases::end(TimeNs now_ns) {
  enter(phase_ == DcmPhase::ready ? DcmPhase::told_early : DcmPhase::ending);
  end_deadline_ns_ = now_ns + kEndPatience;
}

}  // namespace weir::dcm
