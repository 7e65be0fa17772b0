#pragma once

#include <weir/base/time.hpp>
#include <weir/source/fragment_buffer.hpp>

namespace weir::v1 {
class Report;
}

namespace weir::readout {

// Writes the counts of the sources, the worst first. `now_ns` and `utc_ns` are the same moment.
void add_sources(v1::Report& report, const source::FragmentBuffer& buffer, TimeNs now_ns, UtcNs utc_ns);

}  // namespace weir::readout
