#include <weir/base/role.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/metrics/table.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/telemetry/prometheus_reader.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

namespace weir::telemetry {
namespace {

using metrics::Entry;
using From = Entry::From;

constexpr std::string_view kBucket = "_bucket";
constexpr double kCountMax = 1.8e19;

// One line of the format: name{label="value",…} value
struct Sample {
  std::string_view name;
  std::map<std::string, std::string> labels;
  double value = 0;

  [[nodiscard]] std::string label(std::string_view key) const {
    const auto found = labels.find(std::string(key));
    return found == labels.end() ? std::string() : found->second;
  }
};

// Returns false for malformed labels.
bool read_labels(std::string_view text, std::map<std::string, std::string>& labels) {
  while (!text.empty()) {
    const std::size_t equals = text.find("=\"");
    if (equals == text.npos) return false;
    std::string value;
    std::size_t at = equals + 2;
    for (; at < text.size() && text[at] != '"'; ++at) {
      const bool escaped = text[at] == '\\' && at + 1 < text.size();
      if (escaped) ++at;
      value.push_back(escaped && text[at] == 'n' ? '\n' : text[at]);
    }
    if (at >= text.size()) return false;
    labels[std::string(text.substr(0, equals))] = value;
    text.remove_prefix(std::min(text.size(), at + 1));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return true;
}

std::optional<Sample> read_sample(std::string_view line) {
  const std::size_t space = line.rfind(' ');
  if (line.empty() || line.front() == '#' || space == line.npos) return std::nullopt;
  Sample sample;
  const std::string number(line.substr(space + 1));
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  if (end == number.c_str()) return std::nullopt;
  const std::string_view before = line.substr(0, space);
  const std::size_t brace = before.find('{');
  sample.name = before.substr(0, brace);
  if (brace == before.npos) return sample;
  if (before.back() != '}') return std::nullopt;
  if (!read_labels(before.substr(brace + 1, before.size() - brace - 2), sample.labels)) return std::nullopt;
  return sample;
}

const Entry* entry_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(metrics::kTable), std::end(metrics::kTable),
                                   [&](const Entry& entry) { return entry.name == name; });
  return found == std::end(metrics::kTable) ? nullptr : found;
}

std::uint64_t count_of(double value) {
  return value > 0 && value < kCountMax ? static_cast<std::uint64_t>(std::llround(value)) : 0;
}

v1::Role role_named(std::string_view text) {
  for (int role = 0; role < v1::Role_ARRAYSIZE; ++role) {
    if (v1::Role_IsValid(role) && name(static_cast<Role>(role)) == text) return static_cast<v1::Role>(role);
  }
  return v1::ROLE_UNKNOWN;
}

class Reader {
 public:
  void take(const Sample& sample) {
    if (sample.name == "weir_node_state") return take_state(sample);
    if (sample.name == "weir_report_age_seconds") {
      constexpr double kAgeMax_s = 1e9;
      scraped_.age_ns = static_cast<DurationNs>(std::clamp(sample.value, 0.0, kAgeMax_s) * kSecond);
      return;
    }
    if (sample.name.ends_with(kBucket)) return take_bucket(sample);
    const Entry* entry = entry_named(sample.name);
    if (entry == nullptr || entry->from == From::histogram) return;
    std::string key(entry->key);
    if (entry->is_family()) key += sample.label(entry->label);
    const double value = sample.value / entry->scale;
    switch (entry->from) {
      case From::counter:
        (*scraped_.report.mutable_counters())[key] = count_of(value);
        break;
      case From::gauge:
        (*scraped_.report.mutable_gauges())[key] = value;
        break;
      case From::sum:
        (*scraped_.report.mutable_sums())[key].set_count(count_of(value));
        break;
      case From::histogram:
        break;
    }
  }

  Expected<Scraped, std::string> finish() {
    if (scraped_.report.name().empty())
      return Unexpected(std::string("the text has no metrics of a node, or none yet"));
    for (const auto& [entry, buckets] : buckets_) add_histogram(*entry, buckets);
    return std::move(scraped_);
  }

 private:
  using Buckets = std::map<double, double>;  // upper bound to cumulative count

  void take_state(const Sample& sample) {
    scraped_.report.set_name(sample.label("node"));
    scraped_.report.set_role(role_named(sample.label("role")));
    scraped_.report.set_state(sample.label("state"));
  }

  void take_bucket(const Sample& sample) {
    const Entry* entry = entry_named(sample.name.substr(0, sample.name.size() - kBucket.size()));
    if (entry == nullptr || entry->from != From::histogram) return;
    const double bound = std::strtod(sample.label("le").c_str(), nullptr) / entry->scale;
    if (bound >= 0) buckets_[entry][bound] = sample.value;
  }

  void add_histogram(const Entry& entry, const Buckets& buckets) {
    metrics::ValueHistogram histogram;
    std::uint64_t below = 0;
    std::uint64_t last = 0;
    for (const auto& [bound, count] : buckets) {
      const std::uint64_t upto = count_of(count);
      // Samples beyond the last bound are recorded at that bound.
      if (std::isfinite(bound)) last = count_of(bound);
      if (upto > below) histogram.record(last, upto - below);
      below = std::max(below, upto);
    }
    reports::add_histogram(scraped_.report, entry, histogram);
  }

  Scraped scraped_;
  std::map<const Entry*, Buckets> buckets_;
};

}  // namespace

Expected<Scraped, std::string> read_prometheus(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const auto sample = read_sample(line)) reader.take(*sample);
  }
  return reader.finish();
}

}  // namespace weir::telemetry
