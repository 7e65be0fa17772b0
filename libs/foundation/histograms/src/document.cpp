#include <weir/histograms/document.hpp>

#include <charconv>

namespace weir::histograms {
namespace {

std::string number(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string axis_json(const BinnedAxis& axis) {
  return "{\"bins\": " + std::to_string(axis.bins) + ", \"low\": " + number(axis.low) +
         ", \"high\": " + number(axis.high) + "}";
}

std::string list_json(std::span<const double> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + number(values[i]);
  return text + "]";
}

std::string edges_csv(const BinnedAxis& axis, std::uint32_t cell) {
  const std::string low = cell == 0 ? "-inf" : number(axis.edge(cell - 1));
  return low + "," + (cell > axis.bins ? "inf" : number(axis.edge(cell))) + ",";
}

}  // namespace

std::string_view name(Kind kind) {
  constexpr std::string_view kNames[] = {"", "1d", "2d", "profile"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Names have no character that JSON escapes: fault_of() refuses them.
std::string to_json(const View& view, std::span<const double> cells) {
  const Booking& booking = view.booking();
  std::string text = "{\"name\": \"" + booking.name + "\", \"kind\": \"" + std::string(name(booking.kind)) +
                     "\", \"x\": " + axis_json(booking.x);
  if (booking.has_y()) text += ", \"y\": " + axis_json(booking.y);
  text += ", \"entries\": " + number(view.entries()) + ", \"unusable\": " + number(view.unusable()) +
          ", \"sum_x\": " + number(cells[kSumX]) + ", \"sum_x2\": " + number(cells[kSumX2]);
  constexpr const char* kPlanes[] = {"contents", "sum_y", "sum_y2"};
  for (std::size_t i = 0; i < booking.planes(); ++i)
    text += std::string(", \"") + kPlanes[i] +
            "\": " + list_json(cells.subspan(kHeadCells + i * booking.plane(), booking.plane()));
  return text + "}";
}

std::string to_csv(const View& view) {
  const Booking& booking = view.booking();
  const bool profile = booking.kind == Kind::profile;
  std::string text = std::string("histogram,x_low,x_high,") + (booking.has_y() ? "y_low,y_high," : "") +
                     "content" + (profile ? ",mean_y,sigma_y" : "") + "\n";
  const std::uint32_t rows = booking.has_y() ? booking.y.bins + 2 : 1;
  for (std::uint32_t y = 0; y < rows; ++y) {
    for (std::uint32_t x = 0; x < booking.x.bins + 2; ++x) {
      text += "\"" + booking.name + "\"," + edges_csv(booking.x, x);
      if (booking.has_y()) text += edges_csv(booking.y, y);
      text += number(view.content(x, y));
      if (profile) text += "," + number(view.mean_y(x)) + "," + number(view.sigma_y(x));
      text += "\n";
    }
  }
  return text;
}

}  // namespace weir::histograms
