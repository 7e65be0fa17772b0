#include <weir/line_figures/network_section.hpp>

#include <fmt/format.h>

#include <cmath>

namespace weir::line_figures {

std::string rate_text(double bits_per_s) {
  struct Unit {
    double bits;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e12, "tbit"}, {1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}};
  for (const Unit& unit : kUnits) {
    if (bits_per_s < unit.bits) continue;
    const double number = bits_per_s / unit.bits;
    const int digits = number >= 100 ? 1 : number >= 10 ? 2 : 3;
    std::string text = fmt::format("{:.{}f}", number, digits);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text + unit.name;
  }
  return fmt::format("{:.0f}bit", std::max(1.0, bits_per_s));
}

std::string buffer_text(double bytes) {
  constexpr double kKilo = 1024;
  constexpr double kWholeSteps = 20 * kKilo;
  if (bytes >= kWholeSteps) return fmt::format("{:.0f}k", bytes / kKilo);
  return fmt::format("{:.0f}", std::max(1.0, bytes));
}

namespace {

// The report's kB are of 1000 bytes, a farm file's k are of 1024.
std::string kilo_comment(double bytes) {
  const std::string text = buffer_text(bytes);
  return text.ends_with('k') ? fmt::format("   # {:.0f} bytes: a k is 1024", bytes) : "";
}

}  // namespace

std::string network_yaml(const LineFigures& figures) {
  std::string text = "network:\n";
  const bool comment_rate = figures.rate_is_lower_bound;
  if (figures.rate_bits_per_s > 0)
    text += fmt::format("  {}port_rate: {}{}\n", comment_rate ? "# " : "", rate_text(figures.rate_bits_per_s),
                        comment_rate ? "   at least: the sender's CPU was the limit" : "");
  if (figures.buffer_bytes)
    text += fmt::format("  {}port_buffer: {}{}\n", figures.buffer_of_sender ? "# " : "",
                        buffer_text(*figures.buffer_bytes),
                        figures.buffer_of_sender ? "   the sender's own output queue, not a switch's"
                                                 : kilo_comment(*figures.buffer_bytes));
  if (figures.round_trip_us > 0)
    text += fmt::format("  round_trip_us: {:.0f}\n", std::max(1.0, std::round(figures.round_trip_us)));
  return text;
}

}  // namespace weir::line_figures
