#include <weir/histograms/drawing.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace weir::histograms {
namespace {

template <class... Values>
std::string print(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string bar(double value, double highest, std::size_t width) {
  if (!(highest > 0) || !(value > 0)) return {};
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<std::size_t>(std::lround(value / highest * static_cast<double>(width) * 8));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

// Bins from..until-1 of an axis on one line.
struct Group {
  std::uint32_t from = 0;
  std::uint32_t until = 0;
};

std::vector<Group> groups_of(std::uint32_t bins, std::size_t most) {
  const auto share = static_cast<std::uint32_t>((bins + most - 1) / most);
  std::vector<Group> groups;
  for (std::uint32_t from = 0; from < bins; from += share)
    groups.push_back({from, std::min(bins, from + share)});
  return groups;
}

double value_of(const View& view, const Group& group) {
  const bool profile = view.booking().kind == Kind::profile;
  double sum = 0;
  double weight = 0;
  for (std::uint32_t bin = group.from; bin < group.until; ++bin) {
    const double content = view.content(bin + 1);
    sum += profile ? view.mean_y(bin + 1) * content : content;
    weight += content;
  }
  if (!profile) return sum;
  return weight == 0 ? 0 : sum / weight;
}

std::string bars(const View& view, const DrawingSize& size) {
  const BinnedAxis& axis = view.booking().x;
  const std::vector<Group> groups = groups_of(axis.bins, size.rows);
  double highest = 0;
  for (const Group& group : groups) highest = std::max(highest, value_of(view, group));
  std::string text;
  for (const Group& group : groups) {
    const double value = value_of(view, group);
    text += print("  %12.6g │", axis.edge(group.from)) + bar(value, highest, size.width) +
            print(" %.6g\n", value);
  }
  return text;
}

std::string shades(const View& view, const DrawingSize& size) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  const Booking& booking = view.booking();
  const std::vector<Group> columns = groups_of(booking.x.bins, size.width);
  const std::vector<Group> rows = groups_of(booking.y.bins, size.rows);
  std::vector<double> sums(columns.size() * rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      double& sum = sums[row * columns.size() + column];
      for (std::uint32_t y = rows[row].from; y < rows[row].until; ++y)
        for (std::uint32_t x = columns[column].from; x < columns[column].until; ++x)
          sum += view.content(x + 1, y + 1);
    }
  }
  const double highest = *std::max_element(sums.begin(), sums.end());
  std::string text;
  for (std::size_t row = rows.size(); row-- > 0;) {
    text += print("  %12.6g │", booking.y.edge(rows[row].from));
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const double sum = sums[row * columns.size() + column];
      const bool some = sum > 0 && highest > 0;
      text += kShades[some ? std::min<std::size_t>(4, 1 + static_cast<std::size_t>(sum / highest * 4)) : 0];
    }
    text += "│\n";
  }
  return text +
         print("  x from %.6g to %.6g, the darkest shade is %.6g\n", booking.x.low, booking.x.high, highest);
}

}  // namespace

std::string headline(const View& view) {
  const Booking& booking = view.booking();
  std::string text = booking.name + ": " + print("%.15g", view.entries()) + " entries, " +
                     print("mean %.6g, sigma %.6g", view.mean_x(), view.sigma_x());
  if (!booking.has_y()) {
    const double under = view.content(0);
    const double over = view.content(booking.x.bins + 1);
    if (under != 0) text += print(", underflow %.15g", under);
    if (over != 0) text += print(", overflow %.15g", over);
  }
  if (view.unusable() > 0) text += print(", not a number %.15g", view.unusable());
  return text + "; " + binning_text(booking) + "\n";
}

std::string draw(const View& view, const DrawingSize& size) {
  const DrawingSize at_least{std::max<std::size_t>(size.width, 1), std::max<std::size_t>(size.rows, 1)};
  return headline(view) + (view.booking().has_y() ? shades(view, at_least) : bars(view, at_least));
}

}  // namespace weir::histograms
