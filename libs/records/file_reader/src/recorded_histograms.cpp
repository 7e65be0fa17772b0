#include <weir/file_reader/recorded_histograms.hpp>
#include <weir/histograms/document.hpp>

#include <boost/json.hpp>

#include <stdexcept>
#include <string_view>

namespace weir::files {
namespace {

namespace json = boost::json;

histograms::BinnedAxis axis_of(const json::value& from) {
  return {from.at("bins").to_number<std::uint32_t>(), from.at("low").to_number<double>(),
          from.at("high").to_number<double>()};
}

RecordedHistogram recorded_of(const json::value& from) {
  using histograms::Kind;
  RecordedHistogram one;
  one.booking.name = from.at("name").as_string().c_str();
  const std::string_view kind = from.at("kind").as_string();
  for (const Kind known : {Kind::one_dimension, Kind::two_dimensions, Kind::profile}) {
    if (histograms::name(known) == kind) one.booking.kind = known;
  }
  one.booking.x = axis_of(from.at("x"));
  if (one.booking.has_y()) one.booking.y = axis_of(from.at("y"));
  for (const char* key : {"entries", "unusable", "sum_x", "sum_x2"})
    one.cells.push_back(from.at(key).to_number<double>());
  constexpr const char* kPlanes[] = {"contents", "sum_y", "sum_y2"};
  for (std::size_t i = 0; i < one.booking.planes(); ++i)
    for (const json::value& cell : from.at(kPlanes[i]).as_array())
      one.cells.push_back(cell.to_number<double>());
  const std::string fault = histograms::fault_of(one.booking);
  if (!fault.empty()) throw std::runtime_error(fault);
  if (one.cells.size() != histograms::cells_of(one.booking))
    throw std::runtime_error("histogram '" + one.booking.name +
                             "' has another number of cells than its axes");
  return one;
}

}  // namespace

RecordedHistograms parse_recorded_histograms(const std::string& text) {
  const json::value document = json::parse(text);
  RecordedHistograms record;
  for (const json::value& one : document.at("histograms").as_array()) record.all.push_back(recorded_of(one));
  for (const json::value& one : document.at("incomplete").as_array())
    record.incomplete.emplace_back(one.as_string().c_str());
  return record;
}

}  // namespace weir::files
