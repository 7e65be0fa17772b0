#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/filter_host/filter_units.hpp>
#include <weir/histograms/contents.hpp>
#include <weir/reports/filter_histograms.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace weir::dcm {

// The entries of the filter's histograms: kept with their slice until it is settled, then counted and
// reported (docs/protocols.md, "Histograms").
class HistogramStage {
 public:
  static constexpr std::size_t kHeldMax = std::size_t{4} << 20;  // additions of unsettled slices

  // Replaces the bookings; earlier ones keep their places. `bookings` returns them again when a worker has
  // added some.
  void book(std::function<histograms::Layout()> bookings);

  // Takes the entries of a step out of its result. Beyond `held_max` all entries of the slice are dropped,
  // also those of its later steps, and it is counted.
  void take(const assembly::BuiltSlice& slice, filter_job::FilterResult& result) {
    if (!result.fills.empty()) hold(slice, result.fills);
  }
  // The slice is settled by its filter's decision: its entries count.
  void settle(const assembly::BuiltSlice& slice) {
    if (held_ + beyond_ > 0) count(slice);
  }
  // The slice leaves, or its filter has to begin again or has failed: its entries do not count.
  void drop(const assembly::BuiltSlice& slice) {
    if (held_ + beyond_ > 0) forget(slice);
  }

  // The supervisor may have lost earlier reports.
  void report_all() { contents_.set_all_changed(); }
  void add_to(v1::Report& report, bool final);

  [[nodiscard]] const histograms::Contents& contents() const { return contents_; }
  [[nodiscard]] std::size_t held() const { return held_; }
  void limit(std::size_t held_max) { held_max_ = held_max; }

 private:
  using Additions = std::vector<histograms::Addition>;

  void hold(const assembly::BuiltSlice& slice, Additions& fills);
  void count(const assembly::BuiltSlice& slice);
  void forget(const assembly::BuiltSlice& slice);
  void add(const Additions& fills);

  std::function<histograms::Layout()> bookings_;
  histograms::Contents contents_;
  reports::HistogramReporter reporter_;
  std::vector<Additions> by_slot_;
  std::vector<bool> is_beyond_;  // by slot: a step of the slice was dropped
  std::size_t beyond_ = 0;       // such slices
  std::size_t held_ = 0;
  std::size_t held_max_ = kHeldMax;
  std::uint64_t dropped_slices_ = 0;
};

}  // namespace weir::dcm
