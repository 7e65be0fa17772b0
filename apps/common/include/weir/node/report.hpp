#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/hash.hpp>
#include <weir/messages/peer.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weir::node {

// Under this name stands in a report's notes what others have done to a process's files.
constexpr std::string_view kDisturbedNote = "disturbed";

// Name, role and incarnation filled in; counters and the rest are the node's.
[[nodiscard]] v1::Report begin_report(const messages::PeerInfo& self, TimeNs now_ns, bool final);
void add_histogram(v1::Report& report, const std::string& name, const metrics::Histogram& histogram);
// Nothing when there is none of that name, or when it is malformed.
[[nodiscard]] metrics::Histogram histogram_of(const v1::Report& report, std::string_view name);
void add_sum(v1::Report& report, const std::string& name, const SliceSum& sum);
[[nodiscard]] SliceSum sum_of(const v1::Report& report, const std::string& name);
[[nodiscard]] std::uint64_t counter_of(const v1::Report& report, const std::string& name);

// What a farm's DCMs and readouts together count of fragments. All totals that are shown or kept come from
// here: the supervisor adds up the last reports of all processes, dead ones included, and its own report has
// the sums as `farm.*`.
struct FragmentTotals {
  std::uint64_t requested = 0;
  std::uint64_t received = 0;
  std::map<std::string, std::uint64_t> missing;  // by reason
  std::map<std::string, std::uint64_t> dropped;  // likewise, by readouts
  // DCMs that were lost before their final report: what they counted after their last one is in no total, so
  // the others are lower bounds.
  std::uint64_t dcms_lost = 0;

  void add(const v1::Report& report, bool is_lost);
  void add(const FragmentTotals& other);
};
void add_totals(v1::Report& report, const FragmentTotals& totals);
// Of a supervisor's report.
[[nodiscard]] FragmentTotals totals_of(const v1::Report& report);
// Counters `net.*` (bytes, calls, retransmissions) and `peers.*` (refused, silent, protocol errors),
// `process.*`.
void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const messages::PeerCounters& peers);
void add_process(v1::Report& report);

}  // namespace weir::node
