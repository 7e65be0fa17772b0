#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::telemetry {

// One thing that nodes report, and as what it is exported. docs/metrics.md is rendered from the table.
struct MetricEntry {
  enum class From : std::uint8_t { counter, gauge, sum, histogram };
  enum class Kind : std::uint8_t { counter, gauge, histogram };

  From from = From::counter;  // which part of the report
  std::string_view
      key;  // in it; one that ends in '.' stands for all that begin so, the rest being the label's value
  Kind kind = Kind::counter;
  std::string_view name;   // exported: base units, counters end in _total
  std::string_view label;  // of a key that ends in '.': "reason"
  double scale = 1;        // exported value = reported value * scale
  std::string_view of;     // whose: "all", or of "supervisor", "readout", "DCM", "writer" some, then when
  bool rare = false;       // not in every run of such a node
  std::string_view help;
};

[[nodiscard]] std::span<const MetricEntry> metric_table();
// The exact key, else the one with a '.' at its end that it begins with; null: none.
[[nodiscard]] const MetricEntry* find_metric(MetricEntry::From from, std::string_view key);
// A name for what no entry stands for: "a.b-c" -> "weir_a_b_c".
[[nodiscard]] std::string plain_metric_name(std::string_view key, MetricEntry::Kind kind);

// docs/metrics.md.
[[nodiscard]] std::string metrics_document();

}  // namespace weir::telemetry
