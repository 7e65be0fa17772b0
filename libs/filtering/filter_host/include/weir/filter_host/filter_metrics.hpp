#pragma once

#include <weir/base/expected.hpp>
#include <weir/histograms/layout.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weir::filter_host {

// A distribution of positive numbers in buckets of an eighth of an octave (relative error below 7 %).
struct HistogramSnapshot {
  static constexpr int kOctaveMin = -32;  // 2^-32 and less share the first bucket, 2^32 and more the last
  static constexpr int kOctaveMax = 32;
  static constexpr int kPerOctave = 8;
  static constexpr std::size_t kBuckets = std::size_t{(kOctaveMax - kOctaveMin) * kPerOctave} + 2;

  std::uint64_t count = 0;
  double sum = 0;
  double min = 0;
  double max = 0;
  std::array<std::uint64_t, kBuckets> buckets{};  // [0] holds zero and below as well

  [[nodiscard]] static std::size_t bucket_of(double value);
  [[nodiscard]] static double upper_bound(std::size_t bucket);
  // The value that a share `q` of the entries does not exceed, to a bucket's width; 0 when there are none.
  [[nodiscard]] double quantile(double q) const;
};

struct FilterMetricsSnapshot {
  std::map<std::string, std::uint64_t> counters;
  std::map<std::string, HistogramSnapshot> histograms;
};

// The counters and histograms of all instances of a farm's filter, added up by name. Each instance writes its
// own cells without a lock; snapshot() may be called from any thread meanwhile.
class FilterMetrics {
 public:
  static constexpr std::size_t kCountersMax = 256;
  static constexpr std::size_t kHistogramsMax = 64;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // One instance's share. One thread at a time.
  class Cells {
   public:
    explicit Cells(FilterMetrics& owner) : owner_(owner) {}
    // A number for the name, or kNone (and `filter_metric_refused` is counted) when there are too many.
    [[nodiscard]] std::uint32_t counter(const std::string& name);
    [[nodiscard]] std::uint32_t histogram(const std::string& name);
    void count(std::uint32_t counter, std::uint64_t amount);
    void record(std::uint32_t histogram, double value);  // not a number: passed over

   private:
    friend class FilterMetrics;
    struct HistogramCell {
      std::atomic<double> sum{0};
      std::atomic<double> min{0};
      std::atomic<double> max{0};
      std::atomic<std::uint64_t> entries{0};
      std::array<std::atomic<std::uint64_t>, HistogramSnapshot::kBuckets> buckets{};
    };

    FilterMetrics& owner_;
    std::array<std::atomic<std::uint64_t>, kCountersMax> counters_{};
    std::array<std::atomic<HistogramCell*>, kHistogramsMax> histograms_{};
    std::vector<std::unique_ptr<HistogramCell>> storage_;
  };

  // Counters that are always there.
  static constexpr std::uint32_t kFilterError = 0;
  static constexpr std::uint32_t kLogDropped = 1;
  static constexpr std::uint32_t kMetricRefused = 2;

  FilterMetrics();
  // Cells for one more instance; they live as long as this.
  [[nodiscard]] Cells& add_instance();
  [[nodiscard]] FilterMetricsSnapshot snapshot() const;
  // Books a binned histogram for all instances. Errors: a sentence.
  [[nodiscard]] Expected<std::uint32_t, std::string> book(const histograms::Booking& booking);
  // Returns the bookings, by handle.
  [[nodiscard]] histograms::Layout layout() const;
  // Calls visit(name, sum over the instances) for each counter, in the order in which they were named.
  template <class Visit>
  void for_each_counter(Visit visit) const {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < counter_names_.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& cells : cells_) sum += cells->counters_[i].load(std::memory_order_relaxed);
      visit(counter_names_[i], sum);
    }
  }

 private:
  [[nodiscard]] std::uint32_t index_of(std::vector<std::string>& names, std::size_t limit,
                                       const std::string& name);

  mutable std::mutex mutex_;  // guards the names, the bookings and the list of cells
  histograms::Layout layout_;
  std::vector<std::string> counter_names_;
  std::vector<std::string> histogram_names_;
  std::vector<std::unique_ptr<Cells>> cells_;
};

}  // namespace weir::filter_host
