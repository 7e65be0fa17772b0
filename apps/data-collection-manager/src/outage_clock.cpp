#include "outage_clock.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

constexpr DurationNs kOutageMax = 30 * kSecond;  // TCP gives up a connection that is dead for longer

}  // namespace

OutageClock::Due OutageClock::due(TimeNs heard_ns, TimeNs now_ns) {
  const TimeNs before = std::exchange(heard_ns_, heard_ns);
  if (before > 0 && heard_ns - before > silence_ns_)
    recovers_until_ = std::max(recovers_until_, now_ns + std::min(heard_ns - before, kOutageMax));
  if (now_ns < recovers_until_) return {};
  return {heard_ns, std::exchange(recovers_until_, 0) > 0};
}

}  // namespace weir::dcm
