#pragma once

#include <weir/assignment/destinations.hpp>
#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstddef>
#include <cstdint>

// What readouts and DCMs have to agree on in push running.
namespace weir::node {

[[nodiscard]] inline bool is_push(const v1::Farm& farm) {
  return farm.run().mode() == v1::RunSettings::MODE_PUSH;
}

struct PushTiming {
  bool barrel = false;
  DurationNs slot_ns = 0;       // `barrel`
  std::uint32_t group = 1;      // readouts of one delay
  std::uint32_t held_back = 0;  // slots by which all readouts wait longer, for the burst cut-off

  bool timed = true;  // triggers happen when they say; from files and from outside they may say anything

  // The trigger's moment on this machine's monotonic clock, never after now.
  [[nodiscard]] TimeNs moment(UtcNs trigger, TimeNs now_ns, UtcNs utc_ns) const {
    return timed && trigger < utc_ns ? now_ns - (utc_ns - trigger) : now_ns;
  }
  // Slots that this readout waits.
  [[nodiscard]] std::uint32_t delay_slots(std::size_t readout) const;
  // From the trigger's time until the last of `readouts` begins to send a slice of this length.
  [[nodiscard]] DurationNs latest_ns(std::size_t readouts, DurationNs slice_ns) const;
};
[[nodiscard]] PushTiming push_timing(const v1::Farm& farm);

// False: not a table that a supervisor makes.
[[nodiscard]] bool take_destinations(const v1::Destinations& message, assignment::DestinationTable& table);

}  // namespace weir::node
