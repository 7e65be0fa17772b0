#pragma once

#include <weir/node/setup.hpp>
#include <weir/reports/fragment_totals.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>

#include <span>
#include <string>
#include <string_view>

namespace weir::node {

// Under this name stands in a report's notes what others have done to a process's files.
constexpr std::string_view kDisturbedNote = "disturbed";

// Returns a report with name, role, incarnation and the parts of the run that setup.ran has; counters and the
// rest are the node's.
[[nodiscard]] v1::Report begin_report(const Setup& setup, TimeNs now_ns, bool final);
// Counters `net.*` (bytes, calls, retransmissions) and `peers.*` (refused, silent, protocol errors),
// `process.*`.
void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const sessions::PeerCounters& peers);
void add_process(v1::Report& report);
// Adds sentences to kFaultNote, one a line.
void add_faults(v1::Report& report, std::span<const std::string> faults);

}  // namespace weir::node
