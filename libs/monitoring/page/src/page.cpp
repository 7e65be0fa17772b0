#include "assets.hpp"
#include "command.hpp"
#include "farm_metrics.hpp"
#include "gate.hpp"
#include "model.hpp"
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/http/host_rule.hpp>
#include <weir/metrics/openmetrics.hpp>
#include <weir/page/page.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <charconv>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::page {
namespace {

constexpr const char* kEvents = "/api/events";
constexpr const char* kMetrics = "/metrics";
constexpr const char* kJson = "application/json; charset=utf-8";
constexpr std::size_t kLogLinesMax = 1000;  // per response
constexpr const char* kNoHistograms = "\"incomplete\": [], \"histograms\": []}\n";

std::vector<std::string> names_of(const PageSettings& settings) {
  std::vector<std::string> names = settings.names;
  names.push_back(settings.listen.host);
  return names;
}

http::HttpResponse json_response(std::string body, unsigned status = 200) {
  return {status, kJson, std::move(body), {}};
}

std::string content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "image/svg+xml";
}

// The page loads nothing from other sites, cannot be shown in a frame, and runs no inline script.
http::HttpResponse asset_response(const Asset& asset) {
  http::HttpResponse response{200, content_type(asset.name), std::string(asset.bytes), {}};
  response.headers.emplace_back("Content-Security-Policy",
                                "default-src 'self'; frame-ancestors 'none'; "
                                "base-uri 'none'; form-action 'none'");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

std::string header(const http::HttpRequest& request, const char* name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string() : found->second;
}

std::string parameter(const http::HttpRequest& request, const char* name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? std::string() : found->second;
}

http::HttpResponse answered(Expected<std::string, std::string> document) {
  if (document) return json_response(std::move(*document));
  return json_response(answer_json({false, document.error()}), 400);
}

}  // namespace

class Page::Impl {
 public:
  Impl(const PageSettings& settings, CommandHandler commands)
      : commands_(std::move(commands)),
        logs_(settings.log_lines_max, settings.log_line_bytes_max),
        model_({settings.history_max, settings.runs_max}),
        gate_(settings.token, settings.refused_per_minute_max, settings.people),
        rule_(names_of(settings)),
        server_(settings.listen, settings.limits, settings.tls) {
    server_.admit([this](const http::HttpRequest& request) { return admit(request); });
    for (const Asset& asset : assets()) {
      server_.route("GET", asset.name == "page.html" ? "/" : "/" + std::string(asset.name),
                    [&asset](const http::HttpRequest&) { return asset_response(asset); });
    }
    server_.route("GET", "/api/state", [this](const http::HttpRequest&) { return json_response(state()); });
    server_.route("GET", "/api/history", [this](const http::HttpRequest&) {
      const std::lock_guard lock(mutex_);
      return json_response(model_.history_json());
    });
    server_.route("GET", "/api/runs", [this, find = settings.find_runs](const http::HttpRequest& request) {
      if (find) return answered(find(request.query));
      const std::lock_guard lock(mutex_);
      return json_response(model_.runs_json());
    });
    server_.route("GET", "/api/run", [show = settings.show_run](const http::HttpRequest& request) {
      return answered(show ? show(request.query) : Unexpected<std::string>("this page has no records"));
    });
    server_.route("GET", "/api/histograms",
                  [this, recorded = settings.recorded_histograms](const http::HttpRequest& request) {
                    return histograms(parameter(request, "run"), recorded);
                  });
    for (const auto& [path, find] : settings.documents) {
      server_.route("GET", path, [find = find](const http::HttpRequest& request) {
        return answered(find(request.query));
      });
    }
    server_.route("GET", "/api/sources", [this](const http::HttpRequest&) {
      const std::lock_guard lock(mutex_);
      return json_response(sources_);
    });
    server_.route("GET", "/api/logs",
                  [this](const http::HttpRequest& request) { return find_logs(request); });
    server_.route("POST", "/api/command",
                  [this](const http::HttpRequest& request) { return command(request); });
    server_.route("POST", "/api/burst", [this](const http::HttpRequest& request) { return burst(request); });
    server_.route("POST", "/api/annotate", [this](const http::HttpRequest& request) {
      auto refused = refusal(request);
      return refused ? std::move(*refused) : carry_out(parse_annotation(request.body, request.peer), request);
    });
    server_.route("POST", "/api/act", [this](const http::HttpRequest& request) {
      auto refused = refusal(request);
      return refused ? std::move(*refused) : carry_out(parse_action(request.body, request.peer), request);
    });
    server_.route("POST", "/api/alarm", [this](const http::HttpRequest& request) { return alarm(request); });
    server_.route("POST", "/api/operator", [this](const http::HttpRequest& request) {
      return refusal(request).value_or(
          json_response(person_json(gate_.person_of(header(request, "authorization")))));
    });
    server_.route("GET", kMetrics, [this](const http::HttpRequest& request) { return own_metrics(request); });
    server_.stream(kEvents, [this](const http::HttpRequest&) { return http::event_text("state", state()); });
    server_.start();
  }

  void update(const Farm& farm) {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      model_.update(farm);
      text = model_.state_json(gate_.has_token());
    }
    server_.publish(kEvents, "state", text);
  }

  void show_histograms(std::string document) {
    const std::lock_guard lock(mutex_);
    histograms_ = std::move(document);
  }

  void show_sources(std::string document) {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(document);
  }

  void log(const LogLine& line) {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      text = log_json(logs_.add(line));
    }
    server_.publish(kEvents, "log", text);
  }

  [[nodiscard]] PageCounters counters() const {
    const std::lock_guard lock(mutex_);
    PageCounters counters = counters_;
    counters.log_lines_dropped = logs_.dropped();
    return counters;
  }
  [[nodiscard]] const http::Server& server() const { return server_; }

 private:
  http::HttpResponse histograms(const std::string& run,
                                const std::function<std::string(std::uint32_t)>& recorded) const {
    if (run.empty()) {
      const std::lock_guard lock(mutex_);
      return json_response(histograms_);
    }
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(run.data(), run.data() + run.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != run.data() + run.size())
      return json_response(answer_json({false, "'" + run + "' is not a run number"}), 400);
    std::string document = recorded ? recorded(number) : std::string();
    return json_response(document.empty() ? "{\"run\": " + std::to_string(number) + ", " + kNoHistograms
                                          : std::move(document));
  }

  [[nodiscard]] std::string state() const {
    const std::lock_guard lock(mutex_);
    return model_.state_json(gate_.has_token());
  }
  void count(std::uint64_t PageCounters::*which) {
    const std::lock_guard lock(mutex_);
    ++(counters_.*which);
  }
  std::optional<http::HttpResponse> admit(const http::HttpRequest& request);
  http::HttpResponse find_logs(const http::HttpRequest& request);
  // Returns nothing if the token is right.
  std::optional<http::HttpResponse> refusal(const http::HttpRequest& request);
  http::HttpResponse command(const http::HttpRequest& request);
  http::HttpResponse burst(const http::HttpRequest& request);
  http::HttpResponse alarm(const http::HttpRequest& request);
  http::HttpResponse carry_out(ParsedCommand parsed, const http::HttpRequest& request);
  http::HttpResponse own_metrics(const http::HttpRequest& request) const;

  CommandHandler commands_;
  mutable std::mutex mutex_;
  LogRing logs_;
  Model model_;
  std::string histograms_ = std::string("{\"run\": 0, ") + kNoHistograms;
  std::string sources_ = "{\"rows\": []}\n";
  PageCounters counters_;
  Gate gate_;  // used by the page's thread only, except for has_token()
  http::HostRule rule_;
  http::Server server_;  // declared last: its thread uses all members above
};

// Metrics contain only numbers, so any client may read them under any host name.
std::optional<http::HttpResponse> Page::Impl::admit(const http::HttpRequest& request) {
  if (request.path == kMetrics) return std::nullopt;
  constexpr unsigned kForbidden = 403;
  constexpr unsigned kMisdirected = 421;
  constexpr std::size_t kShownMax = 100;
  const auto verdict = rule_.judge(request);
  if (verdict == http::HostRule::Verdict::good) return std::nullopt;
  count(&PageCounters::requests_foreign);
  const bool by_host = verdict == http::HostRule::Verdict::foreign_host;
  const std::string who = clean_quoted(header(request, by_host ? "host" : "origin"), kShownMax);
  const std::string why =
      by_host ? "'" + who + "' is not a name of this page" : "a page of '" + who + "' is not allowed here";
  return json_response(
      answer_json({false, why + ": add it to control.page_names in the farm file if it is yours"}),
      by_host ? kMisdirected : kForbidden);
}

http::HttpResponse Page::Impl::find_logs(const http::HttpRequest& request) {
  LogRing::Query query;
  query.text = parameter(request, "q");
  query.process = parameter(request, "process");
  if (const std::string level = parameter(request, "level"); !level.empty()) {
    const auto known = log_level(level);
    if (!known)
      return {400, "text/plain; charset=utf-8", "level is one of trace, debug, info, warning, error\n", {}};
    query.level = *known;
  }
  if (const std::string lines = parameter(request, "lines"); !lines.empty()) {
    const auto [end, error] = std::from_chars(lines.data(), lines.data() + lines.size(), query.lines_max);
    if (error != std::errc() || end != lines.data() + lines.size())
      return {400, "text/plain; charset=utf-8", "lines is a number\n", {}};
    query.lines_max = std::min(query.lines_max, kLogLinesMax);
  }
  const std::lock_guard lock(mutex_);
  return json_response(logs_json(logs_, query));
}

std::optional<http::HttpResponse> Page::Impl::refusal(const http::HttpRequest& request) {
  const auto refuse = [](unsigned status, const std::string& why) {
    return json_response(answer_json({false, why}), status);
  };
  switch (gate_.ask(header(request, "authorization"), request.peer, monotonic_now_ns())) {
    case Gate::Answer::no_token_set:
      count(&PageCounters::commands_unauthorised);
      return refuse(403, "run control has no operator's token: this page is read-only");
    case Gate::Answer::rate_limited:
      count(&PageCounters::commands_rate_limited);
      return refuse(429, "too many wrong tokens from this address: wait a minute");
    case Gate::Answer::unauthorised: {
      count(&PageCounters::commands_unauthorised);
      http::HttpResponse response = refuse(401, "this needs the operator's token");
      response.headers.emplace_back("WWW-Authenticate", "Bearer");
      return response;
    }
    case Gate::Answer::open:
      break;
  }
  return std::nullopt;
}

http::HttpResponse Page::Impl::command(const http::HttpRequest& request) {
  if (auto refused = refusal(request)) return std::move(*refused);
  return carry_out(parse_command(request.body, request.peer), request);
}

http::HttpResponse Page::Impl::burst(const http::HttpRequest& request) {
  if (auto refused = refusal(request)) return std::move(*refused);
  return carry_out(parse_alert(request.body, request.peer), request);
}

http::HttpResponse Page::Impl::alarm(const http::HttpRequest& request) {
  if (auto refused = refusal(request)) return std::move(*refused);
  return carry_out(parse_alarm(request.body, request.peer), request);
}

http::HttpResponse Page::Impl::carry_out(ParsedCommand parsed, const http::HttpRequest& request) {
  if (!parsed.error.empty()) {
    count(&PageCounters::commands_malformed);
    return json_response(answer_json({false, parsed.error}), 400);
  }
  const Person* person = gate_.person_of(header(request, "authorization"));
  const PersonRole wanted = role_for(parsed.command);
  if (person == nullptr || person->role < wanted) {
    constexpr unsigned kForbidden = 403;
    count(&PageCounters::commands_unauthorised);
    return json_response(
        answer_json({false, "your token has the role " +
                                std::string(person == nullptr ? "unknown" : name(person->role)) +
                                ": this needs the role " + std::string(name(wanted))}),
        kForbidden);
  }
  parsed.command.person = person->name;
  const CommandAnswer answer = commands_(parsed.command);
  count(answer.taken ? &PageCounters::commands_taken : &PageCounters::commands_refused);
  return json_response(answer_json(answer), answer.taken ? 202 : 409);
}

http::HttpResponse Page::Impl::own_metrics(const http::HttpRequest& request) const {
  const PageCounters page = counters();
  const http::ServerCounters server = server_.counters();
  std::string text;
  const auto add = [&](const char* name, const char* kind, const char* help, std::uint64_t value) {
    text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + kind + "\n" + name + " " +
            std::to_string(value) + "\n";
  };
  add("weir_page_commands_taken_total", "counter", "Accepted commands.", page.commands_taken);
  add("weir_page_commands_refused_total", "counter", "Commands that run control refused.",
      page.commands_refused);
  add("weir_page_commands_malformed_total", "counter", "Malformed commands.", page.commands_malformed);
  add("weir_page_commands_unauthorised_total", "counter", "Commands without the operator's token.",
      page.commands_unauthorised);
  add("weir_page_commands_rate_limited_total", "counter", "Commands after too many wrong tokens.",
      page.commands_rate_limited);
  add("weir_page_requests_foreign_total", "counter",
      "Requests by another host's name, or of another site's page.", page.requests_foreign);
  add("weir_page_log_lines_dropped_total", "counter", "Log lines that made room for newer ones.",
      page.log_lines_dropped);
  add("weir_page_connections", "gauge", "Connections to the page.", server.connections);
  add("weir_page_connections_made_room_total", "counter", "Connections that were closed for new ones.",
      server.made_room);
  add("weir_page_connections_refused_total", "counter", "Connections refused for lack of room.",
      server.refused_full);
  add("weir_page_event_clients", "gauge", "Browsers connected to the state stream.", server.event_clients);
  add("weir_page_event_clients_dropped_total", "counter",
      "Browsers disconnected from the state stream because they were too slow.",
      server.event_clients_dropped);
  add("weir_page_requests_total", "counter", "Requests that were answered.", server.requests);
  add("weir_page_handshakes_failed_total", "counter", "TLS handshakes that failed, or did not end in time.",
      server.handshakes_failed);
  if (const http::TlsState tls = server_.tls(); tls.ends_utc_ns > 0)
    add("weir_page_certificate_end_seconds", "gauge", "End of the page's certificate, in Unix time.",
        static_cast<std::uint64_t>(tls.ends_utc_ns / kSecond));
  add("weir_page_malformed_total", "counter", "Requests that were not valid HTTP.", server.malformed);
  {
    const std::lock_guard lock(mutex_);
    text += farm_metrics(model_.farm());
  }
  const auto accept = request.headers.find("accept");
  if (accept != request.headers.end() && metrics::accepts_openmetrics(accept->second))
    return {200, metrics::kOpenMetricsContentType, metrics::to_openmetrics(text), {}};
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text), {}};
}

Page::Page(const PageSettings& settings, CommandHandler commands)
    : impl_(std::make_unique<Impl>(settings, std::move(commands))) {}
Page::~Page() = default;
const ports::Endpoint& Page::endpoint() const { return impl_->server().endpoint(); }
std::string Page::url() const {
  return (tls().ends_utc_ns == 0 ? "http://" : "https://") + ports::to_text(endpoint()) + "/";
}
http::TlsState Page::tls() const { return impl_->server().tls(); }
void Page::update(const Farm& farm) { impl_->update(farm); }
void Page::show_histograms(std::string document) { impl_->show_histograms(std::move(document)); }
void Page::show_sources(std::string document) { impl_->show_sources(std::move(document)); }
void Page::log(const LogLine& line) { impl_->log(line); }
PageCounters Page::counters() const { return impl_->counters(); }

}  // namespace weir::page
