#pragma once

#include <weir/node/setup.hpp>

#include <memory>

namespace weir::node {

// Serves a node's reports to Prometheus, and passes them to the next sink. Its HTTP server has its own
// thread, so that a report costs the loop one copy.
class MetricsExport : public ReportSink {
 public:
  // Returns the address at which it serves, with the actual port.
  [[nodiscard]] virtual const ports::Endpoint& endpoint() const = 0;
  // Sets the run of the following reports; initially that of the setup.
  virtual void set_run(RunNumber run) = 0;
};

// Returns this node's address, given metrics.listen: the plan's first node uses that port, each further one
// the next. Empty host: no metrics. Throws std::runtime_error if the port is out of range.
[[nodiscard]] ports::Endpoint metrics_endpoint(const std::string& listen, const config::FarmPlan& plan,
                                               const std::string& name);

// Returns null if the farm has no metrics, or if the port cannot be used: that is logged, and the run
// continues without.
[[nodiscard]] std::unique_ptr<MetricsExport> make_metrics_export(const Setup& setup,
                                                                 ReportSink* behind = nullptr);

}  // namespace weir::node
