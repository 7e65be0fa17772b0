#include <weir/base/role.hpp>
#include <weir/clock/clock.hpp>
#include <weir/http/server.hpp>
#include <weir/metrics/openmetrics.hpp>
#include <weir/telemetry/metrics_server.hpp>
#include <weir/v1/control.pb.h>

#include <fmt/format.h>

#include <mutex>

namespace weir::telemetry {
class MetricsServer::Impl {
 public:
  Impl(const ports::Endpoint& listen, std::string farm) : farm_(std::move(farm)), server_(listen) {
    server_.route("GET", "/metrics", [this](const http::HttpRequest& request) {
      const auto accept = request.headers.find("accept");
      if (accept != request.headers.end() && metrics::accepts_openmetrics(accept->second))
        return http::HttpResponse{200, metrics::kOpenMetricsContentType, metrics::to_openmetrics(text()), {}};
      return http::HttpResponse{200, kPrometheusContentType, text(), {}};
    });
    server_.route("GET", "/", [](const http::HttpRequest&) {
      return http::HttpResponse{200, "text/plain; charset=utf-8", "GET /metrics\n", {}};
    });
    server_.start();
  }

  void take(const v1::Report& report, std::uint32_t run) {
    auto copy = std::make_shared<const v1::Report>(report);
    const std::lock_guard lock(mutex_);
    report_ = std::move(copy);
    run_ = run;
    taken_ns_ = monotonic_now_ns();
  }
  [[nodiscard]] const http::Server& server() const { return server_; }

 private:
  [[nodiscard]] std::string text() const;

  std::string farm_;
  mutable std::mutex mutex_;
  std::shared_ptr<const v1::Report> report_;
  std::uint32_t run_ = 0;
  TimeNs taken_ns_ = 0;
  http::Server server_;  // declared last: its thread uses all members above
};

std::string MetricsServer::Impl::text() const {
  std::shared_ptr<const v1::Report> report;
  MetricLabels labels;
  TimeNs taken_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
    labels.run = run_;
    taken_ns = taken_ns_;
  }
  labels.farm = farm_;
  std::string out;
  std::string own = fmt::format("farm=\"{}\"", escape_label(farm_));
  if (report) {
    labels.node = report->name();
    labels.role = std::string(name(static_cast<Role>(report->role())));
    out = prometheus_text(*report, labels);
    own += fmt::format(",node=\"{}\",role=\"{}\",run=\"{}\"", escape_label(labels.node), labels.role,
                       labels.run);
    out += fmt::format(
        "# HELP weir_report_age_seconds Time since the last report.\n"
        "# TYPE weir_report_age_seconds gauge\nweir_report_age_seconds{{{}}} {:.3f}\n",
        own, static_cast<double>(monotonic_now_ns() - taken_ns) / kSecond);
  }
  return out + fmt::format(
                   "# HELP weir_metrics_requests_total Requests for metrics that were answered.\n"
                   "# TYPE weir_metrics_requests_total counter\nweir_metrics_requests_total{{{}}} {}\n",
                   own, server_.counters().requests);
}

MetricsServer::MetricsServer(const ports::Endpoint& listen, const std::string& farm)
    : impl_(std::make_unique<Impl>(listen, farm)) {}
MetricsServer::~MetricsServer() = default;
const ports::Endpoint& MetricsServer::endpoint() const { return impl_->server().endpoint(); }
void MetricsServer::take(const v1::Report& report, std::uint32_t run) { impl_->take(report, run); }

}  // namespace weir::telemetry
