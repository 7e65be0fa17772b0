#include "farm_setup.hpp"

#include <weir/node/identity.hpp>
#include <weir/node/recordings.hpp>

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

using node::key_of;

constexpr const char* kOtherProcesses =
    "the farm would have other processes: edit the farm file, and restart run control";

bool has_same_processes(const config::FarmPlan& one, const config::FarmPlan& other) {
  return std::equal(one.nodes.begin(), one.nodes.end(), other.nodes.begin(), other.nodes.end(),
                    [](const auto& a, const auto& b) { return a.name == b.name && a.masked == b.masked; });
}

v1::FarmView::Override shown_of(const std::string& assignment, std::string_view origin) {
  v1::FarmView::Override shown;
  shown.set_key(key_of(assignment));
  shown.set_value(assignment.substr(std::min(assignment.size(), shown.key().size() + 1)));
  shown.set_origin(std::string(origin));
  return shown;
}

bool contains(const FarmSetup::Overrides& overrides, const std::string& assignment) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const auto& one) { return one.assignment == assignment; });
}

bool has_key(const FarmSetup::Overrides& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(),
                     [&](const auto& one) { return key_of(one.assignment) == key; });
}

std::string keys_of(const FarmSetup::Overrides& overrides) {
  std::string text;
  for (const auto& one : overrides) text += (text.empty() ? "" : ", ") + key_of(one.assignment);
  return text;
}

}  // namespace

FarmSetup::FarmSetup(std::string path, Sets command_line, const std::string& fallback)
    : path_(std::move(path)), command_line_(std::move(command_line)) {
  auto first = prepare({});
  if (!fallback.empty()) use_if_needed(fallback, first);
  if (!first) throw std::runtime_error(first.error());
  configure(std::move(*first));
  file_ = configured_.farm;
}

void FarmSetup::use_if_needed(const std::string& fallback, Expected<Configuration, std::string>& first) {
  auto begun = config::load_farm(fallback);
  if (!begun) return;
  auto plan = config::expand(begun->farm, begun->locations, node::read_recording);
  if (!plan) return;
  if (!first) {
    file_problem_ = first.error();
  } else if (!has_same_processes(first->plan, *plan)) {
    file_problem_ = kOtherProcesses;
  }
  if (file_problem_.empty()) return;
  auto switches = config::load_switches(begun->farm);
  if (!switches) switches.emplace();  // they keep their tables
  first = Configuration{{std::move(begun->farm), std::move(*plan)}, {}, std::move(*switches)};
}

std::string FarmSetup::place_of(const std::string& key) const {
  const auto file = config::load_farm(path_);
  const auto is_key = [&](const std::string& one) { return key_of(one) == key; };
  if (std::ranges::any_of(command_line_, is_key)) return std::string(config::kSetOption);
  return file ? file->locations.of(key) : path_;
}

Expected<config::FarmFile, std::string> FarmSetup::load(const Overrides& overrides) const {
  auto file = config::load_farm(path_);
  if (!file) return Unexpected<std::string>(config::to_text(file.error()));
  Sets assignments = command_line_;
  for (const Override& one : overrides) assignments.push_back(one.assignment);
  for (const std::string& one : assignments) {
    if (const auto problems = config::apply_override(file->farm, one, &file->locations); !problems.empty())
      return Unexpected<std::string>(config::to_text(problems));
  }
  return std::move(*file);
}

Expected<config::PlannedFarm, std::string> FarmSetup::read(const Overrides& overrides) const {
  const auto failed = [](const config::Problems& problems) {
    return Unexpected<std::string>(config::to_text(problems));
  };
  auto file = load(overrides);
  if (!file) return Unexpected<std::string>(file.error());
  config::Problems problems = config::validate(file->farm, file->locations, node::read_recording);
  std::erase_if(problems, [](const config::Problem& one) { return one.severity != config::Severity::error; });
  if (!problems.empty()) return failed(problems);
  auto plan = config::expand(file->farm, file->locations, node::read_recording);
  if (!plan) return failed(plan.error());
  return config::PlannedFarm{std::move(file->farm), std::move(*plan)};
}

Expected<FarmSetup::Overrides, std::string> FarmSetup::with(const Sets& more, std::string_view origin) const {
  Overrides overrides = wanted_;
  for (const std::string& one : more) {
    const std::string key = key_of(one);
    if (key.starts_with("control.") || key == "farm")
      return Unexpected<std::string>(key + " cannot be set while the farm is up");
    if (key.starts_with("log.") || key.starts_with("metrics."))
      return Unexpected<std::string>(
          key + " takes effect only when a process starts: edit the farm file, and restart the farm" +
          (key == "log.level" ? "; `weir ctl log-level` changes the level now" : ""));
    std::erase_if(overrides, [&](const Override& old) { return key_of(old.assignment) == key; });
    overrides.push_back({one, std::string(origin)});
  }
  return overrides;
}

std::string FarmSetup::take(Overrides wanted) {
  const auto now = read(wanted);
  if (!now) return now.error();
  if (!has_same_processes(now->plan, configured_.plan)) return kOtherProcesses;
  wanted_ = std::move(wanted);
  return {};
}

std::string FarmSetup::set(const Sets& wanted, std::string_view origin) {
  auto overrides = with(wanted, origin);
  return overrides ? take(std::move(*overrides)) : overrides.error();
}

std::string FarmSetup::unset(const Sets& keys, bool all) {
  Overrides left = all ? Overrides() : wanted_;
  for (const std::string& key : keys) {
    if (std::erase_if(left, [&](const Override& one) { return key_of(one.assignment) == key; }) > 0) continue;
    const bool given = std::any_of(command_line_.begin(), command_line_.end(),
                                   [&](const std::string& one) { return key_of(one) == key; });
    if (given) return key + " is set on run control's command line: `weir ctl set` overrides it";
    return key + " is not set" + (wanted_.empty() ? ": no key is" : "; set are: " + keys_of(wanted_));
  }
  return take(std::move(left));
}

Expected<FarmSetup::Configuration, std::string> FarmSetup::prepare(const Sets& more) const {
  auto overrides = with(more, kByConfigure);
  if (!overrides) return Unexpected<std::string>(overrides.error());
  auto now = read(*overrides);
  if (!now) return Unexpected<std::string>(now.error());
  if (!configured_.plan.nodes.empty() && !has_same_processes(now->plan, configured_.plan))
    return Unexpected<std::string>(kOtherProcesses);
  auto switches = config::load_switches(now->farm);
  if (!switches) return Unexpected<std::string>(config::to_text(switches.error()));
  return Configuration{std::move(*now), std::move(*overrides), std::move(*switches)};
}

Expected<std::vector<FarmSetup::FormKey>, std::string> FarmSetup::form() const {
  const auto file = load(wanted_);
  if (!file) return Unexpected<std::string>(file.error());
  std::map<std::string, std::string> in_force;
  for (config::FormKey& one : config::form_of(configured_.farm, {})) in_force[one.key] = std::move(one.value);
  std::vector<FormKey> keys;
  for (config::FormKey& one : config::form_of(file->farm, file->locations)) {
    FormKey& key = keys.emplace_back(FormKey{std::move(one), {}});
    const auto set = std::ranges::find_if(
        wanted_, [&](const Override& wanted) { return key_of(wanted.assignment) == key.key; });
    if (set != wanted_.end()) {
      key.where = set->origin;
    } else if (key.where == config::kSetOption) {
      key.where = kByCommandLine;
    }
    if (const auto now = in_force.find(key.key); now != in_force.end()) key.in_force = now->second;
  }
  return keys;
}

std::string FarmSetup::difference(const Configuration& next) const {
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(google::protobuf::util::MessageDifferencer::EQUIVALENT);
  std::string text;
  differencer.ReportDifferencesToString(&text);
  (void)differencer.Compare(configured_.farm, next.farm);
  constexpr std::string_view kModified = "modified: ";
  for (std::size_t at = text.find(kModified); at != std::string::npos; at = text.find(kModified, at))
    text.erase(at, kModified.size());
  return text;
}

void FarmSetup::configure(Configuration configuration) {
  configured_ = std::move(configuration);
  wanted_ = configured_.overrides;
  digest_ = node::farm_digest(configured_.farm);
}

std::string FarmSetup::check_run_sets(const Sets& wanted) const {
  auto trial = configured_.farm;
  for (const std::string& one : wanted) {
    const std::string key = key_of(one);
    if (key != "run.slices" && key != "run.duration_s")
      return key + ": start takes run.slices and run.duration_s; everything else is set with `configure`";
    if (const auto problems = config::apply_override(trial, one); !problems.empty())
      return config::to_text(problems);
  }
  return {};
}

Expected<std::vector<std::string>, std::string> FarmSetup::read_switches() {
  if (configured_.farm.control().switches().empty())
    return Unexpected<std::string>("the farm has no switches: control.switches lists their files");
  auto now = config::load_switches(configured_.farm);
  if (!now) return Unexpected<std::string>(config::to_text(now.error()));
  std::vector<std::string> changed;
  for (const config::FarmSwitch& one : *now) {
    const auto old = std::ranges::find(configured_.switches, one.name, &config::FarmSwitch::name);
    if (old == configured_.switches.end() || old->text != one.text) changed.push_back(one.name);
  }
  configured_.switches = std::move(*now);
  return changed;
}

bool FarmSetup::recall(const Remembered& before, std::string& problem) {
  run_sets_ = before.run_sets;
  const config::FarmPlan plan = configured_.plan;
  if (!file_problem_.empty()) {
    wanted_ = before.wanted;  // checked when they were set, and again by the next `configure`
  } else if (problem = take(before.wanted); !problem.empty()) {
    wanted_.clear();
  }
  if (auto now = read(before.configured); now && node::farm_digest(now->farm) == before.digest) {
    configured_ = {std::move(*now), before.configured, std::move(configured_.switches)};
    digest_ = before.digest;
    return true;
  }
  // The file was edited since.
  auto kept = config::read_farm(before.farm_yaml, "run-control.farm.yaml");
  if (kept && node::farm_digest(kept->farm) == before.digest) {
    auto kept_plan = config::expand(kept->farm, kept->locations, node::read_recording);
    if (kept_plan && has_same_processes(*kept_plan, plan)) {
      configured_ = {
          {std::move(kept->farm), std::move(*kept_plan)}, before.configured, std::move(configured_.switches)};
      digest_ = before.digest;
      return true;
    }
  }
  return before.digest.empty();
}

FarmSetup::Remembered FarmSetup::remembered() const {
  return {wanted_, configured_.overrides, run_sets_, digest_, {}};
}

FarmSetup::Sets FarmSetup::configured_sets() const {
  Sets sets;
  for (const Override& one : configured_.overrides) sets.push_back(one.assignment);
  return sets;
}

config::PlannedFarm FarmSetup::of_run(RunNumber run) const {
  config::PlannedFarm planned = configured_;
  planned.farm.mutable_run()->set_number(run.value);
  for (const std::string& one : run_sets_) (void)config::apply_override(planned.farm, one);  // checked
  return planned;
}

std::vector<v1::FarmView::Override> FarmSetup::shown(bool run_is_on) const {
  std::vector<v1::FarmView::Override> all;
  for (const std::string& one : command_line_) {
    if (has_key(wanted_, key_of(one))) continue;
    all.push_back(shown_of(one, kByCommandLine));
    all.back().set_in_force(!has_key(configured_.overrides, key_of(one)));
  }
  for (const Override& one : wanted_) {
    all.push_back(shown_of(one.assignment, one.origin));
    all.back().set_in_force(contains(configured_.overrides, one.assignment));
  }
  for (const Override& one : configured_.overrides) {
    if (contains(wanted_, one.assignment)) continue;
    all.push_back(shown_of(one.assignment, one.origin));
    all.back().set_in_force(true);
    all.back().set_unset(true);
  }
  for (const std::string& one : run_is_on ? run_sets_ : Sets()) {
    all.push_back(shown_of(one, kByStart));
    all.back().set_in_force(true);
  }
  return all;
}

std::string FarmSetup::kind_of(const std::string& process, Role role) const {
  if (role != Role::dcm) return std::string(name(role));
  const auto node = std::ranges::find(plan().nodes, process, &config::NodePlan::name);
  const bool grouped = node != plan().nodes.end() && node->group < file_.dcm().groups_size();
  return grouped ? "DCM of group '" + file_.dcm().groups(node->group).name() + "'" : "DCM";
}

}  // namespace weir::run_control
