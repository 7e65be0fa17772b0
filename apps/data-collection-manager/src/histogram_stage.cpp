#include "histogram_stage.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/reports/numbers.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::dcm {
namespace {

// One addition per cell: slices of many steps stay below the layout's size.
void merge_cells(std::vector<histograms::Addition>& fills) {
  std::sort(fills.begin(), fills.end(), [](const auto& a, const auto& b) { return a.cell < b.cell; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < fills.size(); ++i) {
    if (fills[i].cell == fills[last].cell) {
      fills[last].amount += fills[i].amount;
    } else {
      fills[++last] = fills[i];
    }
  }
  fills.resize(last + 1);
}

}  // namespace

void HistogramStage::book(std::function<histograms::Layout()> bookings) {
  bookings_ = std::move(bookings);
  contents_.set_layout(bookings_());
}

void HistogramStage::hold(const assembly::BuiltSlice& slice, Additions& fills) {
  if (planted(Planted::count_dead_fills)) return add(fills);
  if (slice.slot >= by_slot_.size()) {
    by_slot_.resize(slice.slot + 1);
    is_beyond_.resize(slice.slot + 1);
  }
  if (is_beyond_[slice.slot]) return;
  Additions& kept = by_slot_[slice.slot];
  WEIR_ASSERT(kept.size() <= held_);
  held_ -= kept.size();
  if (kept.empty()) {
    std::swap(kept, fills);
  } else {
    kept.insert(kept.end(), fills.begin(), fills.end());
    if (kept.size() > histograms::kCellsMax) merge_cells(kept);
  }
  if (held_ + kept.size() > held_max_) {
    if (++dropped_slices_ == 1)
      spdlog::warn("histogram entries dropped slice={} held={}: too many slices wait to be settled",
                   slice.id().value, held_);
    kept.clear();
    is_beyond_[slice.slot] = true;
    ++beyond_;
  }
  held_ += kept.size();
}

void HistogramStage::count(const assembly::BuiltSlice& slice) {
  if (slice.slot >= by_slot_.size()) return;
  add(by_slot_[slice.slot]);
  forget(slice);
}

void HistogramStage::forget(const assembly::BuiltSlice& slice) {
  if (slice.slot >= by_slot_.size()) return;
  Additions& kept = by_slot_[slice.slot];
  WEIR_ASSERT(kept.size() <= held_);
  held_ -= kept.size();
  kept.clear();
  WEIR_ASSERT(!is_beyond_[slice.slot] || beyond_ > 0);
  if (is_beyond_[slice.slot]) --beyond_;
  is_beyond_[slice.slot] = false;
  constexpr std::size_t kKeptCapacity = 256;
  if (kept.capacity() > kKeptCapacity) kept.shrink_to_fit();
}

void HistogramStage::add(const Additions& fills) {
  const auto beyond = [this](const histograms::Addition& one) {
    return one.cell >= contents_.layout().cells();
  };
  if (std::any_of(fills.begin(), fills.end(), beyond)) contents_.set_layout(bookings_());
  contents_.add(fills);
}

void HistogramStage::add_to(v1::Report& report, bool final) {
  if (contents_.layout().empty()) return;
  if (dropped_slices_ > 0) {
    reports::ReportCounters counters(report);
    counters["dcm.fills_dropped"] = dropped_slices_;
  }
  reporter_.add_to(report, contents_, final);
}

}  // namespace weir::dcm
