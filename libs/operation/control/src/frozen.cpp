#include <weir/control/frozen.hpp>

#include <algorithm>

namespace weir::control {

std::string text_of(Freeze::Kind kind) {
  switch (kind) {
    case Freeze::Kind::stopped:
      return "stopped by a signal";
    case Freeze::Kind::hung:
      return "hung";
    case Freeze::Kind::traced:
      return "held by a debugger";
    case Freeze::Kind::in_disk:
      return "waits for a disk";
    case Freeze::Kind::none:
      break;
  }
  return {};
}

Freeze::Kind FrozenSupervisor::kind_of(const ProcessLook& process, TimeNs now) {
  if (process.traced) return Freeze::Kind::traced;
  if (process.stopped) return Freeze::Kind::stopped;
  if (!process.waits) return Freeze::Kind::none;
  if (process.waits != waits_) {
    waits_ = process.waits;
    waited_ns_ = now;
  }
  if (now - waited_ns_ < kHungAfter) return Freeze::Kind::none;
  return process.in_disk ? Freeze::Kind::in_disk : Freeze::Kind::hung;
}

void FrozenSupervisor::look(const ProcessLook& process, DurationNs silent_ns, bool resumes, TimeNs now) {
  freeze_ = {kind_of(process, now), {}};
  const bool can_end = freeze_.kind == Freeze::Kind::stopped || freeze_.kind == Freeze::Kind::hung;
  if (can_end && resumes && process.same_starter)
    freeze_.end_in_ns = std::max<DurationNs>(0, end_after_ns_ - silent_ns);
}

void FrozenSupervisor::clear() {
  freeze_ = {};
  waits_.reset();
  ended_ = false;
}

bool FrozenSupervisor::ends_now() {
  if (ended_ || !freeze_.end_in_ns || *freeze_.end_in_ns > 0) return false;
  ended_ = true;
  return true;
}

}  // namespace weir::control
