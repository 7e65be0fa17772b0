#include "foreign_traffic.hpp"

#include "tuning.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {

using namespace tuning;

void ForeignTraffic::alone(double rate) { alone_rate_ = std::max(alone_rate_, rate); }

ForeignTraffic::Advice ForeignTraffic::epoch(double rate, double window, TimeNs now_ns) {
  if (2 * rate >= alone_rate_) {
    low_epochs_ = 0;
    before_push_rate_ = 0;
    there_ = there_ && kClear * rate < alone_rate_;
    return {there_ && now_ns - probe_ns_ >= kFew * kSecond, there_ ? window : 0};
  }
  if (low_epochs_++ == 0) low_since_ns_ = now_ns;
  const bool for_long = now_ns - low_since_ns_ >= 2 * kTimeout;
  if (low_epochs_ < 2 || !(there_ || for_long)) return {false, there_ ? window : 0};
  if (now_ns - probe_ns_ >= kSecond) return {true};
  if (there_) return {false, push(rate, window, now_ns)};
  forget();  // the port has become slower
  return {};
}

void ForeignTraffic::begin_probe(TimeNs now_ns) {
  probing_ = all_waited_ = true;
  probe_begun_ns_ = now_ns;
}

void ForeignTraffic::note_answer(double waited_bytes) { all_waited_ = all_waited_ && waited_bytes > kFirst; }

// If no answer came during the whole probe, foreign traffic is present.
void ForeignTraffic::end_probe(TimeNs now_ns) {
  if (!std::exchange(probing_, false)) return;
  probe_ns_ = now_ns;
  there_ = all_waited_;
  if (there_) low_epochs_ = 0;
  before_push_rate_ = 0;
}

// With foreign traffic present, tries whether a larger window gains rate. Returns the next window: the last
// one but one if it did not.
double ForeignTraffic::push(double rate, double window, TimeNs now_ns) {
  low_epochs_ = 0;
  const double before = std::exchange(before_push_rate_, 0);
  if (before > 0 && rate < before * kUp) {
    if (++pushes_in_vain_ >= kFew) {
      pushes_in_vain_ = 0;
      no_push_until_ns_ = now_ns + kFew * kSecond;
    }
    return before_push_window_;
  }
  if (before > 0) pushes_in_vain_ = 0;
  if (now_ns < no_push_until_ns_) return window;
  before_push_rate_ = rate;
  before_push_window_ = window;
  return 2 * window;
}

}  // namespace weir::shaping
