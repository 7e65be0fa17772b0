#include "farm_metrics.hpp"

#include <weir/base/role.hpp>
#include <weir/base/time.hpp>
#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <map>
#include <optional>
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

// nullopt: no run is on, or its supervisor has not reported.
std::optional<double> livetime(const Farm& farm) {
  const DurationNs passed = farm.now_utc_ns - farm.run_begin_utc_ns;
  if (farm.run_begin_utc_ns == 0 || passed <= 0) return std::nullopt;
  for (const MemberView& member : farm.members) {
    if (member.role != name(Role::supervisor) || !member.report) continue;
    const auto lost_ms = static_cast<double>(reports::counter_of(*member.report, "lost_livetime_ms"));
    return std::clamp(1 - lost_ms * kMillisecond / static_cast<double>(passed), 0.0, 1.0);
  }
  return std::nullopt;
}

void add_last_run(const RunEntry& last, std::string& text) {
  head("weir_farm_last_run_good", "1: the last run that ended has neither faults nor an unbalanced ledger.",
       text);
  text += "weir_farm_last_run_good{run=\"" + std::to_string(last.number) + "\"} " +
          (last.balanced && !last.faults && last.failure.empty() ? "1" : "0") + "\n";
  head("weir_farm_last_run_outcome", "1: the last run ended in this way.", text);
  for (const char* outcome : {"good", "faults", "failed", "unbalanced", "no_account", "never_began"})
    text += std::string("weir_farm_last_run_outcome{outcome=\"") + outcome + "\"} " +
            (last.outcome == outcome ? "1" : "0") + "\n";
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
  if (const auto share = livetime(farm)) {
    head("weir_farm_livetime_ratio", "Share of the current run in which triggers were taken.", text);
    text += "weir_farm_livetime_ratio " + std::to_string(*share) + "\n";
  }
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
  if (!farm.runs.empty()) add_last_run(farm.runs.back(), text);
  return text;
}

}  // namespace weir::page
