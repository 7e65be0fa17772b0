#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/network_trace.hpp>
#include <weir/lab/plan.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::lab {

// Samples a lab's network every kTraceInterval in a thread of its own: the ports' counters, and the requests
// by a packet socket at each host with DCMs. On a busy machine samples come late; each has its real time.
class NetworkTracer {
 public:
  // `counts`: those of a fabric's ports; null: the kernel has them. Requires: `network` was made from `plan`.
  [[nodiscard]] static Expected<NetworkTracer, std::string> open(
      const LabPlan& plan, const LabNetwork& network, std::function<std::vector<PortCount>()> counts = {});
  ~NetworkTracer();  // ends the thread
  NetworkTracer(NetworkTracer&& other) noexcept;
  NetworkTracer& operator=(NetworkTracer&& other) noexcept;

  // The run began this long ago. Later calls have no effect.
  void start(DurationNs ago_ns);
  // Ends the thread and returns the samples so far.
  [[nodiscard]] const NetworkTrace& stop();

 private:
  class Sampler;
  explicit NetworkTracer(std::unique_ptr<Sampler> sampler);
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace weir::lab
