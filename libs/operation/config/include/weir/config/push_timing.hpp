#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

#include <cstddef>
#include <cstdint>

// Parameters of push running on which readouts and DCMs have to agree.
namespace weir::config {

[[nodiscard]] inline bool is_push(const v1::Farm& farm) {
  return farm.run().mode() == v1::RunSettings::MODE_PUSH;
}

struct PushTiming {
  bool barrel;
  DurationNs slot_ns;       // only with the shaper `barrel`
  std::uint32_t group;      // readouts with the same delay
  std::uint32_t held_back;  // additional slots of waiting for all readouts, for the burst cut-off

  bool timed;  // triggers happen at their stated time; those from files, clients and recordings may
               // have any time

  // Returns the trigger's time on this machine's monotonic clock, at most now.
  [[nodiscard]] TimeNs moment(UtcNs trigger, TimeNs now_ns, UtcNs utc_ns) const {
    return timed && trigger < utc_ns ? now_ns - (utc_ns - trigger) : now_ns;
  }
  // Returns how many slots this readout waits.
  [[nodiscard]] std::uint32_t delay_slots(std::size_t readout) const;
  // Returns the time from the trigger until the last of `readouts` begins to send a slice of this length.
  [[nodiscard]] DurationNs latest_ns(std::size_t readouts, DurationNs slice_ns) const;
};
[[nodiscard]] PushTiming push_timing(const v1::Farm& farm, const v1::Farm& whole_farm);

}  // namespace weir::config
