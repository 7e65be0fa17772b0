#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/metrics/histogram.hpp>

#include <cstdint>

namespace weir::dcm {

[[nodiscard]] inline std::uint64_t microseconds(DurationNs ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns / kMicrosecond) : 0;
}

// Times to the last fragment of the first step that requests anything, in us.
struct SliceTimes {
  metrics::ValueHistogram latency;        // first request sent, or first fragment begun, to last fragment
  metrics::ValueHistogram build_latency;  // assignment, or last slot, to last fragment

  // Call for each completed step; counts a slice once.
  void complete(assembly::BuiltSlice& slice) {
    const bool has_requested = slice.first_request_ns != 0 || slice.pushed;
    if (slice.is_timed || !has_requested) return;
    slice.is_timed = true;
    // A pushed slice may have no fragment.
    const TimeNs begun = slice.first_request_ns != 0 ? slice.first_request_ns : slice.last_fragment_ns;
    latency.record(microseconds(slice.last_fragment_ns - begun));
    build_latency.record(
        microseconds(slice.last_fragment_ns - (slice.pushed ? slice.due_ns : slice.assigned_ns)));
  }
};

}  // namespace weir::dcm
