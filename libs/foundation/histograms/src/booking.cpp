#include <weir/histograms/booking.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weir::histograms {
namespace {

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

std::string axis_text(const BinnedAxis& axis) {
  return std::to_string(axis.bins) + (axis.bins == 1 ? " bin" : " bins") + " from " + number_text(axis.low) +
         " to " + number_text(axis.high);
}

std::string axis_fault(const BinnedAxis& axis, const char* which) {
  if (axis.bins == 0 || axis.bins > kCellsMax)
    return std::string("its ") + which + " axis has " + std::to_string(axis.bins) + " bins; use 1 to " +
           std::to_string(kCellsMax) + " in all";
  if (!std::isfinite(axis.low) || !std::isfinite(axis.high) || !(axis.low < axis.high) ||
      !std::isfinite(axis.high - axis.low))
    return std::string("its ") + which + " axis goes from " + number_text(axis.low) + " to " +
           number_text(axis.high) + "; low must be below high";
  return {};
}

// Printable ASCII without quotes: names go into file names, JSON and terminals.
bool is_name(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

std::uint32_t BinnedAxis::cell_of(double value) const {
  if (value < low) return 0;
  if (value >= high) return bins + 1;
  const double place = (value - low) / (high - low) * static_cast<double>(bins);
  const std::uint32_t bin = std::min(static_cast<std::uint32_t>(place), bins - 1);
  // `place` is rounded: a value at an edge must be in the bin that begins there.
  if (value < edge(bin)) return bin;
  return bin + 1 < bins && value >= edge(bin + 1) ? bin + 2 : bin + 1;
}

std::string binning_text(const Booking& booking) {
  if (booking.has_y()) return axis_text(booking.x) + " by " + axis_text(booking.y);
  return (booking.kind == Kind::profile ? "a profile of " : "") + axis_text(booking.x);
}

std::string fault_of(const Booking& booking) {
  const std::string histogram = "histogram '" + booking.name + "': ";
  if (booking.name.empty()) return "a histogram needs a name";
  if (booking.name.size() > kNameBytesMax)
    return "histogram '" + booking.name.substr(0, kNameBytesMax) + "…': its name has " +
           std::to_string(booking.name.size()) + " bytes; at most " + std::to_string(kNameBytesMax) +
           " are allowed";
  if (!is_name(booking.name))
    return "a histogram's name may have printable ASCII characters only, without quotes and backslashes";
  if (const std::string fault = axis_fault(booking.x, "x"); !fault.empty()) return histogram + fault;
  if (!booking.has_y()) return {};
  const std::string fault = axis_fault(booking.y, "y");
  return fault.empty() ? fault : histogram + fault;
}

std::string conflict_text(const Booking& first, const Booking& second) {
  return "histogram '" + first.name + "' is booked with different binnings: " + binning_text(first) +
         ", and " + binning_text(second) + "; use one binning or two names";
}

}  // namespace weir::histograms
