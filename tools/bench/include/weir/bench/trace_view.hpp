#pragma once

#include <weir/lab/network_trace.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::bench {

using Series = std::vector<std::pair<double, double>>;

// The part of a network trace that concerns one DCM's port, after a settling time.
struct TraceView {
  Series use;            // s, share of the port's rate; bins of 10 ms
  double idle_gaps = 0;  // of 175 ms or more
  struct Queue {
    std::string port;
    double most_kb = 0;
    Series kb;  // ms, kB, over the collection
  };
  std::vector<Queue> queues;  // of the ports that had one, the longest first
  double most_queue_kb = 0;
  // The collection of one slice, of median duration among those that begin at an idle port.
  double collection_ms = 0;   // 0: none begins so
  double early_requests = 0;  // share of the request bytes sent in its first quarter
  Series requests;            // ms, kB since its begin
  Series responses;
};

// Returns the view of the DCM on `host`; an empty one if the trace has no such host. A collection has at
// least `slice_bytes` and less than twice as many.
[[nodiscard]] TraceView view_of(const lab::NetworkTrace& trace, const std::string& host, double settle_s,
                                double slice_bytes);

}  // namespace weir::bench
