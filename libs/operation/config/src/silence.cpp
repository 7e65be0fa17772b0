#include <weir/config/durations.hpp>
#include <weir/config/silence.hpp>

#include <algorithm>

namespace weir::config {
namespace {

constexpr DurationNs kSilenceMin = 200 * kMillisecond;
constexpr DurationNs kSilenceMax = kSecond;
constexpr DurationNs kSettleMin = 100 * kMillisecond;
constexpr DurationNs kSettleMax = 500 * kMillisecond;
constexpr DurationNs kReconnectMax = kSecond;
constexpr DurationNs kReconnects = 2;

DurationNs deadline_ns(const v1::Farm& farm) { return from_ms(farm.dcm().deadline_ms()); }

}  // namespace

DurationNs silence_ns(const v1::Farm& farm) {
  if (farm.network().silence_ms() > 0) return from_ms(farm.network().silence_ms());
  return std::clamp(deadline_ns(farm) / 3, kSilenceMin, kSilenceMax);
}

DurationNs settle_ns(const v1::Farm& farm) {
  const DurationNs reconnect_ns = std::min<DurationNs>(from_ms(farm.network().reconnect_ms()), kReconnectMax);
  return std::max(std::clamp(deadline_ns(farm) / 4, kSettleMin, kSettleMax), kReconnects * reconnect_ns);
}

}  // namespace weir::config
