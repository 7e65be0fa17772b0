#include <weir/base/plugin_file.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/source_groups.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/worker_setup.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>
#include <weir/python_host/interpreter.hpp>
#include <weir/source_host/instance.hpp>
#include <weir/source_host/plugin.hpp>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::plugin_trial {
namespace {

template <class Settings>
std::vector<std::string> folders_of(const Settings& settings, const TriedFarm& tried) {
  std::vector<std::string> folders(settings.search_path().begin(), settings.search_path().end());
  folders.insert(folders.end(), tried.folders.begin(), tried.folders.end());
  return folders;
}

config::Problem problem(const TriedFarm& tried, const std::string& key, const std::string& what) {
  return {config::ProblemKind::bad_value, config::Severity::error, tried.locations.of(key), key, what};
}

// The parameter that the plugin's error names is at fault; if it names none, it may be any that is given.
template <class Parameters>
config::Problem refusal(const TriedFarm& tried, const std::string& prefix, const Parameters& parameters,
                        const std::string& why) {
  bool any_set = false;
  for (const auto& [name, value] : parameters) {
    const std::string key = prefix + "." + name;
    if (why.find("'" + name + "'") != why.npos) return problem(tried, key, why);
    any_set = any_set || tried.locations.exactly(key) == config::kSetOption;
  }
  config::Problem found = problem(tried, prefix, why);
  if (any_set && found.where != config::kSetOption) found.where += ", " + std::string(config::kSetOption);
  return found;
}

std::string plugin_of(const v1::SourceSettings& source) {
  if (source.kind() == v1::SourceSettings::KIND_UDP) return "udp";
  return source.kind() == v1::SourceSettings::KIND_PLUGIN ? source.plugin() : std::string();
}

template <class Plugin>
std::string described(const Plugin& plugin) {
  return fmt::format("  {} {}, {}\n  from {}\n", plugin.name(), plugin.version(), plugin.description(),
                     plugin.path());
}

source_host::HostSettings host_settings(const v1::SourceSettings& source) {
  return {.python = source.python(),
          .timeout_ns = config::from_ms(source.host().timeout_ms()),
          .start_timeout_ns = config::from_ms(source.host().start_timeout_ms()),
          .wait_ns = config::from_ms(source.wait_ms()),
          .lane_bytes = source.host().lane_bytes(),
          .memory_bytes = source.host().memory_bytes()};
}

class NoArrivals final : public source_host::Arrivals {
 public:
  source::Delivery on_fragment(SourceId, SliceId, source::SourceFragment, const Stamp&) override {
    return {};
  }
  void on_watermark(SourceId, SliceId, MissingReason) override {}
};

}  // namespace

namespace {

struct FilterTrial {
  std::string description;
  std::string error;  // empty: the filter exists
  // At fault if the filter was not loaded; empty: it was.
  std::string key;
};

FilterTrial try_here(const std::string& name, const std::vector<std::string>& folders,
                     filter_host::FilterConfig config) {
  const auto plugin = filter_host::FilterPlugin::load(name, folders);
  if (!plugin) return {{}, plugin.error().text, "filter.plugin"};
  filter_host::FilterMetrics metrics;
  const auto made = filter_host::FilterInstance::create(*plugin, std::move(config), metrics);
  return {described(**plugin), made ? std::string() : made.error().text, {}};
}

// In a process of the interpreter.
FilterTrial try_python(const v1::FilterSettings& settings, const std::vector<std::string>& folders,
                       const filter_host::FilterConfig& config) {
  const auto python = python_host::find_interpreter(settings.python());
  if (!python) return {{}, python.error(), settings.python().empty() ? "filter.plugin" : "filter.python"};
  std::string json;
  const v1::WorkerMessage::Setup setup = filter_host::setup_of(settings.plugin(), folders, config);
  if (const auto status = google::protobuf::util::MessageToJsonString(setup, &json); !status.ok())
    return {{}, status.ToString(), "filter.parameters"};
  const auto answer = python_host::check_filter(*python, json);
  if (answer.status == 0) return {answer.text, {}, {}};
  return {{}, answer.text, answer.status == python_host::kRefusesParameters ? "" : "filter.plugin"};
}

// `group`: the group of the DCMs.
std::optional<config::Problem> try_filter_of(const TriedFarm& tried, const config::NodeFarm& dcms, int group,
                                             std::string& description) {
  const v1::FilterSettings& settings = dcms.farm.filter();
  filter_host::FilterConfig config;
  config.parameters.assign(settings.parameters().begin(), settings.parameters().end());
  const auto groups = config::source_groups(tried.planned.farm, tried.planned.plan, tried.locations);
  if (!groups) return groups.error().front();
  config.groups = filter_host::filter_groups(*groups);
  if (group < tried.planned.farm.dcm().groups_size()) {
    for (const std::string& name : tried.planned.farm.dcm().groups(group).forward())
      config.forward_groups.emplace_back(name, 0);
  }
  const std::vector<std::string> folders = folders_of(settings, tried);
  const FilterTrial trial = is_python_plugin(settings.plugin())
                                ? try_python(settings, folders, config)
                                : try_here(settings.plugin(), folders, std::move(config));
  if (description.find(trial.description) == std::string::npos) description += trial.description;
  if (trial.error.empty()) return std::nullopt;
  if (!trial.key.empty()) return problem(tried, dcms.key_of(trial.key), trial.error);
  return refusal(tried, dcms.key_of("filter.parameters"), settings.parameters(), trial.error);
}

}  // namespace

std::optional<config::Problem> try_filter(const TriedFarm& tried, std::string& description) {
  description.clear();
  const config::NodeFarms farms(tried.planned.farm);
  for (const config::NodeFarms::Kind& kind : farms.kinds(tried.planned.plan, Role::dcm)) {
    std::set<int> groups;  // DCMs of one kind may be in several
    for (const config::NodePlan* dcm : kind.nodes) groups.insert(static_cast<int>(dcm->group));
    for (const int group : groups) {
      if (auto found = try_filter_of(tried, kind.shared, group, description)) return found;
    }
  }
  return std::nullopt;
}

namespace {

// Adds to the description, or returns why the plugin cannot be used: a source in Python is imported for it.
std::optional<std::string> describe(const source_host::SourcePlugin& plugin, const std::string& interpreter,
                                    std::string& description) {
  if (plugin.python() == nullptr) {
    description += described(plugin);
    return std::nullopt;
  }
  const auto python = python_host::find_interpreter(interpreter, python_host::installation(), "source");
  if (!python) return python.error();
  const auto answer = python_host::check_source(*python, plugin.path());
  if (answer.status != 0) return "source '" + plugin.path() + "': " + answer.text;
  description += answer.text;
  return std::nullopt;
}

}  // namespace

config::Problems load_sources(const TriedFarm& tried, std::string& description) {
  config::Problems problems;
  std::set<std::string> seen;
  for (const auto& kind : config::NodeFarms(tried.planned.farm).kinds(tried.planned.plan, Role::readout)) {
    const v1::SourceSettings& source = kind.shared.farm.source();
    const std::string name = plugin_of(source);
    if (name.empty()) continue;
    const auto plugin =
        source_host::SourcePlugin::load(name, folders_of(source, tried), host_settings(source));
    if (!plugin) {
      problems.push_back(problem(tried, kind.shared.key_of("source.plugin"), plugin.error().text));
    } else if (seen.insert((*plugin)->path()).second) {
      if (auto found = describe(**plugin, source.python(), description))
        problems.push_back(problem(tried, kind.shared.key_of("source.plugin"), *found));
    }
  }
  return problems;
}

std::optional<config::Problem> try_source(const TriedFarm& tried, const config::NodePlan& readout) {
  const config::NodeFarm own = config::NodeFarms(tried.planned.farm).of(readout);
  const v1::SourceSettings& source = own.farm.source();
  const std::string name = plugin_of(source);
  if (name.empty()) return std::nullopt;
  const auto plugin = source_host::SourcePlugin::load(name, folders_of(source, tried), host_settings(source));
  if (!plugin) return problem(tried, own.key_of("source.plugin"), plugin.error().text);
  source_host::InstanceConfig config;
  config.parameters.assign(source.parameters().begin(), source.parameters().end());
  std::sort(config.parameters.begin(), config.parameters.end());
  for (const SourceId one : readout.sources) {
    if (!std::binary_search(tried.planned.plan.masked.begin(), tried.planned.plan.masked.end(), one))
      config.sources.push_back(one);
  }
  std::sort(config.sources.begin(), config.sources.end());
  config.readout_name = readout.name;
  config.readout_index = readout.index.value;
  config.fragment_bytes_max = static_cast<std::uint32_t>(own.farm.dcm().fragment_bytes_max());
  config.checksums = own.farm.run().checksums();
  NoArrivals nothing;
  const auto made = source_host::SourceInstance::create(*plugin, std::move(config), nothing);
  if (made) {
    (*made)->detach();
    return std::nullopt;
  }
  return refusal(tried, own.key_of("source.parameters"), source.parameters(), made.error().text);
}

}  // namespace weir::plugin_trial
