#include <weir/base/assert.hpp>
#include <weir/histograms/layout.hpp>

#include <algorithm>
#include <cmath>

namespace weir::histograms {

Expected<std::uint32_t, std::string> Layout::book(const Booking& booking) {
  if (std::string fault = fault_of(booking); !fault.empty()) return Unexpected<std::string>(std::move(fault));
  if (const Booked* found = find(booking.name)) {
    if (found->booking == booking) return static_cast<std::uint32_t>(found - all_.data());
    return Unexpected<std::string>(conflict_text(found->booking, booking));
  }
  const std::size_t cells = cells_of(booking);
  if (all_.size() == kHistogramsMax)
    return Unexpected<std::string>("histogram '" + booking.name + "' is one too many; a filter may book " +
                                   std::to_string(kHistogramsMax));
  if (cells > kCellsMax - cells_)
    return Unexpected<std::string>("histogram '" + booking.name + "' needs " + std::to_string(cells) +
                                   " cells, and " + std::to_string(kCellsMax - cells_) + " of " +
                                   std::to_string(kCellsMax) + " are left: book fewer bins");
  all_.push_back({booking, cells_, static_cast<std::uint32_t>(cells)});
  cells_ += static_cast<std::uint32_t>(cells);
  return static_cast<std::uint32_t>(all_.size() - 1);
}

const Booked* Layout::find(const std::string& name) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Booked& one) { return one.booking.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

std::uint32_t Layout::owner_of(std::uint32_t cell) const {
  WEIR_ASSERT(cell < cells_);
  const auto behind = std::upper_bound(all_.begin(), all_.end(), cell,
                                       [](std::uint32_t at, const Booked& one) { return at < one.first; });
  return static_cast<std::uint32_t>(behind - all_.begin() - 1);
}

void Fills::fill(const Booked& histogram, double x, double y, double weight) {
  const Booking& booking = histogram.booking;
  const bool uses_y = booking.kind != Kind::one_dimension;
  add(histogram.first + kEntries, 1);
  const auto is_too_large = [](double amount) { return !(std::abs(amount) <= kFillMax); };  // or no number
  // An infinite y has no mean; as a coordinate it is overflow.
  const bool y_bad =
      uses_y &&
      (booking.kind == Kind::profile ? is_too_large(y) || is_too_large(weight * y * y) : std::isnan(y));
  if (std::isnan(x) || y_bad || is_too_large(weight)) return add(histogram.first + kUnusable, 1);
  if (!is_too_large(x * x * weight) && !is_too_large(x * weight)) {
    add(histogram.first + kSumX, weight * x);
    add(histogram.first + kSumX2, weight * x * x);
  }
  std::size_t cell = booking.x.cell_of(x);
  if (booking.has_y()) cell += std::size_t{booking.y.cell_of(y)} * (booking.x.bins + 2);
  const auto first = static_cast<std::uint32_t>(histogram.first + kHeadCells + cell);
  add(first, weight);
  if (booking.kind != Kind::profile) return;
  const auto plane = static_cast<std::uint32_t>(booking.plane());
  add(first + plane, weight * y);
  add(first + 2 * plane, weight * y * y);
}

void Fills::add(std::uint32_t cell, double amount) {
  if (cell >= place_.size()) place_.resize(cell + std::size_t{1}, 0);
  std::uint32_t& place = place_[cell];
  if (place == 0) {
    additions_.push_back({cell, 0, 0});
    place = static_cast<std::uint32_t>(additions_.size());
  }
  additions_[place - 1].amount += amount;
}

void Fills::take(std::vector<Addition>& out) {
  for (const Addition& one : additions_) place_[one.cell] = 0;
  out.clear();
  std::swap(out, additions_);
}

void Fills::clear() {
  for (const Addition& one : additions_) place_[one.cell] = 0;
  additions_.clear();
}

double View::total() const {
  double sum = 0;
  for (std::size_t i = 0; i < booking_.plane(); ++i) sum += cells_[kHeadCells + i];
  return sum;
}

double View::mean_x() const {
  const double weight = total();
  return weight == 0 ? 0 : cells_[kSumX] / weight;
}

double View::sigma_x() const {
  const double weight = total();
  if (weight == 0) return 0;
  const double mean = cells_[kSumX] / weight;
  return std::sqrt(std::max(0.0, cells_[kSumX2] / weight - mean * mean));
}

double View::mean_y(std::uint32_t x) const {
  const double weight = plane(0, x, 0);
  return weight == 0 ? 0 : plane(1, x, 0) / weight;
}

double View::sigma_y(std::uint32_t x) const {
  const double weight = plane(0, x, 0);
  if (weight == 0) return 0;
  const double mean = plane(1, x, 0) / weight;
  return std::sqrt(std::max(0.0, plane(2, x, 0) / weight - mean * mean));
}

}  // namespace weir::histograms
