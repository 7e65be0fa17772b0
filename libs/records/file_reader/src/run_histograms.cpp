#include "run_histograms.hpp"

#include <weir/base/assert.hpp>
#include <weir/file_reader/recorded_histograms.hpp>

namespace weir::files {
namespace {

Axis axis_of(const histograms::BinnedAxis& axis) { return {axis.bins, axis.low, axis.high}; }

Histogram histogram_of(const RecordedHistogram& recorded) {
  const histograms::Booking& booking = recorded.booking;
  WEIR_ASSERT(recorded.cells.size() == histograms::cells_of(booking));
  const histograms::View view(booking, recorded.cells);
  Histogram out;
  out.name = booking.name;
  out.kind = static_cast<Histogram::Kind>(booking.kind);
  out.x = axis_of(booking.x);
  out.y = axis_of(booking.y);
  out.entries = view.entries();
  out.unusable = view.unusable();
  out.mean_x = view.mean_x();
  out.sigma_x = view.sigma_x();
  const auto contents = recorded.cells.begin() + histograms::kHeadCells;
  out.contents.assign(contents, contents + static_cast<std::ptrdiff_t>(booking.plane()));
  if (booking.kind != histograms::Kind::profile) return out;
  for (std::uint32_t cell = 0; cell < booking.x.bins + 2; ++cell) {
    out.mean_y.push_back(view.mean_y(cell));
    out.sigma_y.push_back(view.sigma_y(cell));
  }
  return out;
}

}  // namespace

std::vector<Histogram> parse_histograms(const std::string& text, const std::string& path) {
  std::vector<Histogram> out;
  try {
    for (const RecordedHistogram& one : parse_recorded_histograms(text).all) out.push_back(histogram_of(one));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::damaged, path + " is damaged: " + error.what());
  }
  return out;
}

}  // namespace weir::files
