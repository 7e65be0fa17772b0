#pragma once

#include <vector>

namespace weir::run_record {

// Returns the largest sum of numbers x >= 0 for which every row's scalar product with x is at most its limit;
// infinity if no row bounds it. Requires: coefficients >= 0, limits > 0, rows of equal length. Simplex method
// with Bland's rule; the tableau has rows x (rows + columns) numbers.
[[nodiscard]] double largest_sum(const std::vector<std::vector<double>>& rows,
                                 const std::vector<double>& limits);

}  // namespace weir::run_record
