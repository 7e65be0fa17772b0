#include "farm_metrics.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace weir::page {
namespace {

// The exposition format escapes backslash, quote and line feed in labels.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char one : text) {
    if (one == '\\' || one == '"') out += '\\';
    if (one == '\n') {
      out += "\\n";
    } else {
      out += one;
    }
  }
  return out;
}

void head(const char* name, const char* help, std::string& text) {
  text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n";
}

std::string number(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

void add_disks(const Farm& farm, std::string& text) {
  head("weir_farm_disk_free_ratio", "Free share of a disk with folders of the farm.", text);
  const auto labels = [](const control::DiskUse& disk) {
    return "{host=\"" + escaped(disk.host) + "\",folder=\"" + escaped(disk.folder) + "\"} ";
  };
  for (const control::DiskUse& disk : farm.disks)
    text +=
        "weir_farm_disk_free_ratio" + labels(disk) + std::to_string(control::free_share(disk.space)) + "\n";
  head("weir_farm_disk_left_seconds",
       "Time until it is full at the rate of the last minutes; absent: it does not fill.", text);
  for (const control::DiskUse& disk : farm.disks) {
    if (disk.left)
      text += "weir_farm_disk_left_seconds" + labels(disk) +
              number(static_cast<double>(*disk.left) / kSecond) + "\n";
  }
}

}  // namespace

std::string farm_metrics(const Farm& farm) {
  std::string text;
  head("weir_farm_state", "1: the farm is in this state.", text);
  for (const auto state : {control::State::idle, control::State::standby, control::State::ready,
                           control::State::running, control::State::paused, control::State::error})
    text += "weir_farm_state{state=\"" + std::string(control::name(state)) + "\"} " +
            (farm.state == state ? "1" : "0") + "\n";
  head("weir_farm_run", "Number of the current run, or else of the last one.", text);
  text += "weir_farm_run " + std::to_string(farm.run) + "\n";
  head("weir_farm_processes_absent", "Processes of the farm that are not connected.", text);
  const auto absent = std::ranges::count_if(
      farm.members, [](const MemberView& one) { return one.state == "dead" || one.state == "gone"; });
  text += "weir_farm_processes_absent " + std::to_string(absent) + "\n";
  head("weir_farm_finding", "Findings of severity warning and error, by name.", text);
  std::map<std::pair<std::string, std::string>, int> findings;
  for (const control::Finding& one : farm.health) {
    if (one.gravity >= control::Gravity::warning)
      ++findings[{std::string(control::name(one.gravity)), one.word}];
  }
  for (const auto& [key, count] : findings)
    text += "weir_farm_finding{severity=\"" + key.first + "\",finding=\"" + escaped(key.second) + "\"} " +
            std::to_string(count) + "\n";
  head("weir_farm_alarm", "1: the alarm is active; 0: it was acknowledged.", text);
  for (const control::Alarm& one : farm.alarms)
    text += "weir_farm_alarm{severity=\"" + std::string(control::name(one.gravity)) + "\",alarm=\"" +
            escaped(one.name) + "\"} " + (one.acked_by.empty() ? "1" : "0") + "\n";
  add_disks(farm, text);
  if (!farm.runs.empty()) {
    head("weir_farm_last_run_good", "1: the last run that ended has neither faults nor an unbalanced ledger.",
         text);
    const RunEntry& last = farm.runs.back();
    text += "weir_farm_last_run_good{run=\"" + std::to_string(last.number) + "\"} " +
            (last.balanced && !last.faults && last.failure.empty() ? "1" : "0") + "\n";
  }
  return text;
}

}  // namespace weir::page
