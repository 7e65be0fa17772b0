#include <weir/file_reader/recorded_histograms.hpp>
#include <weir/histograms/document.hpp>
#include <weir/histograms/drawing.hpp>
#include <weir/run_record/histograms_command.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

namespace weir::run_record {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = "-histograms.json";

void write(const files::RecordedHistograms& record, const HistogramsCommand& command, std::ostream& out) {
  bool first = true;
  for (const files::RecordedHistogram& one : record.all) {
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
  for (const std::string& node : record.incomplete)
    out << "\nincomplete: "
        << (node == "supervisor"
                ? "the supervisor was restarted: entries of slices that it had just settled are lost"
                : node + " was lost with its entries since its last report")
        << "\n";
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
        << "' has no run-…-histograms.json: the filter booked no histograms, or no run has ended yet\n";
    return kUnable;
  }
  std::ifstream file(*path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    err << "weir file histograms: cannot read '" << *path << "'\n";
    return kUnable;
  }
  try {
    const files::RecordedHistograms record = files::parse_recorded_histograms(text);
    const auto wanted = [&](const files::RecordedHistogram& one) {
      return command.name.empty() || one.booking.name == command.name;
    };
    if (std::none_of(record.all.begin(), record.all.end(), wanted)) {
      err << "weir file histograms: no histogram '" << command.name << "' in '" << *path << "'; it has";
      for (const files::RecordedHistogram& one : record.all) err << " '" << one.booking.name << "'";
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
