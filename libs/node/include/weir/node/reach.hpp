#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::node {

// Nothing is heard of a readout or a writer for so long, although it was asked: a DCM has lost it. Together
// with settle_ns() well below dcm.deadline_ms, as far as that leaves time for it: so that slices are given
// back before they are incomplete.
[[nodiscard]] DurationNs silence_ns(const v1::Farm& farm);
// How long a DCM must have lost a process that other DCMs reach before that counts: for less, the others may
// not have noticed yet, or it may be about to connect again.
[[nodiscard]] DurationNs settle_ns(const v1::Farm& farm);

}  // namespace weir::node
