#include <weir/base/assert.hpp>
#include <weir/launch/restarts.hpp>

#include <algorithm>

namespace weir::launch {
namespace {

constexpr std::uint32_t kDoublingsMax = 20;  // far beyond any backoff_max_ns

}  // namespace

std::optional<TimeNs> Restarts::after_end(TimeNs now_ns) {
  refill(now_ns);
  if (!settings_.on_failure || count_ >= settings_.restarts_max) return std::nullopt;
  const std::uint32_t doublings = std::min(count_, kDoublingsMax);
  ++count_;
  return now_ns + std::min(settings_.backoff_ns << doublings, settings_.backoff_max_ns);
}

std::optional<TimeNs> Restarts::after_refusal(TimeNs now_ns) const {
  if (!settings_.on_failure || settings_.restarts_max == 0) return std::nullopt;
  return now_ns + settings_.address_wait_ns;
}

void Restarts::refill(TimeNs now_ns) {
  while (count_ > 0 && now_ns - refilled_ns_ >= settings_.refill_ns) {
    refilled_ns_ += settings_.refill_ns;
    WEIR_ASSERT(count_ > 0);
    --count_;
  }
  if (count_ == 0) refilled_ns_ = now_ns;  // unused restarts do not accumulate
}

}  // namespace weir::launch
