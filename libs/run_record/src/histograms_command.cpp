#include <weir/histograms/document.hpp>
#include <weir/histograms/drawing.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/run_record/histograms_command.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

namespace weir::run_record {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::string_view kSuffix = "-histograms.json";

struct Recorded {
  histograms::Booking booking;
  std::vector<double> cells;
};

struct Record {
  std::vector<Recorded> all;
  std::vector<std::string> incomplete;
};

histograms::BinnedAxis axis_of(const json::value& from) {
  return {from.at("bins").to_number<std::uint32_t>(), from.at("low").to_number<double>(),
          from.at("high").to_number<double>()};
}

// Throws on a document that is not one of a run's histograms.
Recorded recorded_of(const json::value& from) {
  using histograms::Kind;
  Recorded one;
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

Record record_of(const std::string& text) {
  const json::value document = json::parse(text);
  Record record;
  for (const json::value& one : document.at("histograms").as_array()) record.all.push_back(recorded_of(one));
  for (const json::value& one : document.at("incomplete").as_array())
    record.incomplete.emplace_back(one.as_string().c_str());
  return record;
}

void write(const Record& record, const HistogramsCommand& command, std::ostream& out) {
  bool first = true;
  for (const Recorded& one : record.all) {
    if (!command.name.empty() && one.booking.name != command.name) continue;
    const histograms::View view(one.booking, one.cells);
    if (command.json) {
      out << histograms::to_json(view, one.cells) << "\n";
    } else {
      out << (first ? "" : "\n") << (command.csv ? histograms::to_csv(view) : histograms::draw(view));
    }
    first = false;
  }
  if (command.json || command.csv) return;
  for (const std::string& dcm : record.incomplete)
    out << "\nincomplete: " << dcm << " was lost with its entries since its last report\n";
}

// run-000005 of run-000005-writer-0-00001.weir.
std::string stem_of(const std::string& file) {
  constexpr std::size_t kDigits = 10;  // after "run-"
  std::size_t end = 4;
  while (end < file.size() && end < 4 + kDigits && file[end] >= '0' && file[end] <= '9') ++end;
  return file.starts_with("run-") ? file.substr(0, end) : std::string();
}

}  // namespace

std::optional<std::string> find_histograms(const std::string& run) {
  std::error_code none;
  if (run.ends_with(kSuffix)) return run;
  if (!fs::is_directory(run, none)) {
    const fs::path path(run);
    const std::string stem = stem_of(path.filename().string());
    const fs::path beside = path.parent_path() / (stem + std::string(kSuffix));
    return !stem.empty() && fs::exists(beside, none) ? std::optional(beside.string()) : std::nullopt;
  }
  std::string last;
  for (const auto& entry : fs::directory_iterator(run, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kSuffix)) last = std::max(last, name);
  }
  return last.empty() ? std::nullopt : std::optional((fs::path(run) / last).string());
}

int run_histograms_command(const HistogramsCommand& command, std::ostream& out, std::ostream& err) {
  constexpr int kUnable = 2;
  const auto path = find_histograms(command.run);
  if (!path) {
    err << "weir file histograms: '" << command.run
        << "' has no run-…-histograms.json: its filter booked no histograms, or no run has ended there\n";
    return kUnable;
  }
  std::ifstream file(*path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    err << "weir file histograms: cannot read '" << *path << "'\n";
    return kUnable;
  }
  try {
    const Record record = record_of(text);
    const auto wanted = [&](const Recorded& one) {
      return command.name.empty() || one.booking.name == command.name;
    };
    if (std::none_of(record.all.begin(), record.all.end(), wanted)) {
      err << "weir file histograms: no histogram '" << command.name << "' in '" << *path << "'; it has";
      for (const Recorded& one : record.all) err << " '" << one.booking.name << "'";
      err << "\n";
      return 1;
    }
    write(record, command, out);
    return 0;
  } catch (const std::exception& error) {
    err << "weir file histograms: '" << *path << "' is damaged: " << error.what() << "\n";
    return kUnable;
  }
}

}  // namespace weir::run_record
