#include "foreign_traffic.hpp"

#include "tuning.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::shaping {

using namespace tuning;

void ForeignTraffic::alone(double rate) { alone_rate_ = std::max(alone_rate_, rate); }

ForeignTraffic::Advice ForeignTraffic::epoch(double rate, double window, TimeNs now_ns) {
  if (alone_rate_ == 0) return Advice::none;
  if (2 * rate >= alone_rate_) {
    low_epochs_ = 0;
    before_push_rate_ = 0;
    if (!there_) return Advice::none;
    if (kClear * rate >= alone_rate_) {
      there_ = false;
      return Advice::none;
    }
    return now_ns - probe_ns_ >= kFew * kSecond ? Advice::probe : Advice::hold;
  }
  if (low_epochs_++ == 0) low_since_ns_ = now_ns;
  if (low_epochs_ < 2) return there_ ? Advice::hold : Advice::none;
  const bool for_long = now_ns - low_since_ns_ >= 2 * kTimeout;
  if (!there_ && !for_long) return Advice::none;
  if (now_ns - probe_ns_ >= kSecond) return Advice::probe;
  if (there_) return push(rate, window, now_ns);
  if (for_long) forget();  // the port has become slower
  return Advice::none;
}

void ForeignTraffic::begin_probe(TimeNs now_ns) {
  probing_ = true;
  probe_begun_ns_ = now_ns;
  least_waited_ = std::numeric_limits<double>::infinity();
}

void ForeignTraffic::note_answer(double waited_bytes) {
  least_waited_ = std::min(least_waited_, waited_bytes);
}

// If no answer came during the whole probe, foreign traffic is present.
void ForeignTraffic::end_probe(TimeNs now_ns) {
  if (!std::exchange(probing_, false)) return;
  probe_ns_ = now_ns;
  there_ = least_waited_ > kFirst;
  if (there_) low_epochs_ = 0;
  before_push_rate_ = 0;
}

// With foreign traffic present, tries whether a larger window gains rate.
ForeignTraffic::Advice ForeignTraffic::push(double rate, double window, TimeNs now_ns) {
  low_epochs_ = 0;
  const double before = std::exchange(before_push_rate_, 0);
  if (before > 0 && rate < before * kUp) {
    if (++pushes_in_vain_ >= kFew) {
      pushes_in_vain_ = 0;
      no_push_until_ns_ = now_ns + kFew * kSecond;
    }
    return Advice::unpush;
  }
  if (before > 0) pushes_in_vain_ = 0;
  if (now_ns < no_push_until_ns_) return Advice::hold;
  before_push_rate_ = rate;
  before_push_window_ = window;
  return Advice::push;
}

void ForeignTraffic::forget() { *this = {}; }

}  // namespace weir::shaping
