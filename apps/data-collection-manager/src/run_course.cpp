#include "run_course.hpp"

#include <weir/base/assert.hpp>

namespace weir::dcm {

void RunCourse::enter(RunPhase to) {
  WEIR_ASSERT(kRunTransitions.allow(phase_, to));
  phase_ = to;
}

void RunCourse::end(TimeNs now_ns) {
  enter(phase_ == RunPhase::ready ? RunPhase::told_early : RunPhase::ending);
  end_deadline_ns_ = now_ns + kEndPatience;
}

}  // namespace weir::dcm
