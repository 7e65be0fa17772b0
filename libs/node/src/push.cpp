#include <weir/config/replayed_recording.hpp>
#include <weir/node/push.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::node {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;

// Validation guarantees a slot length where slots are needed.
DurationNs slot_ns(const v1::Farm& farm) {
  using Trigger = v1::TriggerSettings;
  if (farm.readout().slot_ms() > 0) return static_cast<DurationNs>(farm.readout().slot_ms() * kNsPerMs);
  const auto mode = farm.trigger().mode();
  if ((mode == Trigger::MODE_RATE || mode == Trigger::MODE_POISSON) && farm.trigger().rate_hz() > 0)
    return static_cast<DurationNs>(kNsPerS / farm.trigger().rate_hz());
  return static_cast<DurationNs>(farm.trigger().slice_ms() * kNsPerMs);
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
  PushTiming timing;
  timing.barrel = farm.readout().shaper() == v1::ReadoutSettings::SHAPER_BARREL;
  timing.slot_ns = std::max<DurationNs>(1, slot_ns(farm));
  const auto mode = farm.trigger().mode();
  timing.timed = mode != v1::TriggerSettings::MODE_FILE && mode != v1::TriggerSettings::MODE_NETWORK &&
                 !config::replayed_recording(whole_farm);
  timing.group = farm.readout().barrel_group();
  timing.held_back = farm.readout().cut_off_bytes() > 0 ? farm.readout().cut_off_slices() : 0;
  return timing;
}

bool take_destinations(const v1::Destinations& message, slice_rows::DestinationTable& table) {
  std::vector<slice_rows::DestinationEpoch> epochs;
  for (const v1::Destinations::Epoch& epoch : message.epochs()) {
    slice_rows::DestinationEpoch& taken = epochs.emplace_back();
    taken.number = epoch.number();
    taken.from = SliceId(epoch.from_slice());
    for (const std::uint32_t dcm : epoch.dcm()) {
      if (dcm > UINT16_MAX) return false;
      taken.dcms.emplace_back(static_cast<std::uint16_t>(dcm));
    }
  }
  return table.replace(std::move(epochs));
}

}  // namespace weir::node
