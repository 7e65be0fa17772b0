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
void add_process(v1::Report& report);

// The time of the calling thread, the loop that moves the data, since this object was made: at the beginning
// of a run, by a node.
class LoopTime {
 public:
  LoopTime();
  // Adds the gauges loop.cpu_s and loop.wait_s: it ran, and was ready to run while no core was free.
  void add_to(v1::Report& report) const;

 private:
  struct Times {
    DurationNs cpu_ns = 0;
    DurationNs wait_ns = 0;  // 0 where the kernel does not count it
  };
  [[nodiscard]] static Times now();
  Times begin_;
};
// Adds sentences to kFaultNote, one per line.
void add_faults(v1::Report& report, std::span<const std::string> faults);

}  // namespace weir::node
