#pragma once

#include <weir/histograms/layout.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::histograms {

// The contents of all histograms of a layout, as sums of additions.
class Contents {
 public:
  Contents() = default;
  explicit Contents(Layout layout) { set_layout(std::move(layout)); }

  // Requires: `layout` begins with the bookings of the previous one.
  void set_layout(Layout layout);
  [[nodiscard]] const Layout& layout() const { return layout_; }
  // Requires: each cell is below layout().cells().
  void add(std::span<const Addition> additions);
  // Adds all contents of another one with the same layout.
  void add(const Contents& other);

  [[nodiscard]] View view(std::uint32_t index) const { return {layout_.all()[index].booking, cells(index)}; }
  [[nodiscard]] std::span<const double> cells(std::uint32_t index) const {
    const Booked& booked = layout_.all()[index];
    return std::span(cells_).subspan(booked.first, booked.cells);
  }

  // True of a histogram that was filled, or booked, since its flag was cleared.
  [[nodiscard]] bool changed(std::uint32_t index) const { return changed_[index]; }
  void clear_changed(std::uint32_t index) { changed_[index] = false; }
  void set_all_changed() { changed_.assign(changed_.size(), true); }

 private:
  Layout layout_;
  std::vector<double> cells_;
  std::vector<bool> changed_;  // by histogram
};

}  // namespace weir::histograms
