#include "disks.hpp"

#include "burst_disks.hpp"
#include <weir/base/figures.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/paths.hpp>
#include <weir/v1/bus.pb.h>

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr const char* kControlOut = "control.out";

// Keeps protobuf from printing its own complaint.
class NoErrors final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

std::string control_out(const LoadedFarm& loaded) {
  const std::string& out = loaded.farm.control().out();
  return out.empty() ? loaded.farm.run().out() : out;
}

// Known places, with the key that is in the farm file.
std::vector<control::FolderPlace> places_of(const LoadedFarm& loaded) {
  const auto& farm = loaded.farm;
  std::vector<std::pair<std::string, std::string>> folders{{"run.out", farm.run().out()}};
  if (!farm.control().out().empty()) folders.emplace_back(kControlOut, farm.control().out());
  if (farm.burst().disk_bytes() > 0) folders.emplace_back("burst.folder", farm.burst().folder());
  std::vector<control::FolderPlace> places;
  for (const auto& [key, folder] : folders) {
    const auto path = node::resolved_folder(folder);
    if (!path) continue;
    if (auto place = node::place_of(key, *path)) places.push_back(std::move(*place));
  }
  return places;
}

v1::ControlMemory memory_of(const LoadedFarm& loaded) {
  std::ostringstream text;
  text << std::ifstream(control_out(loaded) + "/run-control.state").rdbuf();
  NoErrors errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.AllowUnknownField(true);
  v1::ControlMemory memory;
  if (!parser.ParseFromString(text.str(), &memory)) memory.Clear();
  return memory;
}

std::string free_text(const std::string& folder) {
  std::error_code failed;
  std::filesystem::path there = folder;
  while (there.has_relative_path() && !std::filesystem::exists(there, failed)) there = there.parent_path();
  const auto space = std::filesystem::space(there, failed);
  return failed ? "" : fmt::format(", {} free", bytes_text(static_cast<double>(space.available)));
}

}  // namespace

config::Problems disk_warnings(const LoadedFarm& loaded) {
  if (is_on_several_hosts(loaded)) return {};
  control::DiskMemory memory;
  std::vector<control::DiskMemory::Disk> disks;
  std::set<std::string> processes;
  const v1::ControlMemory kept = memory_of(loaded);
  for (const v1::ControlMemory::Disk& one : kept.disks()) {
    disks.push_back({one.process(), one.mount(), one.device(), one.folder(), RunNumber(one.run())});
    processes.insert(one.process());
  }
  memory.recall(std::move(disks));
  if (processes.empty()) processes.insert("this host");
  config::Problems warnings;
  for (const control::FolderPlace& place : places_of(loaded)) {
    std::vector<control::MissingDisk> missing;
    for (const std::string& process : processes) {
      if (auto one = memory.missing(process, place)) missing.push_back(std::move(*one));
    }
    if (missing.empty()) continue;
    warnings.push_back({config::ProblemKind::inconsistent, config::Severity::warning,
                        loaded.locations.of(place.key), place.key, control::sentence(missing, "")});
  }
  return warnings;
}

std::string disk_lines(const LoadedFarm& loaded) {
  std::string text;
  for (const control::FolderPlace& one : places_of(loaded))
    text += fmt::format("  {:<12} {} on {}, {}{}\n", one.key, one.folder, one.mount, one.device,
                        free_text(one.folder));
  if (text.empty()) return {};
  return "\ndisks of this host\n" + text;
}

}  // namespace weir::run
