#include <weir/node/metrics_export.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/telemetry/metrics_server.hpp>

#include <spdlog/spdlog.h>

#include <stdexcept>

namespace weir::node {
namespace {

class ServedReports final : public MetricsExport {
 public:
  ServedReports(const ports::Endpoint& listen, const Setup& setup, ReportSink* behind)
      : server_(listen, setup.farm.farm()), run_(setup.run), behind_(behind) {}
  void take(const v1::Report& report) override {
    server_.take(report, run_.value);
    if (behind_ != nullptr) behind_->take(report);
  }
  const ports::Endpoint& endpoint() const override { return server_.endpoint(); }
  void set_run(RunNumber run) override { run_ = run; }

 private:
  telemetry::MetricsServer server_;
  RunNumber run_;
  ReportSink* behind_;
};

}  // namespace

ports::Endpoint metrics_endpoint(const std::string& listen, const config::FarmPlan& plan,
                                 const std::string& name) {
  constexpr std::size_t kPortMax = 65535;
  if (listen.empty()) return {};
  ports::Endpoint at = parse_endpoint(listen);
  if (at.port == 0) return at;
  std::size_t port = at.port;
  for (const config::NodePlan& node : plan.nodes) {
    if (node.name == name) break;
    ++port;
  }
  if (port > kPortMax)
    throw std::runtime_error("metrics.listen: '" + name + "' would serve at port " + std::to_string(port) +
                             "; start with a lower one");
  at.port = static_cast<std::uint16_t>(port);
  return at;
}

std::unique_ptr<MetricsExport> make_metrics_export(const Setup& setup, ReportSink* behind) {
  try {
    const ports::Endpoint at = metrics_endpoint(setup.farm.metrics().listen(), setup.plan, setup.self.name);
    if (at.host.empty()) return nullptr;
    auto served = std::make_unique<ServedReports>(at, setup, behind);
    spdlog::info("metrics url=http://{}/metrics", ports::to_text(served->endpoint()));
    return served;
  } catch (const std::exception& error) {
    spdlog::error("no metrics reason=\"{}\"", error.what());
    return nullptr;
  }
}

}  // namespace weir::node
