#include "histogram_board.hpp"

#include <weir/base/assert.hpp>
#include <weir/reports/filter_histograms.hpp>

#include <algorithm>
#include <iterator>

namespace weir::supervisor {

std::string HistogramBoard::take(const std::string& dcm, Incarnation process, const v1::Report& report) {
  for (const v1::FilterHistogram& one : report.filter_histograms()) {
    const auto histogram = of(dcm, one);
    if (!histogram) return histogram.error();
    Totals& last = (*histogram)->last[dcm];
    WEIR_ASSERT(last.cells.empty() || last.cells.size() == (*histogram)->earlier.size());
    if (last.process != process) {
      for (std::size_t i = 0; i < last.cells.size(); ++i) (*histogram)->earlier[i] += last.cells[i];
      last.process = process;
    }
    last.cells.assign(one.cells().begin(), one.cells().end());
    (*histogram)->changed = true;
  }
  return {};
}

Expected<HistogramBoard::Histogram*, std::string> HistogramBoard::of(const std::string& dcm,
                                                                     const v1::FilterHistogram& from) {
  const auto booking = reports::booking_of(from);
  if (!booking) return Unexpected<std::string>(dcm + ": " + booking.error());
  auto found = by_name_.find(booking->name);
  if (found == by_name_.end()) {
    const std::size_t cells = histograms::cells_of(*booking);
    if (cells > kCellsMax - cells_)
      return Unexpected<std::string>(dcm + ": histogram '" + booking->name +
                                     "' is one too many: the filters of this farm book more than " +
                                     std::to_string(kCellsMax) + " cells");
    WEIR_ASSERT(cells_ <= kCellsMax);
    cells_ += cells;
    found = by_name_.try_emplace(booking->name).first;
    found->second.booking = *booking;
    found->second.first = dcm;
    found->second.earlier.resize(cells);
  }
  Histogram& histogram = found->second;
  if (histogram.booking != *booking)
    return Unexpected<std::string>(histograms::conflict_text(histogram.booking, *booking) + " (" +
                                   histogram.first + " and " + dcm + ")");
  return &histogram;
}

std::vector<v1::FilterHistogram> HistogramBoard::earlier() const {
  std::vector<v1::FilterHistogram> all;
  for (const auto& [name, histogram] : by_name_) {
    reports::put(histogram.booking, histogram.earlier, all.emplace_back());
    for (const std::string& dcm : losers()) all.back().add_incomplete(dcm);
  }
  return all;
}

std::string HistogramBoard::recall(std::span<const v1::FilterHistogram> earlier) {
  for (const v1::FilterHistogram& one : earlier) {
    for (const std::string& dcm : one.incomplete()) losses_[dcm].earlier = true;
    const auto histogram = of("the journal", one);
    if (!histogram) return histogram.error();
    WEIR_ASSERT((*histogram)->earlier.size() == static_cast<std::size_t>(one.cells_size()));
    for (std::size_t i = 0; i < (*histogram)->earlier.size(); ++i)
      (*histogram)->earlier[i] += one.cells(static_cast<int>(i));
  }
  return {};
}

void HistogramBoard::lost(const std::string& dcm, Incarnation process) {
  Loss& loss = losses_[dcm];
  loss.earlier = loss.earlier || (loss.is_lost && loss.last != process);
  loss.last = process;
  loss.is_lost = true;
  for (auto& [name, histogram] : by_name_) histogram.changed = true;
}

void HistogramBoard::returned(const std::string& dcm, Incarnation process) {
  const auto found = losses_.find(dcm);
  if (found == losses_.end() || found->second.last != process) return;
  found->second.is_lost = false;
  for (auto& [name, histogram] : by_name_) histogram.changed = true;
}

std::vector<std::string> HistogramBoard::losers() const {
  std::vector<std::string> names;
  for (const auto& [dcm, loss] : losses_) {
    if (loss.is_lost || loss.earlier) names.push_back(dcm);
  }
  return names;
}

void HistogramBoard::add_totals(const std::string& dcm, Incarnation process, v1::Report& report) const {
  report.clear_filter_histograms();
  for (const auto& [name, histogram] : by_name_) {
    const auto found = histogram.last.find(dcm);
    if (found == histogram.last.end() || found->second.process != process) continue;
    reports::put(histogram.booking, found->second.cells, *report.add_filter_histograms());
  }
}

void HistogramBoard::put(const Histogram& histogram, v1::FilterHistogram& out) const {
  Cells sum = histogram.earlier;
  for (const auto& [dcm, totals] : histogram.last) {
    WEIR_ASSERT(totals.cells.size() == sum.size());
    for (std::size_t i = 0; i < totals.cells.size(); ++i) sum[i] += totals.cells[i];
  }
  reports::put(histogram.booking, sum, out);
  for (const std::string& dcm : losers()) out.add_incomplete(dcm);
}

void HistogramBoard::add_changed(v1::Report& report) {
  if (by_name_.empty()) return;
  auto start = by_name_.lower_bound(next_);
  if (start == by_name_.end()) start = by_name_.begin();
  std::size_t bytes = 0;
  auto one = start;
  for (std::size_t step = 0; step < by_name_.size(); ++step, ++one) {
    if (one == by_name_.end()) one = by_name_.begin();
    Histogram& histogram = one->second;
    // One unchanged histogram per report, for a run control that has started since.
    if (!histogram.changed && step > 0) continue;
    const std::size_t size = histogram.earlier.size() * sizeof(double);
    next_ = one->first;
    if (bytes > 0 && bytes + size > reports::kHistogramBytesPerReport) return;
    put(histogram, *report.add_filter_histograms());
    histogram.changed = false;
    bytes += size;
  }
  const auto following = std::next(start);
  next_ = following == by_name_.end() ? std::string() : following->first;
}

void HistogramBoard::add_all(v1::RunSummary& summary) const {
  for (const auto& [name, histogram] : by_name_) put(histogram, *summary.add_histograms());
}

std::string HistogramBoard::incomplete() const {
  std::string names;
  if (by_name_.empty()) return names;
  for (const std::string& dcm : losers()) names += (names.empty() ? "" : ", ") + dcm;
  return names;
}

}  // namespace weir::supervisor
