#pragma once

#include <weir/ports/network.hpp>
#include <weir/telemetry/prometheus.hpp>

#include <memory>

namespace weir::telemetry {

// Serves a node's latest report at GET /metrics, in a thread of its own: the node pays one copy of each
// report, whether anybody asks or not.
class MetricsServer {
 public:
  // Throws std::runtime_error when it cannot listen.
  MetricsServer(const ports::Endpoint& listen, const std::string& farm);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  [[nodiscard]] const ports::Endpoint& endpoint() const;
  // Any thread. The run that reports are of from now on.
  void take(const v1::Report& report, std::uint32_t run);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::telemetry
