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

// Key of a report's notes for changes of a process' files from outside.
constexpr std::string_view kDisturbedNote = "disturbed";

// Returns a report with name, role, incarnation and the parts that the node runs (Setup::ran); the node adds
// counters and the rest.
[[nodiscard]] v1::Report begin_report(const sessions::PeerInfo& self, const v1::RunIdentity& ran,
                                      TimeNs now_ns, bool final);
// Adds the counters `net.*` (bytes, calls, retransmissions), `peers.*` (refused, silent, protocol errors) and
// `process.*`.
void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const sessions::PeerCounters& peers);
// Returns the CPU time of the calling thread.
[[nodiscard]] DurationNs thread_cpu_ns();
void add_process(v1::Report& report);
// Adds sentences to kFaultNote, one per line.
void add_faults(v1::Report& report, std::span<const std::string> faults);

}  // namespace weir::node
