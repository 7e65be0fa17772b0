#include <weir/emulation/slip.hpp>

namespace weir::emulation {

void SlippingSource::begin_run(RunNumber run) {
  latest_.reset();
  source_->begin_run(run);
}

source::SourceFragment SlippingSource::produce(const source::Trigger& trigger) {
  const bool lags = slip_.kind == SlipKind::lag && trigger.slice >= slip_.at && latest_;
  shown_ = lags ? *latest_ : trigger;
  latest_ = trigger;
  return source_->produce(shown_);
}

Stamp SlippingSource::stamp(const source::Trigger& trigger) const {
  Stamp stamp = stamp_in_step(shown_);
  if (trigger.slice < slip_.at) return stamp;
  const std::uint64_t since = trigger.slice.value - slip_.at.value;
  switch (slip_.kind) {
    case SlipKind::miss:
      --stamp.counter;
      break;
    case SlipKind::twice:
      ++stamp.counter;
      break;
    case SlipKind::restart:
      stamp.counter = since;
      break;
    case SlipKind::jump:
      stamp.counter += Slip::kJump;
      break;
    case SlipKind::drift:
      stamp.time += static_cast<DurationNs>(since + 1) * slip_.drift_ns;
      break;
    case SlipKind::none:
    case SlipKind::lag:
      break;
  }
  return stamp;
}

}  // namespace weir::emulation
