#include "packing.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace weir::run_record {
namespace {

constexpr double kTiny = 1e-12;  // relative to coefficients of about 1

class Tableau {
 public:
  Tableau(const std::vector<std::vector<double>>& rows, const std::vector<double>& limits, double scale)
      : columns_(rows.empty() ? 0 : rows.front().size()), gain_(columns_ + rows.size(), 0) {
    WEIR_ASSERT(rows.size() == limits.size() && scale > 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<double>& row = rows_.emplace_back(rows[i]);
      WEIR_ASSERT(row.size() == columns_);
      row.resize(columns_ + rows.size(), 0);
      row[columns_ + i] = 1;
      limits_.push_back(limits[i] / scale);
      basis_.push_back(columns_ + i);
    }
    std::fill_n(gain_.begin(), columns_, 1.0);
  }

  // False: the sum is unbounded.
  bool solve() {
    for (std::size_t enters = entering(); enters < gain_.size(); enters = entering()) {
      const std::size_t leaves = leaving(enters);
      if (leaves == rows_.size()) return false;
      pivot(leaves, enters);
    }
    return true;
  }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  [[nodiscard]] std::size_t entering() const {
    const auto found = std::find_if(gain_.begin(), gain_.end(), [](double gain) { return gain > kTiny; });
    return static_cast<std::size_t>(found - gain_.begin());
  }
  [[nodiscard]] std::size_t leaving(std::size_t enters) const {
    std::size_t best = rows_.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i][enters] <= kTiny) continue;
      if (best == rows_.size()) {
        best = i;
        continue;
      }
      const double here = limits_[i] / rows_[i][enters];
      const double least = limits_[best] / rows_[best][enters];
      if (here < least || (here == least && basis_[i] < basis_[best])) best = i;
    }
    return best;
  }
  void pivot(std::size_t leaves, std::size_t enters) {
    WEIR_ASSERT(leaves < rows_.size() && enters < gain_.size() && rows_[leaves][enters] > 0);
    const double by = rows_[leaves][enters];
    for (double& value : rows_[leaves]) value /= by;
    limits_[leaves] /= by;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == leaves || rows_[i][enters] == 0) continue;
      limits_[i] = std::max(0.0, limits_[i] - rows_[i][enters] * limits_[leaves]);
      subtract(rows_[i], rows_[i][enters], rows_[leaves]);
    }
    sum_ += gain_[enters] * limits_[leaves];
    subtract(gain_, gain_[enters], rows_[leaves]);
    basis_[leaves] = enters;
  }
  static void subtract(std::vector<double>& from, double times, const std::vector<double>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) from[i] -= times * row[i];
  }

  std::size_t columns_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> limits_;
  std::vector<std::size_t> basis_;  // by row
  std::vector<double> gain_;        // of each column
  double sum_ = 0;
};

}  // namespace

double largest_sum(const std::vector<std::vector<double>>& rows, const std::vector<double>& limits) {
  if (rows.empty()) return std::numeric_limits<double>::infinity();
  const double scale = *std::max_element(limits.begin(), limits.end());
  Tableau tableau(rows, limits, scale);
  return tableau.solve() ? tableau.sum() * scale : std::numeric_limits<double>::infinity();
}

}  // namespace weir::run_record
