#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir::histograms {

constexpr std::size_t kHistogramsMax = 64;  // of one filter
constexpr std::size_t kCellsMax = 65'536;   // doubles, of all histograms of one filter
constexpr std::size_t kNameBytesMax = 60;

enum class Kind : std::uint8_t { one_dimension = 1, two_dimensions = 2, profile = 3 };

// Bins of equal width over [low, high).
struct BinnedAxis {
  std::uint32_t bins = 0;
  double low = 0;
  double high = 0;
  bool operator==(const BinnedAxis&) const = default;

  [[nodiscard]] double edge(std::uint32_t bin) const {
    return low + (high - low) * static_cast<double>(bin) / static_cast<double>(bins);
  }
  // Returns 0 for underflow, bins + 1 for overflow. Requires: value is a number.
  [[nodiscard]] std::uint32_t cell_of(double value) const;
};

struct Booking {
  std::string name;
  Kind kind = Kind::one_dimension;
  BinnedAxis x;
  BinnedAxis y = {};  // of Kind::two_dimensions only
  bool operator==(const Booking&) const = default;

  [[nodiscard]] bool has_y() const { return kind == Kind::two_dimensions; }
  // Returns the number of cells of one plane, under- and overflow included.
  [[nodiscard]] std::size_t plane() const {
    return (std::size_t{x.bins} + 2) * (has_y() ? std::size_t{y.bins} + 2 : 1);
  }
  [[nodiscard]] std::size_t planes() const { return kind == Kind::profile ? 3 : 1; }
};

// Returns the binning in words: "100 bins from 0 to 50".
[[nodiscard]] std::string binning_text(const Booking& booking);
// Returns the fault of a booking as a sentence; empty: it is good.
[[nodiscard]] std::string fault_of(const Booking& booking);
// Returns a sentence that names two different binnings under one name.
[[nodiscard]] std::string conflict_text(const Booking& first, const Booking& second);

}  // namespace weir::histograms
