#include <weir/base/assert.hpp>
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
      "With `metrics.listen` in the farm file ([configuration](configuration.md)) each process exports these "
      "metrics at\n"
      "`http://HOST:PORT/metrics` in Prometheus' text format. Every sample has the labels `farm`, `node`, "
      "`role` and `run`.\n"
      "Counters begin at 0 with each run of a process. Numbers are those of the last report\n"
      "(`supervisor.status_interval_ms`). Latencies are histograms with bounds from 10 us to 100 s, three to "
      "each power of\n"
      "ten. [deploy/grafana](../deploy/grafana/README.md) has a configuration for Prometheus and a "
      "dashboard.\n\n"
      "This page is rendered from `libs/foundation/metrics/include/weir/metrics/table.hpp`; `system_metrics` "
      "compares "
      "it with the\n"
      "exports of whole farms.\n\n"
      "| metric | kind | of | meaning |\n| --- | --- | --- | --- |\n";
  for (const Entry& entry : kTable) {
    WEIR_ASSERT(static_cast<std::size_t>(entry.kind) < std::size(kKinds));
    text.append("| `").append(entry.name).append("` | ").append(kKinds[static_cast<std::size_t>(entry.kind)]);
    text.append(" | ").append(entry.of).append(" | ").append(entry.help);
    if (!entry.label.empty()) text.append(" Label `").append(entry.label).append("`.");
    text += " |\n";
  }
  text +=
      "| `weir_source_fragments_missing` | gauge | supervisor | Missing fragments of the 20 sources with the "
      "highest "
      "losses. Labels `source`, `readout`, `reason`. |\n"
      "| `weir_node_state` | gauge | all | 1 for the process' state: running, throttled, blocked, ending, "
      "ready, or "
      "other. Label `state`. |\n"
      "| `weir_report_age_seconds` | gauge | all | Time since the last report; the only metric before the "
      "first one. |\n"
      "| `weir_metrics_requests_total` | counter | all | Requests for metrics that were answered. |\n";
  return text;
}

}  // namespace weir::metrics
