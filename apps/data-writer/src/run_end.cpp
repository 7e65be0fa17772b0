#include "run_end.hpp"

#include <weir/base/assert.hpp>

namespace weir::writer {

void WriterRunEnd::enter(EndPhase to) {
  WEIR_ASSERT(kEndTransitions.allow(phase_, to));
  phase_ = to;
}

void WriterRunEnd::tell(TimeNs now_ns) {
  enter(EndPhase::told);
  deadline_ns_ = now_ns + kPatience;
}

void WriterRunEnd::close(TimeNs now_ns, DurationNs patience_ns) {
  enter(EndPhase::closing);
  close_until_ns_ = now_ns + patience_ns;
}

void WriterRunEnd::closed(TimeNs now_ns, DurationNs patience_ns) {
  enter(EndPhase::closed);
  commands_until_ns_ = now_ns + patience_ns;
}

void WriterRunEnd::give_up() { enter(EndPhase::given_up); }

}  // namespace weir::writer
