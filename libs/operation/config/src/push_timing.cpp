#include <weir/config/durations.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/config/replayed_recording.hpp>

#include <algorithm>

namespace weir::config {
namespace {

constexpr double kNsPerS = 1e9;

// Validation guarantees a slot length where slots are needed.
DurationNs slot_ns(const v1::Farm& farm) {
  using Trigger = v1::TriggerSettings;
  if (farm.readout().slot_ms() > 0) return from_ms(farm.readout().slot_ms());
  const auto mode = farm.trigger().mode();
  if ((mode == Trigger::MODE_RATE || mode == Trigger::MODE_POISSON) && farm.trigger().rate_hz() > 0)
    return static_cast<DurationNs>(kNsPerS / farm.trigger().rate_hz());
  return from_ms(farm.trigger().slice_ms());
}

}  // namespace

std::uint32_t PushTiming::delay_slots(std::size_t readout) const {
  return barrel ? static_cast<std::uint32_t>(readout / group) + held_back : 0;
}

DurationNs PushTiming::latest_ns(std::size_t readouts, DurationNs slice_ns) const {
  if (!barrel || readouts == 0) return 0;
  return slice_ns + delay_slots(readouts - 1) * slot_ns;
}

PushTiming push_timing(const v1::Farm& farm, const v1::Farm& whole_farm) {
  const auto mode = farm.trigger().mode();
  return {.barrel = farm.readout().shaper() == v1::ReadoutSettings::SHAPER_BARREL,
          .slot_ns = std::max<DurationNs>(1, slot_ns(farm)),
          .group = farm.readout().barrel_group(),
          .held_back = farm.readout().cut_off_bytes() > 0 ? farm.readout().cut_off_slices() : 0,
          .timed = mode != v1::TriggerSettings::MODE_FILE && mode != v1::TriggerSettings::MODE_NETWORK &&
                   !replayed_recording(whole_farm)};
}

}  // namespace weir::config
