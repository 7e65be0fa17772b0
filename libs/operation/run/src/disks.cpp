#include "disks.hpp"

#include "burst_disks.hpp"
#include <weir/base/figures.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/space_probe.hpp>
#include <weir/v1/bus.pb.h>

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr const char* kControlOut = "control.out";
constexpr const char* kRunOut = "run.out";

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
  std::vector<std::pair<std::string, std::string>> folders{{kRunOut, farm.run().out()}};
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

// Of the nearest parent that exists. `bytes_per_s` goes there.
std::optional<control::DiskUse> use_of(const control::FolderPlace& place, double bytes_per_s) {
  std::error_code failed;
  std::filesystem::path there = place.folder;
  while (there.has_relative_path() && !std::filesystem::exists(there, failed)) there = there.parent_path();
  const auto space = node::disk_space(there.string());
  if (!space) return std::nullopt;
  control::DiskUse use{{place.key}, {}, place.folder, *space, 0, {}, false};
  if (place.key != kRunOut || bytes_per_s <= 0) return use;
  use.fill_per_s = bytes_per_s;
  use.left = control::time_left(*space, bytes_per_s);
  return use;
}

std::string free_text(const control::FolderPlace& place, double bytes_per_s) {
  const auto use = use_of(place, bytes_per_s);
  if (!use) return {};
  std::string text = fmt::format(", {} free ({})", bytes_text(static_cast<double>(use->space.free_bytes)),
                                 control::percent(control::free_share(use->space)));
  if (use->left) text += fmt::format(", for {} if every slice is stored", control::duration_text(*use->left));
  return text;
}

// The farm's own warning, before it starts.
config::Problems short_disks(const LoadedFarm& loaded, const control::FolderPlace& place) {
  const auto use = use_of(place, 0);
  if (!use || control::free_share(use->space) >= loaded.farm.control().disk_free_min()) return {};
  return {{config::ProblemKind::inconsistent, config::Severity::warning, loaded.locations.of(place.key),
           place.key, control::sentence(*use)}};
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
    const config::Problems full = short_disks(loaded, place);
    warnings.insert(warnings.end(), full.begin(), full.end());
    if (missing.empty()) continue;
    warnings.push_back({config::ProblemKind::inconsistent, config::Severity::warning,
                        loaded.locations.of(place.key), place.key, control::sentence(missing, "")});
  }
  return warnings;
}

std::string disk_lines(const LoadedFarm& loaded, double bytes_per_s) {
  std::string text;
  for (const control::FolderPlace& one : places_of(loaded))
    text += fmt::format("  {:<12} {} on {}, {}{}\n", one.key, one.folder, one.mount, one.device,
                        free_text(one, bytes_per_s));
  if (text.empty()) return {};
  return "\ndisks of this host\n" + text;
}

}  // namespace weir::run
