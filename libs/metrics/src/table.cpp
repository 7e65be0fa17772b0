#include <weir/metrics/table.hpp>

namespace weir::metrics {

std::string plain_name(std::string_view key, Entry::Kind kind) {
  std::string name = "weir_";
  for (const char c : key) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name.push_back(good ? c : '_');
  }
  return kind == Entry::Kind::counter ? name + "_total" : name;
}

std::string document() {
  constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  std::string text =
      "# Metrics\n\n"
      "What each process exports at `http://HOST:PORT/metrics` in Prometheus' text format, when "
      "`metrics.listen` is set\n"
      "in the farm file ([configuration](configuration.md)). Every sample has the labels `farm`, `node`, "
      "`role` and `run`;\n"
      "some metrics have one more, which the table names. Counters count from the begin of a run in a "
      "process: they begin\n"
      "at 0 with each run. Numbers are those of the process' last report, made every "
      "`supervisor.status_interval_ms`;\n"
      "`weir_report_age_seconds` says how old it is. Latencies are histograms with bounds from 10 us to 100 "
      "s, three to\n"
      "each power of ten. [deploy/grafana](../deploy/grafana/README.md) has a configuration for Prometheus "
      "and a dashboard.\n\n"
      "This page is rendered from `libs/metrics/include/weir/metrics/table.hpp`, and compared with what the "
      "nodes of whole\n"
      "farms export: `system_metrics`.\n\n"
      "| metric | kind | label | of | what it is |\n| --- | --- | --- | --- | --- |\n";
  for (const Entry& entry : kTable) {
    text.append("| `").append(entry.name).append("` | ").append(kKinds[static_cast<std::size_t>(entry.kind)]);
    text.append(" | ").append(entry.label.empty() ? std::string() : "`" + std::string(entry.label) + "`");
    text.append(" | ").append(entry.of).append(" | ").append(entry.help).append(" |\n");
  }
  text +=
      "| `weir_node_state` | gauge | `state` | all | 1 for the state that the process says: running, "
      "throttled, blocked, "
      "ending, ready, or other. |\n"
      "| `weir_report_age_seconds` | gauge |  | all | Time since the report that the numbers are of; before "
      "the first "
      "there is nothing else. |\n"
      "| `weir_metrics_requests_total` | counter |  | all | Requests for metrics that were answered. |\n";
  return text;
}

}  // namespace weir::metrics
