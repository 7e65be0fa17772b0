#include <weir/base/assert.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/metrics/table.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/telemetry/prometheus.hpp>
#include <weir/v1/control.pb.h>

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <vector>

namespace weir::telemetry {
namespace {

using From = metrics::Entry::From;
using Kind = metrics::Entry::Kind;

// Bounds of 10 us, 20 us, 50 us, … 100 s.
std::vector<std::uint64_t> bounds_us() {
  constexpr std::uint64_t kFirst = 10;
  constexpr std::uint64_t kLast = 100'000'000;
  std::vector<std::uint64_t> bounds;
  for (std::uint64_t power = kFirst; power <= kLast; power *= 10) {
    for (const std::uint64_t factor : {1, 2, 5}) {
      if (power * factor <= kLast) bounds.push_back(power * factor);
    }
  }
  return bounds;
}

std::string_view name_of(Kind kind) {
  return kind == Kind::counter ? "counter" : kind == Kind::gauge ? "gauge" : "histogram";
}

std::string escape_help(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
  return out;
}

// The samples of one metric, with its HELP and TYPE.
struct Metric {
  Kind kind = Kind::counter;
  std::string help;
  std::string samples;
};

class Writer {
 public:
  explicit Writer(const MetricLabels& labels)
      : labels_(fmt::format("farm=\"{}\",node=\"{}\",role=\"{}\",run=\"{}\"", escape_label(labels.farm),
                            escape_label(labels.node), escape_label(labels.role), labels.run)) {}

  Metric& announce(const std::string& name, Kind kind, std::string_view help) {
    auto [found, is_new] = metrics_.try_emplace(name);
    if (is_new) found->second = {kind, escape_help(help), {}};
    return found->second;
  }

  // Adds a number of the report, with the label that follows from its key.
  template <class Number>
  void add(From from, const std::string& key, Number value) {
    const metrics::Entry* entry = metrics::find(from, key);
    if (entry == nullptr) {
      const Kind kind = from == From::gauge ? Kind::gauge : Kind::counter;
      const std::string name = metrics::plain_name(key, kind);
      announce(name, kind, "Not described.").samples += fmt::format("{}{{{}}} {}\n", name, labels_, value);
      return;
    }
    std::string labels = labels_;
    WEIR_ASSERT(key.starts_with(entry->key));
    if (!entry->label.empty())
      labels += fmt::format(",{}=\"{}\"", entry->label, escape_label(key.substr(entry->key.size())));
    const std::string name(entry->name);
    Metric& metric = announce(name, entry->kind, entry->help);
    if (entry->scale == 1) {
      metric.samples += fmt::format("{}{{{}}} {}\n", name, labels, value);
    } else {
      metric.samples +=
          fmt::format("{}{{{}}} {:.9g}\n", name, labels, static_cast<double>(value) * entry->scale);
    }
  }

  void add(const v1::Histogram& histogram);
  // The worst sources: names of many sources would be a load for a database of metrics.
  void add(const v1::SourceCounts& sources);

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [name, metric] : metrics_) {
      out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, metric.help, name, name_of(metric.kind));
      out += metric.samples;
    }
    return out;
  }

 private:
  std::string labels_;
  std::map<std::string, Metric> metrics_;
};

void Writer::add(const v1::Histogram& histogram) {
  constexpr double kSecondsPerUs = 1e-6;
  if (histogram.bucket_size() != histogram.count_size()) return;
  const metrics::Entry* entry = metrics::find(From::histogram, histogram.name());
  const std::string name =
      entry == nullptr ? metrics::plain_name(histogram.name(), Kind::histogram) : std::string(entry->name);
  Metric& metric = announce(name, Kind::histogram, entry == nullptr ? "Not described." : entry->help);
  std::uint64_t below = 0;
  int next = 0;
  for (const std::uint64_t bound : bounds_us()) {
    for (; next < histogram.bucket_size(); ++next) {
      const std::uint64_t bucket = histogram.bucket(next);
      if (bucket >= metrics::ValueHistogram::kBuckets ||
          metrics::ValueHistogram::bucket_last(static_cast<std::uint32_t>(bucket)) > bound)
        break;
      below += histogram.count(next);
    }
    metric.samples += fmt::format("{}_bucket{{{},le=\"{:g}\"}} {}\n", name, labels_,
                                  static_cast<double>(bound) * kSecondsPerUs, below);
  }
  std::uint64_t all = below;
  for (; next < histogram.bucket_size(); ++next) all += histogram.count(next);
  metric.samples += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels_, all);
  metric.samples += fmt::format("{}_sum{{{}}} {:.9g}\n{}_count{{{}}} {}\n", name, labels_,
                                static_cast<double>(histogram.sum()) * kSecondsPerUs, name, labels_, all);
}

void Writer::add(const v1::SourceCounts& sources) {
  constexpr std::size_t kMost = 20;
  constexpr const char* kName = "weir_source_fragments_missing";
  Metric& metric =
      announce(kName, Kind::gauge, "Missing fragments of the 20 sources with the highest losses.");
  std::size_t number = 0;
  for (const reports::SourceRow& row : reports::source_rows(sources)) {
    if (row.missing.empty() || ++number > kMost) break;
    for (const auto& [reason, count] : row.missing)
      metric.samples +=
          fmt::format("{}{{{},source=\"{}\",readout=\"{}\",reason=\"{}\"}} {}\n", kName, labels_,
                      row.source.value, escape_label(row.readout), escape_label(reason), count);
  }
}

std::string known_state(const std::string& state) {
  const std::string first = state.substr(0, state.find(':'));
  for (const char* known : {"running", "throttled", "blocked", "ending", "ready"}) {
    if (first == known) return first;
  }
  return "other";
}

// Returns whether a role always exports metrics of `of` ("readout, DCM, writer", "DCM, in push running",
// "all"). Metrics of one run mode appear only with their numbers.
bool is_of(std::string_view of, const std::string& role) {
  const std::string name = role == "dcm" ? "DCM" : role;
  return of == "all" || of == name;
}

}  // namespace

std::string escape_label(const std::string& value) {
  std::string out;
  for (const char c : value) {
    out += c == '\\' ? "\\\\" : c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

std::string prometheus_text(const v1::Report& report, const MetricLabels& labels) {
  Writer writer(labels);
  for (const metrics::Entry& entry : metrics::kTable) {
    if (!entry.label.empty() && is_of(entry.of, labels.role))
      writer.announce(std::string(entry.name), entry.kind, entry.help);
  }
  const std::map<std::string, std::uint64_t> counters(report.counters().begin(), report.counters().end());
  for (const auto& [key, value] : counters) writer.add(From::counter, key, value);
  const std::map<std::string, double> gauges(report.gauges().begin(), report.gauges().end());
  for (const auto& [key, value] : gauges) writer.add(From::gauge, key, value);
  for (const auto& [key, value] : report.sums()) writer.add(From::sum, key, value.count());
  for (const v1::Histogram& histogram : report.histograms()) writer.add(histogram);
  if (report.role() == v1::ROLE_SUPERVISOR) writer.add(report.sources());
  const MetricLabels& l = labels;
  writer.announce("weir_node_state", Kind::gauge, "1 for the process' state.").samples += fmt::format(
      "weir_node_state{{farm=\"{}\",node=\"{}\",role=\"{}\",run=\"{}\",state=\"{}\"}} 1\n",
      escape_label(l.farm), escape_label(l.node), escape_label(l.role), l.run, known_state(report.state()));
  return writer.text();
}

}  // namespace weir::telemetry
