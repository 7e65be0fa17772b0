#include "farm.hpp"
#include <weir/base/figures.hpp>
#include <weir/config/rate.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/lab/plan.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/push.hpp>
#include <weir/node/recordings.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/lab_run.hpp>
#include <weir/run/network_check.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/run_record/records.hpp>
#include <weir/source_host/plugin.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr double kHitBytes = 6;
constexpr double kWaveformBytes = 385;  // mean of 257 and 513
constexpr double kMsPerS = 1000;

struct SliceSize {
  double bytes = 0;
  const char* kind = "about";
};

SliceSize slice_size(const LoadedFarm& loaded) {
  const auto sources = static_cast<double>(loaded.plan.sources.size() - loaded.plan.masked.size());
  const v1::SourceSettings& source = loaded.farm.source();
  const v1::HitsSettings& hits = loaded.farm.hits();
  switch (source.kind()) {
    case v1::SourceSettings::KIND_HITS: {
      const double rate = hits.background_hz() * (1 + hits.burst_fraction() * (hits.burst_factor() - 1));
      const double per_hit = kHitBytes + hits.waveform_fraction() * kWaveformBytes;
      return {sources * rate * loaded.farm.trigger().slice_ms() / kMsPerS * per_hit};
    }
    case v1::SourceSettings::KIND_REPLAY: {
      const auto contents = node::read_recording(loaded.farm.replay().path());
      return {contents ? static_cast<double>(contents->slice_bytes_max) : 0, "up to"};
    }
    default: {
      const bool uniform = source.distribution() == v1::SourceSettings::DISTRIBUTION_UNIFORM;
      const auto mean = static_cast<double>(uniform ? (source.size_bytes_min() + source.size_bytes_max()) / 2
                                                    : source.size_bytes());
      return {sources * mean};
    }
  }
}

// "1-4, 7": ids that follow each other as ranges.
std::string ranges(const std::vector<SourceId>& sources) {
  std::string text;
  for (std::size_t first = 0; first < sources.size();) {
    std::size_t last = first;
    while (last + 1 < sources.size() && sources[last + 1].value == sources[last].value + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(sources[first].value);
    if (last > first) text += "-" + std::to_string(sources[last].value);
    first = last + 1;
  }
  return text;
}

std::string memory_line(const char* what, std::size_t count, std::uint64_t bytes) {
  if (count == 0) return {};
  return fmt::format("  {:<12} {:>9} each, {:>9} in all\n", what, bytes_text(static_cast<double>(bytes)),
                     bytes_text(static_cast<double>(bytes) * static_cast<double>(count)));
}

std::string plan_table(const LoadedFarm& loaded) {
  std::string text =
      fmt::format("  {:<16} {:<11} {:<18} {:>8}  {}\n", "node", "role", "listens", "sources", "");
  for (const config::NodePlan& node : loaded.plan.nodes) {
    text += fmt::format("  {:<16} {:<11} {:<18} {:>8}  {}{}\n", node.name, name(node.role), node.listen,
                        node.sources.empty() ? "" : std::to_string(node.sources.size()), ranges(node.sources),
                        node.masked ? "  masked" : "");
  }
  if (!loaded.plan.masked.empty()) text += "  masked sources: " + ranges(loaded.plan.masked) + "\n";
  return text;
}

// 0: as many as go.
double slices_per_s(const v1::TriggerSettings& trigger) {
  if (trigger.mode() == v1::TriggerSettings::MODE_CLOCK) return kMsPerS / trigger.slice_ms();
  const bool at_rate =
      trigger.mode() == v1::TriggerSettings::MODE_RATE || trigger.mode() == v1::TriggerSettings::MODE_POISSON;
  return at_rate ? trigger.rate_hz() : 0;
}

// What comes to one DCM at a time, to be held against the buffer of its port.
std::string push_line(const LoadedFarm& loaded, double slice_bytes) {
  if (!node::is_push(loaded.farm)) return {};
  const node::PushTiming timing = node::push_timing(loaded.farm);
  const std::size_t readouts = std::max<std::size_t>(1, loaded.plan.of_role(Role::readout).size());
  const std::size_t group = timing.barrel ? std::min<std::size_t>(timing.group, readouts) : readouts;
  std::string text =
      fmt::format("  pushed: {} readout{} send{} {} to a DCM at a time", group, group == 1 ? "" : "s",
                  group == 1 ? "s" : "",
                  bytes_text(slice_bytes * static_cast<double>(group) / static_cast<double>(readouts)));
  if (timing.barrel) {
    text += fmt::format(", in slots of {:g} ms; the last begin {} slots after the slice",
                        static_cast<double>(timing.slot_ns) / static_cast<double>(kMillisecond),
                        timing.delay_slots(readouts - 1));
  }
  return text + "\n";
}

std::string expectations(const LoadedFarm& loaded, const SliceSize& size, double rate) {
  std::string text = fmt::format("  a slice is {} {}", size.kind, bytes_text(size.bytes));
  if (rate > 0)
    text += fmt::format("; {:g} a second make {}/s into the DCMs", rate, bytes_text(size.bytes * rate));
  return text + "\n" + push_line(loaded, size.bytes);
}

// What the network can carry and hold; empty where its rates are not known.
std::string network_text(const v1::Farm& farm, const run_record::FarmNetwork& network,
                         const run_record::SliceLoad& slice) {
  const auto safe = safe_window_of(farm, network);
  if (!safe) return {};
  const run_record::Theory theory = run_record::theory_of(network, slice);
  std::string text =
      fmt::format("\nnetwork\n  port of a DCM: {}",
                  config::print_rate(static_cast<std::uint64_t>(network.port()->port_bits_per_s)));
  if (theory.dcms_per_port > 1) text += fmt::format(", shared by {} DCMs", theory.dcms_per_port);
  text += fmt::format("\n  all DCMs together get {}/s at most; a slice alone takes {}\n",
                      bytes_text(theory.goodput_bytes_per_s),
                      microseconds_text(static_cast<std::uint64_t>(theory.serialisation_us)));
  if (safe->most > 0) {
    text += fmt::format("  a port holds from {} to {} under way: dcm.window_bytes of {} is good\n",
                        bytes_text(safe->least), bytes_text(safe->most),
                        proposed_window_bytes(*safe, theory.dcms_per_port));
  }
  return text;
}

// Of the lab, if there is one; else of the farm file.
Expected<run_record::FarmNetwork, std::string> network_at(const LoadedFarm& loaded,
                                                          const std::string& lab_file,
                                                          const std::vector<std::string>& sets) {
  if (lab_file.empty()) return run_record::network_of(loaded.farm, loaded.plan);
  const auto file = load_lab(lab_file, sets);
  if (!file) return Unexpected<std::string>(file.error());
  const auto lab = lab::plan_lab(*file, &loaded.plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  return run_record::network_of(*lab, loaded.plan);
}

config::Problem plugin_problem(const LoadedFarm& loaded, const std::string& key, const std::string& what) {
  return {config::ProblemKind::bad_value, config::Severity::error, loaded.locations.of(key), key, what};
}

// Why no DCM will make an instance of the filter. This one is given no slice, and what it logs is nobody's.
std::optional<config::Problem> parameters_problem(
    const LoadedFarm& loaded, const std::shared_ptr<const filter_host::FilterPlugin>& plugin) {
  const auto& parameters = loaded.farm.filter().parameters();
  filter_host::FilterConfig config;
  config.parameters.assign(parameters.begin(), parameters.end());
  filter_host::FilterMetrics metrics;
  const auto made = filter_host::FilterInstance::create(plugin, std::move(config), metrics);
  if (made) return std::nullopt;
  const std::string& why = made.error().text;
  const auto named = std::find_if(parameters.begin(), parameters.end(), [&](const auto& one) {
    return why.find("'" + one.first + "'") != why.npos;
  });
  const std::string key = "filter.parameters" + (named == parameters.end() ? "" : "." + named->first);
  return plugin_problem(loaded, key, why);
}

// Why the DCMs will not take the filter.
std::optional<config::Problem> filter_problem(const LoadedFarm& loaded, std::string& description) {
  const v1::FilterSettings& filter = loaded.farm.filter();
  std::vector<std::string> folders(filter.search_path().begin(), filter.search_path().end());
  folders.push_back(node::plugin_folder());
  const auto plugin = filter_host::FilterPlugin::load(filter.plugin(), folders);
  if (!plugin) return plugin_problem(loaded, "filter.plugin", plugin.error().text);
  description = fmt::format("  {} {}, {}\n  from {}\n", (*plugin)->name(), (*plugin)->version(),
                            (*plugin)->description(), (*plugin)->path());
  return parameters_problem(loaded, *plugin);
}

// Why the readouts will not load the source plugin, where there is one. An instance of it would open sockets.
std::optional<config::Problem> source_problem(const LoadedFarm& loaded, std::string& description) {
  const std::string name = run_record::source_plugin(loaded.farm);
  if (name.empty()) return std::nullopt;
  const v1::SourceSettings& source = loaded.farm.source();
  std::vector<std::string> folders(source.search_path().begin(), source.search_path().end());
  folders.push_back(node::plugin_folder());
  const auto plugin = source_host::SourcePlugin::load(name, folders);
  if (!plugin) return plugin_problem(loaded, "source.plugin", plugin.error().text);
  description = fmt::format("  {} {}, {}\n  from {}\n", (*plugin)->name(), (*plugin)->version(),
                            (*plugin)->description(), (*plugin)->path());
  return std::nullopt;
}

}  // namespace

int check_farm(const FarmOptions& options, const std::string& lab_file, std::FILE* out, std::FILE* err) {
  Sets sets = lab_file.empty() ? Sets{options.sets, {}} : share_out(options.sets);
  auto loaded = load({options.farm_file, sets.farm});
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  const v1::Farm& farm = loaded->farm;
  const auto network = network_at(*loaded, lab_file, sets.lab);
  if (!network) {
    fmt::print(err, "{}\n", network.error());
    return kExitUsage;
  }
  const SliceSize size = slice_size(*loaded);
  const double rate = slices_per_s(farm.trigger());
  const run_record::SliceLoad slice{
      size.bytes, static_cast<double>(loaded->plan.sources.size() - loaded->plan.masked.size())};
  const config::Problems found = check_network(farm, loaded->locations, *network, {slice, rate});
  loaded->warnings.insert(loaded->warnings.end(), found.begin(), found.end());
  if (!loaded->warnings.empty()) fmt::print(err, "{}\n", config::to_text(loaded->warnings));
  std::string source;
  std::string filter;
  config::Problems problems;
  for (auto& problem : {source_problem(*loaded, source), filter_problem(*loaded, filter)}) {
    if (problem) problems.push_back(*problem);
  }
  if (!problems.empty()) fmt::print(err, "{}\n", config::to_text(problems));
  const std::uint64_t early = run_record::source_plugin(farm).empty() ? 0 : farm.source().early_bytes();
  const auto nodes = [&](Role role) { return loaded->plan.of_role(role).size(); };
  std::string text = fmt::format("farm {}\n\n", farm.farm()) + plan_table(*loaded);
  text += "\nexpected\n" + expectations(*loaded, size, rate) + network_text(farm, *network, slice);
  text += "\nmemory bounds\n" +
          memory_line("readout", nodes(Role::readout), farm.readout().buffer_bytes() + early) +
          memory_line("DCM", nodes(Role::dcm), farm.dcm().buffer_bytes()) +
          memory_line("writer", nodes(Role::writer), farm.writer().buffer_bytes());
  if (!source.empty()) text += "\nsource\n" + source;
  if (!filter.empty()) text += "\nfilter\n" + filter;
  std::fputs(text.c_str(), out);
  if (!problems.empty()) return kExitUsage;
  fmt::print(out, "\n{} is good{}.\n", options.farm_file, loaded->warnings.empty() ? "" : ", with warnings");
  return kExitFine;
}

}  // namespace weir::run
