#pragma once

#include <weir/histograms/layout.hpp>

#include <cstddef>
#include <string>

namespace weir::histograms {

struct DrawingSize {
  std::size_t width = 60;  // columns for the bars, or bins of a 2-D histogram
  std::size_t rows = 20;   // lines at most; neighbouring bins share a line
};

// Returns one line: name, entries, mean and sigma, under- and overflow.
[[nodiscard]] std::string headline(const View& view);
// Returns the headline and a drawing: a bar per line for 1-D and profiles, shades for 2-D.
[[nodiscard]] std::string draw(const View& view, const DrawingSize& size = {});

}  // namespace weir::histograms
