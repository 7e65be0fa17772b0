#include "alarm_exports.hpp"

#include "commands.hpp"
#include <weir/config/alarms.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/mail_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::commands {
namespace {

struct FarmAlarms {
  std::string farm;
  config::Alarms alarms;
};

// nullopt: an error was printed.
std::optional<FarmAlarms> read_farm_alarms(const std::string& farm_file) {
  const auto file = config::load_farm(farm_file);
  if (!file) {
    fmt::print(stderr, "{}\n", config::to_text(file.error()));
    return std::nullopt;
  }
  auto alarms = config::read_alarms(file->farm);
  if (!alarms) {
    fmt::print(stderr, "{}\n", config::to_text(alarms.error()));
    return std::nullopt;
  }
  return FarmAlarms{file->farm.farm(), std::move(*alarms)};
}

// Of Prometheus.
std::string duration_of(DurationNs time) {
  return time % kSecond == 0 ? std::to_string(time / kSecond) + "s"
                             : std::to_string(time / kMillisecond) + "ms";
}

// Quoted for PromQL and, with `'` around it, for YAML.
std::string promql_text(const std::string& text) {
  std::string out = "\"";
  for (const char one : text) {
    if (one == '"' || one == '\\') out += '\\';
    out += one;
  }
  return out + "\"";
}

// A scalar of YAML.
std::string yaml_text(const std::string& text) {
  std::string out = "'";
  for (const char one : text) out += one == '\'' ? std::string("''") : std::string(1, one);
  return out + "'";
}

// A name in a regular expression of RE2.
std::string regex_text(const std::string& text) {
  std::string out;
  for (const char one : text) {
    if (std::string_view(".+*?()|[]{}^$\\").find(one) != std::string_view::npos) out += '\\';
    out += one;
  }
  return out;
}

// The name of an alert has only letters, digits and underscores.
std::string alert_name(const std::string& name) {
  std::string out = "Weir";
  bool capital = true;
  for (const char one : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(one)) != 0;
    if (plain) out += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(one))) : one;
    capital = !plain;
  }
  return out;
}

struct Alert {
  std::string name;
  std::string expression;
  DurationNs wait = 0;
  std::string severity;
  std::string summary;
};

void print_alert(const Alert& alert) {
  fmt::print(
      "      - alert: {}\n        expr: {}\n        for: {}\n        labels: {{severity: {}}}\n"
      "        annotations: {{summary: {}}}\n",
      alert.name, yaml_text(alert.expression), duration_of(alert.wait), yaml_text(alert.severity),
      yaml_text(alert.summary));
}

std::string expression_of(const config::AlarmCondition& condition) {
  if (condition.state)
    return fmt::format("weir_farm_state{{state=\"{}\"}} == 1", control::name(*condition.state));
  const std::string metric =
      condition.metric.ends_with("_total") ? "rate(" + condition.metric + "[1m])" : condition.metric;
  std::string expression;
  if (condition.above) expression = fmt::format("{} > {}", metric, *condition.above);
  if (condition.below)
    expression += fmt::format("{}{} < {}", expression.empty() ? "" : " or ", metric, *condition.below);
  return expression;
}

// A finding keeps its own severity unless the rule has another.
Alert alert_of(const control::AlarmRule& rule, const std::vector<config::AlarmCondition>& conditions) {
  const auto condition = std::ranges::find(conditions, rule.name, &config::AlarmCondition::name);
  const bool is_finding = condition == conditions.end();
  Alert alert{alert_name(rule.name), {}, rule.timing.raise_after, {}, rule.name};
  alert.severity = rule.gravity ? std::string(control::name(*rule.gravity))
                   : is_finding ? "{{ $labels.severity }}"
                                : "warning";
  alert.expression = is_finding ? fmt::format("weir_farm_finding{{finding={}}} > 0", promql_text(rule.name))
                                : expression_of(*condition);
  if (!is_finding && !condition->state) alert.summary += ": {{ $labels.node }} {{ $value }}";
  return alert;
}

void print_channel_of_mail(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto mail = config::read_mail_file(text);
  if (!mail) {
    fmt::print("  # {}: {}: {}\n  - name: {}\n", name, file, mail.error(), yaml_text(name));
    return;
  }
  const std::size_t scheme = mail->server.find("://");
  std::string host = scheme == std::string::npos ? mail->server : mail->server.substr(scheme + 3);
  const bool is_encrypted = mail->server.starts_with("smtps");
  if (host.find(':') == std::string::npos) host += is_encrypted ? ":465" : ":25";
  std::string to;
  for (const std::string& one : mail->to) to += (to.empty() ? "" : ", ") + one;
  fmt::print(
      "  - name: {}\n    email_configs:\n      - to: {}\n        from: {}\n        smarthost: {}\n        "
      "send_resolved: true\n",
      yaml_text(name), yaml_text(to), yaml_text(mail->from), yaml_text(host));
  if (mail->user.empty()) {
    fmt::print("        require_tls: {}\n", is_encrypted);
  } else {
    fmt::print(
        "        auth_username: {}\n        auth_password_file: {}  # a file with nothing but the password "
        "of {}\n",
        yaml_text(mail->user), yaml_text(file + "-password"), file);
  }
}

void print_channel_of_webhook(const config::AlarmWay& way, const std::string& name) {
  if (way.format == v1::AlarmChannelSettings::FORMAT_SLACK) {
    fmt::print(
        "  - name: {}\n    slack_configs:\n      - api_url_file: {}\n        send_resolved: true\n"
        "        title: '{{{{ .CommonAnnotations.summary }}}}'\n",
        yaml_text(name), yaml_text(way.what));
    return;
  }
  fmt::print(
      "  # {}: Alertmanager takes the address of a webhook from here, not from {}:\n  - name: {}\n"
      "  #   webhook_configs: [{{url: …}}]\n",
      name, way.what, yaml_text(name));
}

}  // namespace

int print_alert_rules(const std::string& farm_file) {
  const auto farm = read_farm_alarms(farm_file);
  if (!farm) return kUsage;
  const control::AlarmSettings& settings = farm->alarms.settings;
  fmt::print(
      "# Alert rules of the farm {} for Prometheus, made by `weir alarm rules`. They need the page's "
      "/metrics (job weir-page),\n# and those of the processes (job weir) for rules with metrics.\ngroups:\n"
      "  - name: weir\n    rules:\n",
      farm->farm);
  print_alert({"WeirRunControlDown", "up{job=\"weir-page\"} == 0 or absent(up{job=\"weir-page\"})",
               60 * kSecond, "error",
               "run control does not answer: nothing else of this farm can raise an alarm"});
  std::string excluded;
  for (const control::AlarmRule& rule : settings.rules)
    excluded += (excluded.empty() ? "" : "|") + regex_text(rule.name);
  const std::string others = excluded.empty() ? "" : ",finding!~" + promql_text(excluded);
  for (const char* severity : {"warning", "error"}) {
    print_alert({alert_name(severity),
                 fmt::format("weir_farm_finding{{severity=\"{}\"{}}} > 0", severity, others),
                 settings.timing.raise_after, severity, "{{ $labels.finding }}"});
  }
  for (const control::AlarmRule& rule : settings.rules) {
    if (!rule.off) print_alert(alert_of(rule, farm->alarms.conditions));
  }
  return 0;
}

int print_alertmanager(const std::string& farm_file) {
  const auto farm = read_farm_alarms(farm_file);
  if (!farm) return kUsage;
  const control::AlarmSettings& settings = farm->alarms.settings;
  fmt::print(
      "# Channels of the farm {} for Alertmanager, made by `weir alarm alertmanager`. Passwords are in "
      "files.\n"
      "route:\n  receiver: none\n  group_by: [severity]\n  group_wait: 10s\n  repeat_interval: {}\n  "
      "routes:\n",
      farm->farm, settings.repeat_ns > 0 ? duration_of(settings.repeat_ns) : "24h");
  for (const control::AlarmChannel& one : settings.channels) {
    if (one.alive_ns > 0) continue;  // a heartbeat is of run control alone
    fmt::print("    - receiver: {}\n      continue: true\n", yaml_text(one.name));
    if (one.from == control::Gravity::error) fmt::print("      matchers: ['severity=\"error\"']\n");
  }
  fmt::print("receivers:\n  - name: none\n");
  for (std::size_t i = 0; i < settings.channels.size(); ++i) {
    const control::AlarmChannel& channel = settings.channels[i];
    const config::AlarmWay& way = farm->alarms.ways[i];
    if (channel.alive_ns > 0) continue;
    if (way.kind == config::AlarmWay::Kind::mail) print_channel_of_mail(way.what, channel.name);
    if (way.kind == config::AlarmWay::Kind::webhook) print_channel_of_webhook(way, channel.name);
    if (way.kind == config::AlarmWay::Kind::command)
      fmt::print("  # {}: Alertmanager executes no commands\n  - name: {}\n", channel.name,
                 yaml_text(channel.name));
  }
  return 0;
}

}  // namespace weir::commands
