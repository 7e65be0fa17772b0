#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/hash.hpp>
#include <weir/messages/peer.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <string>

namespace weir::node {

// Name, role and incarnation filled in; counters and the rest are the node's.
[[nodiscard]] v1::Report begin_report(const messages::PeerInfo& self, TimeNs now_ns, bool final);
void add_histogram(v1::Report& report, const std::string& name, const metrics::Histogram& histogram);
// Nothing when there is none of that name, or when it is malformed.
[[nodiscard]] metrics::Histogram histogram_of(const v1::Report& report, std::string_view name);
void add_sum(v1::Report& report, const std::string& name, const SliceSum& sum);
[[nodiscard]] SliceSum sum_of(const v1::Report& report, const std::string& name);
[[nodiscard]] std::uint64_t counter_of(const v1::Report& report, const std::string& name);
// Counters `net.*` (bytes, calls, retransmissions) and `peers.*` (refused, silent, protocol errors),
// `process.*`.
void add_network(v1::Report& report, const ports::StreamCounters& streams,
                 const messages::PeerCounters& peers);
void add_process(v1::Report& report);

}  // namespace weir::node
