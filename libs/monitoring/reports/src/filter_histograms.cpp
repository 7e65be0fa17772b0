#include <weir/base/assert.hpp>
#include <weir/histograms/document.hpp>
#include <weir/reports/filter_histograms.hpp>

#include <set>

namespace weir::reports {
namespace {

void put_axis(const histograms::BinnedAxis& from, v1::FilterHistogram::Axis& to) {
  to.set_bins(from.bins);
  to.set_low(from.low);
  to.set_high(from.high);
}

histograms::BinnedAxis axis_of(const v1::FilterHistogram::Axis& from) {
  return {from.bins(), from.low(), from.high()};
}

// Node names are checked when the farm file is read, but this one came in a message.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c < ' ' || c > '~') continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void put(const histograms::Booking& booking, std::span<const double> cells, v1::FilterHistogram& out) {
  WEIR_ASSERT(cells.size() == histograms::cells_of(booking));  // otherwise every reader refuses it
  out.set_name(booking.name);
  out.set_kind(static_cast<std::uint32_t>(booking.kind));
  put_axis(booking.x, *out.mutable_x());
  if (booking.has_y()) put_axis(booking.y, *out.mutable_y());
  out.mutable_cells()->Assign(cells.begin(), cells.end());
}

Expected<histograms::Booking, std::string> booking_of(const v1::FilterHistogram& from) {
  const auto last = static_cast<std::uint32_t>(histograms::Kind::profile);
  if (from.kind() < 1 || from.kind() > last)
    return Unexpected<std::string>("a histogram of unknown kind " + std::to_string(from.kind()));
  histograms::Booking booking{from.name(), static_cast<histograms::Kind>(from.kind()), axis_of(from.x()), {}};
  if (booking.has_y()) booking.y = axis_of(from.y());
  if (std::string fault = histograms::fault_of(booking); !fault.empty())
    return Unexpected<std::string>(std::move(fault));
  if (static_cast<std::size_t>(from.cells_size()) != histograms::cells_of(booking))
    return Unexpected<std::string>("histogram '" + booking.name + "' has " +
                                   std::to_string(from.cells_size()) + " cells instead of " +
                                   std::to_string(histograms::cells_of(booking)));
  return booking;
}

void HistogramReporter::add_to(v1::Report& report, histograms::Contents& contents, bool all) {
  const auto count = static_cast<std::uint32_t>(contents.layout().all().size());
  std::size_t bytes = 0;
  for (std::uint32_t step = 0; step < count; ++step) {
    const std::uint32_t index = next_ % count;
    const std::size_t size = contents.cells(index).size() * sizeof(double);
    if (!all && bytes > 0 && bytes + size > kHistogramBytesPerReport) return;
    ++next_;
    if (!all && !contents.changed(index)) continue;
    put(contents.layout().all()[index].booking, contents.cells(index), *report.add_filter_histograms());
    contents.clear_changed(index);
    bytes += size;
  }
}

void RunHistograms::take(std::uint32_t run, const FilterHistogramList& list) {
  if (run != run_) {
    by_name_.clear();
    ++version_;
  }
  run_ = run;
  for (const v1::FilterHistogram& one : list) {
    if (!booking_of(one) || (by_name_.size() >= kNamesMax && !by_name_.contains(one.name()))) continue;
    by_name_[one.name()] = one;
    ++version_;
  }
}

std::string RunHistograms::document() const {
  FilterHistogramList list;
  for (const auto& [name, one] : by_name_) *list.Add() = one;
  return histograms_document(run_, list);
}

std::string histograms_document(std::uint32_t run, const FilterHistogramList& list) {
  std::set<std::string> incomplete;
  std::string lines;
  for (const v1::FilterHistogram& one : list) {
    incomplete.insert(one.incomplete().begin(), one.incomplete().end());
    const auto booking = booking_of(one);
    if (!booking) continue;
    const std::span<const double> cells(one.cells().data(), static_cast<std::size_t>(one.cells_size()));
    lines += (lines.empty() ? "\n" : ",\n") + histograms::to_json({*booking, cells}, cells);
  }
  std::string names;
  for (const std::string& name : incomplete) names += (names.empty() ? "" : ", ") + quoted(name);
  return "{\"run\": " + std::to_string(run) + ", \"incomplete\": [" + names + "], \"histograms\": [" + lines +
         "]}\n";
}

}  // namespace weir::reports
