#include "liveness_probe.hpp"

#include <algorithm>

namespace weir::dcm {
namespace {

// A process that was not looking, because it was stopped or had no processor, has not listened either.
constexpr DurationNs kLongestLook = 50 * kMillisecond;
constexpr DurationNs kAsks = 3;  // the answer of the last one has a third of the time

}  // namespace

bool LivenessProbe::look(bool connected, std::uint64_t bytes, TimeNs now_ns) {
  const DurationNs looked_for = looked_ns_ == 0 ? 0 : std::min(now_ns - looked_ns_, kLongestLook);
  looked_ns_ = now_ns;
  const bool fresh = connected && !connected_;
  connected_ = connected;
  if (!connected) {
    if (!lost_) lost_since_ns_ = now_ns;
    lost_ = true;
    return false;
  }
  if (fresh || bytes != bytes_) {
    bytes_ = bytes;
    heard_ns_ = now_ns;
    silent_ns_ = 0;
    asked_ = 0;
    lost_ = false;
    return false;
  }
  silent_ns_ += looked_for;
  if (lost_) return false;
  lost_ = silent_ns_ >= silence_ns_;
  if (lost_) lost_since_ns_ = now_ns - silence_ns_;
  if (lost_ || silent_ns_ < (asked_ + 1) * (silence_ns_ / kAsks)) return false;
  ++asked_;
  return true;
}

}  // namespace weir::dcm
