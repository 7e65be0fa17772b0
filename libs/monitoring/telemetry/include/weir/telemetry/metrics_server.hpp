#pragma once

#include <weir/ports/network.hpp>
#include <weir/telemetry/prometheus.hpp>

#include <memory>

namespace weir::telemetry {

// Serves a node's latest report at GET /metrics, in its own thread: the node pays for one copy of each
// report, with or without requests.
class MetricsServer {
 public:
  // Throws std::runtime_error if it cannot listen.
  MetricsServer(const ports::Endpoint& listen, const std::string& farm);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  [[nodiscard]] const ports::Endpoint& endpoint() const;
  // Takes a report of this run. Thread-safe.
  void take(const v1::Report& report, std::uint32_t run);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::telemetry
