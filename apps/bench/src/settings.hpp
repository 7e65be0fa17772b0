#pragma once

#include <weir/bench/figures.hpp>

#include <span>
#include <string>
#include <vector>

namespace weir::bench {

inline constexpr const char* kQuotaLabel = "quota of each DCM, fragments";
inline constexpr const char* kWindowLabel = "window of each DCM, kB";
inline constexpr const char* kLoadLabel = "offered, % of theory";

// A setting of a point, in words and, where points can be in order of it, as a number; 0: it has none.
struct Setting {
  std::string (*text)(const NetworkPoint&);  // empty: not of this point
  const char* label = "";
  double (*value)(const NetworkPoint&) = nullptr;
};

// In the order in which they are looked at for an axis.
[[nodiscard]] std::span<const Setting> settings();
[[nodiscard]] bool differs(const Setting& setting, const std::vector<NetworkResult>& results);

}  // namespace weir::bench
