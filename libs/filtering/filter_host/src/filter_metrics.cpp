#include <weir/filter_host/filter_metrics.hpp>

#include <algorithm>
#include <cmath>

namespace weir::filter_host {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Only the owning instance writes, so a load and a store do what fetch_add would, without its bus lock.
void add(std::atomic<std::uint64_t>& cell, std::uint64_t amount) {
  cell.store(cell.load(kRelaxed) + amount, kRelaxed);
}

}  // namespace

std::size_t HistogramSnapshot::bucket_of(double value) {
  if (!(value > 0)) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
  const int octave = exponent - 1;
  if (octave < kOctaveMin) return 0;
  if (octave >= kOctaveMax || std::isinf(value)) return kBuckets - 1;
  const int part = static_cast<int>((mantissa - 0.5) * 2 * kPerOctave);
  return static_cast<std::size_t>((octave - kOctaveMin) * kPerOctave + part) + 1;
}

double HistogramSnapshot::upper_bound(std::size_t bucket) {
  const auto whole = static_cast<int>(bucket);
  return std::ldexp(1.0 + static_cast<double>(whole % kPerOctave) / kPerOctave,
                    kOctaveMin + whole / kPerOctave);
}

double HistogramSnapshot::quantile(double q) const {
  if (count == 0) return 0;
  const auto rank =
      static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets[i];
    if (seen >= std::max<std::uint64_t>(rank, 1)) return std::clamp(upper_bound(i), min, max);
  }
  return max;
}

std::uint32_t FilterMetrics::Cells::counter(const std::string& name) {
  const std::uint32_t index = owner_.index_of(owner_.counter_names_, kCountersMax, name);
  if (index == kNone) count(kMetricRefused, 1);
  return index;
}

std::uint32_t FilterMetrics::Cells::histogram(const std::string& name) {
  const std::uint32_t index = owner_.index_of(owner_.histogram_names_, kHistogramsMax, name);
  if (index == kNone) {
    count(kMetricRefused, 1);
  } else if (histograms_[index].load(kRelaxed) == nullptr) {
    storage_.push_back(std::make_unique<HistogramCell>());
    histograms_[index].store(storage_.back().get(), std::memory_order_release);
  }
  return index;
}

void FilterMetrics::Cells::count(std::uint32_t counter, std::uint64_t amount) {
  if (counter < kCountersMax) add(counters_[counter], amount);
}

void FilterMetrics::Cells::record(std::uint32_t histogram, double value) {
  if (histogram >= kHistogramsMax || std::isnan(value)) return;
  HistogramCell* cell = histograms_[histogram].load(kRelaxed);
  if (cell == nullptr) return;
  const bool first = cell->entries.load(kRelaxed) == 0;
  cell->sum.store(cell->sum.load(kRelaxed) + value, kRelaxed);
  if (first || value < cell->min.load(kRelaxed)) cell->min.store(value, kRelaxed);
  if (first || value > cell->max.load(kRelaxed)) cell->max.store(value, kRelaxed);
  add(cell->buckets[HistogramSnapshot::bucket_of(value)], 1);
  cell->entries.store(cell->entries.load(kRelaxed) + 1, std::memory_order_release);
}

FilterMetrics::FilterMetrics()
    : counter_names_{"filter_error", "filter_log_dropped", "filter_metric_refused"} {}

FilterMetrics::Cells& FilterMetrics::add_instance() {
  const std::lock_guard lock(mutex_);
  cells_.push_back(std::make_unique<Cells>(*this));
  return *cells_.back();
}

Expected<std::uint32_t, std::string> FilterMetrics::book(const histograms::Booking& booking) {
  const std::lock_guard lock(mutex_);
  return layout_.book(booking);
}

histograms::Layout FilterMetrics::layout() const {
  const std::lock_guard lock(mutex_);
  return layout_;
}

std::uint32_t FilterMetrics::index_of(std::vector<std::string>& names, std::size_t limit,
                                      const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::uint32_t>(found - names.begin());
  if (names.size() == limit) return kNone;
  names.push_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

FilterMetricsSnapshot FilterMetrics::snapshot() const {
  const std::lock_guard lock(mutex_);
  FilterMetricsSnapshot all;
  for (std::size_t i = 0; i < counter_names_.size(); ++i) {
    std::uint64_t& sum = all.counters[counter_names_[i]];
    for (const auto& cells : cells_) sum += cells->counters_[i].load(kRelaxed);
  }
  for (std::size_t i = 0; i < histogram_names_.size(); ++i) {
    HistogramSnapshot& total = all.histograms[histogram_names_[i]];
    for (const auto& cells : cells_) {
      const Cells::HistogramCell* cell = cells->histograms_[i].load(std::memory_order_acquire);
      if (cell == nullptr || cell->entries.load(std::memory_order_acquire) == 0) continue;
      const double low = cell->min.load(kRelaxed);
      const double high = cell->max.load(kRelaxed);
      total.min = total.count == 0 ? low : std::min(total.min, low);
      total.max = total.count == 0 ? high : std::max(total.max, high);
      total.sum += cell->sum.load(kRelaxed);
      for (std::size_t b = 0; b < HistogramSnapshot::kBuckets; ++b) {
        const std::uint64_t entries = cell->buckets[b].load(kRelaxed);
        total.buckets[b] += entries;
        total.count += entries;
      }
    }
  }
  return all;
}

}  // namespace weir::filter_host
