#pragma once

#include <weir/assembly/assembler.hpp>

namespace weir::v1 {
class Report;
}

namespace weir::dcm {

// Writes the number of flows, one from each readout with sources, and the fairness of their bytes.
void add_flows(v1::Report& report, const assembly::Assembler& assembler, std::uint32_t readouts);
// Writes the counts of the sources, the worst first. `now_ns` and `utc_ns` are the same moment.
void add_sources(v1::Report& report, const assembly::Assembler& assembler, TimeNs now_ns, UtcNs utc_ns);

}  // namespace weir::dcm
