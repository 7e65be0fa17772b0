#include "foreign_traffic.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::shaping {
namespace {

constexpr double kLow = 0.46;     // of the port's own rate: less than a fair half
constexpr double kGone = 0.85;    // of the port's own rate: above, others no longer fill the buffer
constexpr int kLowEpochs = 2;     // consecutive ones
constexpr double kFilled = 17e3;  // bytes of others in the port's buffer
constexpr DurationNs kLostLate = kSecond;
constexpr DurationNs kAskLate = 250 * kMillisecond;
constexpr DurationNs kProbeEvery = kSecond;
constexpr DurationNs kProbeSeldom = 4 * kSecond;  // while this DCM has its half
constexpr double kPushGain = 1.05;
constexpr int kPushesInVain = 5;  // consecutive ones
constexpr DurationNs kPushAgain = 2 * kSecond;

}  // namespace

void ForeignTraffic::alone(double rate) { alone_rate_ = std::max(alone_rate_, rate); }

ForeignTraffic::Advice ForeignTraffic::epoch(double rate, double window, TimeNs now_ns) {
  if (alone_rate_ == 0) return Advice::none;
  if (rate >= kLow * alone_rate_) {
    low_epochs_ = 0;
    before_push_rate_ = 0;
    if (!there_) return Advice::none;
    if (rate >= kGone * alone_rate_) {
      there_ = false;
      return Advice::gone;
    }
    return now_ns - probe_ns_ >= kProbeSeldom ? Advice::probe : Advice::hold;
  }
  if (low_epochs_++ == 0) low_since_ns_ = now_ns;
  if (low_epochs_ < kLowEpochs) return there_ ? Advice::hold : Advice::none;
  const bool for_long = now_ns - low_since_ns_ >= kLostLate;
  // Data were lost in spite of the smaller window, or the rate has been low for some time.
  const bool ask = now_ns - lost_ns_ <= kLostLate || now_ns - low_since_ns_ >= kAskLate;
  if (!there_ && !ask) return Advice::none;
  if (now_ns - probe_ns_ >= kProbeEvery) {
    if (!there_) first_window_ = window;
    return Advice::probe;
  }
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
  there_ = least_waited_ > kFilled;
  if (there_) low_epochs_ = 0;
  before_push_rate_ = 0;
}

// With foreign traffic present, tries whether a larger window gains rate.
ForeignTraffic::Advice ForeignTraffic::push(double rate, double window, TimeNs now_ns) {
  low_epochs_ = 0;
  const double before = std::exchange(before_push_rate_, 0);
  if (before > 0 && rate < before * kPushGain) {
    if (++pushes_in_vain_ >= kPushesInVain) {
      pushes_in_vain_ = 0;
      no_push_until_ns_ = now_ns + kPushAgain;
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
