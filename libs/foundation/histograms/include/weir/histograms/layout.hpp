#pragma once

#include <weir/base/expected.hpp>
#include <weir/histograms/booking.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::histograms {

// An amount for one cell of a Layout.
struct Addition {
  std::uint32_t cell = 0;
  std::uint32_t reserved = 0;
  double amount = 0;
};

// Cells of a histogram before its first plane.
enum Head : std::uint32_t { kEntries = 0, kUnusable = 1, kSumX = 2, kSumX2 = 3, kHeadCells = 4 };

struct Booked {
  Booking booking;
  std::uint32_t first = 0;  // cell
  std::uint32_t cells = 0;
};

// The histograms of one filter: their bookings, and the place of their cells in one array. Places never
// change.
class Layout {
 public:
  // Returns the histogram's index; a repeated booking gets the same one. Errors: a sentence, for a broken
  // limit or another binning under the same name.
  [[nodiscard]] Expected<std::uint32_t, std::string> book(const Booking& booking);

  [[nodiscard]] const std::vector<Booked>& all() const { return all_; }
  [[nodiscard]] const Booked* find(const std::string& name) const;
  // Returns the histogram that has this cell. Requires: cell < cells().
  [[nodiscard]] std::uint32_t owner_of(std::uint32_t cell) const;
  [[nodiscard]] std::uint32_t cells() const { return cells_; }
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  std::vector<Booked> all_;
  std::uint32_t cells_ = 0;
};

// Limits of one fill's amounts, and of their sum over a step: no sum over the slices of a run overflows.
constexpr double kFillMax = 1e280;
constexpr double kStepSumMax = 1e300;

// The additions of one step of one slice. At most one per cell, so their number is bounded by the layout.
class Fills {
 public:
  // Adds one entry. Unusable: a value or weight that is not a number, a weight beyond kFillMax, and in a
  // profile a weighted square of y beyond it. Infinite values are under- or overflow. `y` is ignored by 1-D
  // histograms.
  void fill(const Booked& histogram, double x, double y, double weight);
  [[nodiscard]] bool empty() const { return additions_.empty(); }
  // Moves the additions to `out` and starts anew.
  void take(std::vector<Addition>& out);
  void clear();

 private:
  void add(std::uint32_t cell, double amount);

  std::vector<Addition> additions_;
  std::vector<std::uint32_t> place_;  // by cell: 1 + its index in additions_; 0: none
};

// A histogram's cells, read only. Requires: cells.size() is that of the booking.
class View {
 public:
  View(const Booking& booking, std::span<const double> cells) : booking_(booking), cells_(cells) {}

  [[nodiscard]] const Booking& booking() const { return booking_; }
  [[nodiscard]] double entries() const { return cells_[kEntries]; }
  [[nodiscard]] double unusable() const { return cells_[kUnusable]; }
  // Returns the sum of weights in a cell of the first plane; x and y count from the underflow.
  [[nodiscard]] double content(std::uint32_t x, std::uint32_t y = 0) const { return plane(0, x, y); }
  // Returns the sum over all cells of the first plane.
  [[nodiscard]] double total() const;
  // Returns the mean of x over all usable entries, or of y in a bin of a profile; 0 if there are none.
  [[nodiscard]] double mean_x() const;
  [[nodiscard]] double sigma_x() const;
  [[nodiscard]] double mean_y(std::uint32_t x) const;
  // Returns the standard deviation of y in a bin of a profile.
  [[nodiscard]] double sigma_y(std::uint32_t x) const;

 private:
  [[nodiscard]] double plane(std::size_t number, std::uint32_t x, std::uint32_t y) const {
    return cells_[kHeadCells + number * booking_.plane() + std::size_t{y} * (booking_.x.bins + 2) + x];
  }

  const Booking& booking_;
  std::span<const double> cells_;
};

// Returns the number of cells of a histogram, those of its head included.
[[nodiscard]] inline std::size_t cells_of(const Booking& booking) {
  return kHeadCells + booking.planes() * booking.plane();
}

}  // namespace weir::histograms
