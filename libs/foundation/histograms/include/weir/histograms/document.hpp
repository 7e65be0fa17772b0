#pragma once

#include <weir/histograms/layout.hpp>

#include <span>
#include <string>
#include <string_view>

namespace weir::histograms {

[[nodiscard]] std::string_view name(Kind kind);  // "1d", "2d", "profile"

// Returns a histogram as a JSON object on one line: name, kind, axes, entries, unusable, sum_x, sum_x2,
// contents with under- and overflow (the x axis runs fastest), and sum_y and sum_y2 of a profile.
[[nodiscard]] std::string to_json(const View& view, std::span<const double> cells);
// Returns lines of CSV with a head: histogram, x_low, x_high, [y_low, y_high,] content; of a profile also
// mean_y, sigma_y. Under- and overflow have infinite edges.
[[nodiscard]] std::string to_csv(const View& view);

}  // namespace weir::histograms
