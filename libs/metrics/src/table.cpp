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
      "The metrics that each process exports at `http://HOST:PORT/metrics` in Prometheus' text format, if "
      "`metrics.listen` is set\n"
      "in the farm file ([configuration](configuration.md)). Every sample has the labels `farm`, `node`, "
      "`role` and `run`;\n"
      "some metrics have another one, named in the table. Counters begin at 0 with each run of a "
      "process.\n"
      "Numbers are those of the process' last report, made every "
      "`supervisor.status_interval_ms`;\n"
      "`weir_report_age_seconds` says how old it is. Latencies are histograms with bounds from 10 us to 100 "
      "s, three to\n"
      "each power of ten. [deploy/grafana](../deploy/grafana/README.md) has a configuration for Prometheus "
      "and a dashboard.\n\n"
      "This page is rendered from `libs/metrics/include/weir/metrics/table.hpp`, and compared with the "
      "exports "
      "of whole\n"
      "farms by `system_metrics`.\n\n"
      "| metric | kind | label | of | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const Entry& entry : kTable) {
    text.append("| `").append(entry.name).append("` | ").append(kKinds[static_cast<std::size_t>(entry.kind)]);
    text.append(" | ").append(entry.label.empty() ? std::string() : "`" + std::string(entry.label) + "`");
    text.append(" | ").append(entry.of).append(" | ").append(entry.help).append(" |\n");
  }
  text +=
      "| `weir_source_fragments_missing` | gauge | `source`, `readout`, `reason` | supervisor | Missing "
      "fragments of "
      "the 20 sources with the highest losses. |\n"
      "| `weir_node_state` | gauge | `state` | all | 1 for the process' state: running, "
      "throttled, blocked, "
      "ending, ready, or other. |\n"
      "| `weir_report_age_seconds` | gauge |  | all | Time since the last report; the only "
      "metric before the first one. |\n"
      "| `weir_metrics_requests_total` | counter |  | all | Requests for metrics that were answered. |\n";
  return text;
}

}  // namespace weir::metrics
