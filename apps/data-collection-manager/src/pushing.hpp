#pragma once

#include <weir/assembly/push_window.hpp>
#include <weir/assignment/destinations.hpp>
#include <weir/node/push.hpp>

#include <cstdint>

namespace weir::dcm {

// What a DCM keeps for push running.
struct Pushing {
  Pushing(const v1::Farm& farm, std::uint32_t readouts)
      : timing(node::push_timing(farm)),
        slice_ns(static_cast<DurationNs>(farm.trigger().slice_ms() * 1e6)),
        wait_ns(farm.dcm().push_wait_ms() * kMillisecond),
        deadline_ns(farm.dcm().deadline_ms() * kMillisecond),
        unbound_max(farm.dcm().credits()),
        window(farm.dcm().push_active_slices(), readouts) {}

  node::PushTiming timing;
  DurationNs slice_ns;
  DurationNs wait_ns;
  DurationNs deadline_ns;
  std::uint32_t unbound_max;
  assignment::DestinationTable destinations;
  assembly::PushWindow window;
  std::uint32_t unbound = 0;         // slices that wait for their assignment
  std::uint64_t opened_early = 0;    // slices opened by a fragment
  std::uint64_t never_assigned = 0;  // of these
  std::uint64_t pushed_out = 0;      // slices
  std::uint64_t asked_for = 0;       // slices of which something was asked for when its time had come
  std::uint64_t no_memory = 0;       // fragments thrown away, to be asked for later
};

}  // namespace weir::dcm
