#pragma once

#include <weir/node/setup.hpp>

#include <memory>

namespace weir::node {

// Serves what a node reports to Prometheus, and hands it on to the sink behind it. Its HTTP server has a
// thread of its own: the loop pays one copy of each report.
class MetricsExport : public ReportSink {
 public:
  // Where it serves, with the port that it got.
  [[nodiscard]] virtual const ports::Endpoint& endpoint() const = 0;
  // The run that reports are of from now on; at first that of the setup.
  virtual void set_run(RunNumber run) = 0;
};

// Where this node serves its metrics by metrics.listen: the plan's first node at that port, each further one
// at the next. Host empty: nowhere. Throws std::runtime_error when there is no such port.
[[nodiscard]] ports::Endpoint metrics_endpoint(const v1::Farm& farm, const config::FarmPlan& plan,
                                               const std::string& name);

// Null when the farm wants no metrics, or when the port cannot be had: that is logged, and the run goes on
// without.
[[nodiscard]] std::unique_ptr<MetricsExport> make_metrics_export(const Setup& setup,
                                                                 ReportSink* behind = nullptr);

}  // namespace weir::node
