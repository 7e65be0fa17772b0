#include "burst_disks.hpp"
#include "disks.hpp"
#include "farm.hpp"
#include "processor_time.hpp"
#include "table_memory.hpp"
#include "trial_apart.hpp"
#include <weir/base/figures.hpp>
#include <weir/bus/hub.hpp>
#include <weir/config/expected_sizes.hpp>
#include <weir/config/explain.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/config/rate.hpp>
#include <weir/config/suggest.hpp>
#include <weir/lab/plan.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/recordings.hpp>
#include <weir/plugin_trial/plugin_trial.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/lab_network.hpp>
#include <weir/run/lab_run.hpp>
#include <weir/run/network_check.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/transport/congestion_control.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::run {
namespace {

constexpr double kMsPerS = 1000;

struct SliceSize {
  double bytes = 0;
  const char* kind = "about";
  config::ExpectedSizes sizes;
};

SliceSize slice_size(const LoadedFarm& loaded) {
  const auto& nodes = loaded.plan.nodes;
  const bool recorded = std::all_of(nodes.begin(), nodes.end(), [](const config::NodePlan& node) {
    return node.role != Role::readout || node.source_kind == v1::SourceSettings::KIND_REPLAY;
  });
  const auto sizes = config::expected_sizes(loaded.farm, loaded.plan, node::read_recording);
  return {static_cast<double>(sizes.slice), recorded ? "up to" : "about", sizes};
}

// Formats consecutive ids as ranges: "1-4, 7".
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

ReadoutTables readout_tables(const v1::Farm& own) {
  return {std::min(own.readout().buffer_slices(), own.supervisor().in_flight_max()),
          own.readout().buffer_bytes()};
}

DcmTables dcm_tables(const v1::Farm& own) {
  const v1::DcmSettings& dcm = own.dcm();
  return {dcm.slices_max(), own.supervisor().in_flight_max(), dcm.buffer_bytes(), dcm.credits(),
          config::is_push(own)};
}

using BytesOf = std::function<std::uint64_t(const config::NodePlan&, const config::NodeFarm&)>;

// Returns the memory bounds of one role's nodes, by amount; `bytes_of` returns that of one node.
std::string memory_lines(const LoadedFarm& loaded, Role role, const char* what, const BytesOf& bytes_of) {
  const config::NodeFarms farms(loaded.farm);
  std::map<std::uint64_t, std::size_t> nodes;  // node counts by bytes
  for (const auto& kind : farms.kinds(loaded.plan, role)) {
    for (const config::NodePlan* node : kind.nodes) ++nodes[bytes_of(*node, kind.shared)];
  }
  double all = 0;
  for (const auto& [bytes, count] : nodes) all += static_cast<double>(bytes) * static_cast<double>(count);
  std::string text;
  for (const auto& [bytes, count] : nodes) {
    const std::string each = bytes_text(static_cast<double>(bytes));
    if (nodes.size() == 1) {
      text += fmt::format("  {:<12} {:>9} each, {:>9} in all\n", what, each, bytes_text(all));
    } else {
      text += fmt::format("  {:<12} {:>9} each of {}\n", what, each, count);
    }
  }
  if (nodes.size() > 1) text += fmt::format("  {:<12} {:>9} in all\n", what, bytes_text(all));
  return text;
}

// Returns the limits of what run control holds for the clients of its bus.
std::string bus_line(std::size_t processes) {
  bus::HubSettings hub;
  hub.connections_max = bus::connections_of(processes);
  return fmt::format("  {:<12} {:>9} for up to {} clients of its bus, {} for one without a key\n",
                     "run control", bytes_text(static_cast<double>(bus::client_bytes_max(hub))),
                     hub.connections_max, bytes_text(static_cast<double>(hub.first_bytes_max)));
}

std::string memory_text(const LoadedFarm& loaded, const config::ExpectedSizes& sizes) {
  const std::size_t sources = loaded.plan.sources.size();
  return memory_lines(loaded, Role::readout, "readout",
                      [&](const config::NodePlan& node, const config::NodeFarm& shared) {
                        const auto& own = shared.farm;
                        const bool front_end = !node::source_plugin(own).empty();
                        return own.readout().buffer_bytes() + (front_end ? own.source().early_bytes() : 0) +
                               readout_table_bytes(readout_tables(own), node.sources.size(), sizes);
                      }) +
         memory_lines(loaded, Role::dcm, "DCM",
                      [&](const config::NodePlan&, const config::NodeFarm& shared) {
                        const auto& own = shared.farm;
                        return own.dcm().buffer_bytes() + own.burst().buffer_bytes() +
                               dcm_table_bytes(dcm_tables(own), sources, sizes);
                      }) +
         memory_lines(loaded, Role::writer, "writer",
                      [](const config::NodePlan&, const config::NodeFarm& own) {
                        return own.farm.writer().buffer_bytes();
                      }) +
         bus_line(loaded.plan.nodes.size());
}

// Returns the kind, such as "udp", if readouts differ in it; for a plugin its name.
std::string kind_text(const config::NodePlan& node, const config::NodeFarms& farms) {
  const v1::Farm own = farms.of(node).farm;
  const std::string plugin = node::source_plugin(own);
  return plugin.empty() ? config::word_of(own.source().kind()) : plugin;
}

std::string plan_table(const LoadedFarm& loaded) {
  const config::NodeFarms farms(loaded.farm);
  std::set<std::string> kinds;
  for (const config::NodePlan* node : loaded.plan.of_role(Role::readout))
    kinds.insert(kind_text(*node, farms));
  std::string text =
      fmt::format("  {:<16} {:<11} {:<18} {:>8}  {}\n", "node", "role", "listens", "sources", "");
  for (const config::NodePlan& node : loaded.plan.nodes) {
    const std::string kind =
        kinds.size() > 1 && node.role == Role::readout ? "  " + kind_text(node, farms) : "";
    text += fmt::format("  {:<16} {:<11} {:<18} {:>8}  {}{}{}\n", node.name, name(node.role), node.listen,
                        node.sources.empty() ? "" : std::to_string(node.sources.size()), ranges(node.sources),
                        kind, node.masked ? "  masked" : "");
  }
  if (!loaded.plan.masked.empty()) text += "  masked sources: " + ranges(loaded.plan.masked) + "\n";
  return text;
}

// Returns the groups of DCMs with the way of a slice through them; empty in a farm without groups.
std::string dcm_groups_text(const LoadedFarm& loaded) {
  const auto& groups = loaded.farm.dcm().groups();
  if (groups.empty()) return {};
  std::string text = "\ngroups of DCMs\n";
  for (int i = 0; i < groups.size(); ++i) {
    const v1::DcmGroupSettings& group = groups[i];
    const std::size_t dcms =
        static_cast<std::size_t>(std::ranges::count_if(loaded.plan.nodes, [i](const config::NodePlan& node) {
          return node.role == Role::dcm && node.group == static_cast<std::size_t>(i);
        }));
    text +=
        fmt::format("  {:<16} {}{}{}", group.name(), counted(dcms, "DCM"), group.remote() ? ", remote" : "",
                    group.fetch() == v1::DcmGroupSettings::FETCH_BUILDER ? ", fetches built slices" : "");
    if (!group.forward().empty()) text += fmt::format(", forwards to {}", fmt::join(group.forward(), ", "));
    text += '\n';
  }
  return text;
}

// Returns the planes with their DCMs; empty in a farm with one network.
std::string planes_text(const LoadedFarm& loaded) {
  const auto& planes = loaded.farm.network().planes();
  if (planes.empty()) return {};
  std::string text = "\nplanes\n";
  const auto count = static_cast<std::size_t>(planes.size());
  const std::size_t dcms = loaded.plan.of_role(Role::dcm).size();
  for (std::size_t i = 0; i < count; ++i) {
    const v1::PlaneSettings& plane = planes[static_cast<int>(i)];
    text += fmt::format("  {:<16} {}, {}\n", plane.name(), plane.network(),
                        counted(dcms / count + (i < dcms % count ? 1 : 0), "DCM"));
  }
  const v1::NetworkSettings& network = loaded.farm.network();
  text += fmt::format("  a DCM leaves a dead plane after {} to {} ms\n",
                      network.heartbeat_ms() * network.heartbeat_misses(),
                      network.heartbeat_ms() * (network.heartbeat_misses() + 1));
  return text;
}

// Returns 0 for a trigger that runs as fast as possible.
double slices_per_s(const v1::TriggerSettings& trigger) {
  if (trigger.mode() == v1::TriggerSettings::MODE_CLOCK) return kMsPerS / trigger.slice_ms();
  const bool at_rate =
      trigger.mode() == v1::TriggerSettings::MODE_RATE || trigger.mode() == v1::TriggerSettings::MODE_POISSON;
  return at_rate ? trigger.rate_hz() : 0;
}

// Describes the data pushed to one DCM at a time, to compare with the buffer of its port.
std::string push_line(const LoadedFarm& loaded, double slice_bytes) {
  if (!config::is_push(loaded.farm)) return {};
  const config::PushTiming timing = config::push_timing(loaded.farm, loaded.farm);
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

// The journal of a run is removed at its end.
std::string journal_line(const v1::Farm& farm, double rate) {
  constexpr double kBytesPerSlice = 130;
  constexpr double kSecondsOfDay = 86400;
  if (!farm.supervisor().journal() || rate <= 0) return {};
  return fmt::format("  a run's journal at the supervisor is about {:g} bytes a slice: {} a day\n",
                     kBytesPerSlice, bytes_text(kBytesPerSlice * rate * kSecondsOfDay));
}

std::string expectations(const LoadedFarm& loaded, const SliceSize& size, double rate) {
  std::string text = fmt::format("  a slice is {} {}", size.kind, bytes_text(size.bytes));
  if (rate > 0)
    text += fmt::format("; {:g} a second make {}/s into the DCMs", rate, bytes_text(size.bytes * rate));
  return text + "\n" + journal_line(loaded.farm, rate) + push_line(loaded, size.bytes);
}

// Returns the network's throughput and buffer limits, or an empty text if its rates are unknown.
std::string network_text(const LoadedFarm& loaded, const run_record::FarmNetwork& network,
                         const run_record::SliceLoad& slice) {
  const DurationNs round_trip_ns = loaded.farm.network().round_trip_us() * kMicrosecond;
  const auto safe = safe_window_of(network, round_trip_ns);
  if (!safe) return {};
  const run_record::Theory theory = run_record::theory_of(network, slice);
  std::string text =
      fmt::format("\nnetwork\n  port of a DCM: {}",
                  config::print_rate(static_cast<std::uint64_t>(network.port()->port_bits_per_s)));
  if (theory.dcms_per_port > 1) text += fmt::format(", shared by {} DCMs", theory.dcms_per_port);
  text += fmt::format("\n  all DCMs together get {}/s at most; a slice alone takes {}\n",
                      bytes_text(theory.goodput_bytes_per_s),
                      microseconds_text(static_cast<std::uint64_t>(theory.serialisation_us)));
  if (safe->most <= 0) return text;
  text +=
      fmt::format("  a port holds from {} to {} under way", bytes_text(safe->least), bytes_text(safe->most));
  std::uint64_t window = proposed_window_bytes(*safe, theory.dcms_per_port);
  std::string tightest;
  for (const run_record::FarmLink& link : network.links) {
    const LinkLoad load = load_of(network, link, round_trip_ns);
    if (load.safe.most <= 0) continue;
    const auto proposed = proposed_window_bytes(load.safe, static_cast<std::uint32_t>(std::ceil(load.dcms)));
    if (proposed >= window) continue;
    window = proposed;
    tightest =
        fmt::format(", and {} up to {} for {:.4g} DCMs", link.name, bytes_text(load.safe.most), load.dcms);
  }
  return text + fmt::format("{}: dcm.window_bytes of {} is good\n", tightest, window);
}

// Returns the lab's network if a lab is given, else the farm file's.
Expected<run_record::FarmNetwork, std::string> network_at(const LoadedFarm& loaded,
                                                          const std::string& lab_file,
                                                          const std::vector<std::string>& sets) {
  if (lab_file.empty()) return run_record::network_of(loaded);
  const auto file = load_lab(lab_file, sets);
  if (!file) return Unexpected<std::string>(file.error());
  const auto lab = lab::plan_lab(*file, &loaded.plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  return network_of(*lab, loaded.plan);
}

// In a farm of several hosts, only processes on the same host reach one that listens on loopback.
config::Problems loopback_warnings(const LoadedFarm& loaded) {
  config::Problems warnings;
  if (!is_on_several_hosts(loaded)) return warnings;
  for (const auto& [role, key] :
       {std::pair(Role::readout, "readout.host"), {Role::writer, "writer.host"}, {Role::dcm, "dcm.host"}}) {
    std::string names;
    std::size_t count = 0;
    for (const config::NodePlan* node : loaded.plan.of_role(role)) {
      if (node->masked || node->listen.empty() || !config::is_loopback(node->listen)) continue;
      if (++count <= 3) names += (names.empty() ? "" : ", ") + node->name;
    }
    if (count == 0) continue;
    if (count > 3) names += fmt::format(" and {} more", count - 3);
    warnings.push_back(
        {config::ProblemKind::inconsistent, config::Severity::warning, loaded.locations.of(key), key,
         fmt::format("{} {} on loopback, where processes of other hosts do not reach {}: give the "
                     "address of the host here, or start each with --listen HOST:PORT",
                     names, count == 1 ? "listens" : "listen", count == 1 ? "it" : "them")});
  }
  return warnings;
}

// Warns about a congestion control that the kernel here does not have, or keeps for root.
config::Problems socket_warnings(const LoadedFarm& loaded) {
  constexpr const char* kKey = "network.congestion_control";
  const std::string problem =
      transport::congestion_control_problem(loaded.farm.network().congestion_control());
  if (problem.empty()) return {};
  return {{config::ProblemKind::inconsistent, config::Severity::warning, loaded.locations.of(kKey), kKey,
           problem}};
}

// Warns where rows of slices take more memory than their buffer, which bounds the fragments only.
config::Problems table_warnings(const LoadedFarm& loaded, const config::ExpectedSizes& sizes) {
  std::uint64_t readout = 0;
  for (const config::NodePlan* node : loaded.plan.of_role(Role::readout))
    readout =
        std::max(readout, readout_table_bytes(readout_tables(loaded.farm), node->sources.size(), sizes));
  const std::uint64_t dcm = dcm_table_bytes(dcm_tables(loaded.farm), loaded.plan.sources.size(), sizes);
  config::Problems warnings;
  const auto warn = [&](const char* key, std::uint64_t rows, std::uint64_t buffer, const char* remedy) {
    if (rows <= buffer) return;
    warnings.push_back(
        {config::ProblemKind::inconsistent, config::Severity::warning, loaded.locations.of(key), key,
         fmt::format("with this many sources, the rows of its slices take up to {} beside it: {}",
                     bytes_text(static_cast<double>(rows)), remedy)});
  };
  warn("readout.buffer_bytes", readout, loaded.farm.readout().buffer_bytes(),
       "provide that memory, or set a smaller supervisor.in_flight_max");
  const std::uint64_t deadline_ms = loaded.farm.dcm().deadline_ms();
  if (const std::uint64_t wanted_ms = slice_time_ms(loaded.plan.sources.size()); wanted_ms > deadline_ms) {
    warnings.push_back(
        {config::ProblemKind::inconsistent, config::Severity::warning, loaded.locations.of("dcm.deadline_ms"),
         "dcm.deadline_ms",
         fmt::format(
             "a DCM that shares its core may need {} ms for a slice of {} fragments; the deadline of {} ms "
             "would end before it is complete: set it to {}",
             wanted_ms, loaded.plan.sources.size(), deadline_ms, wanted_ms)});
  }
  warn("dcm.buffer_bytes", dcm, loaded.farm.dcm().buffer_bytes(),
       "provide that memory, or set smaller dcm.credits and dcm.buffer_bytes");
  return warnings;
}

const config::NodePlan* find(const config::FarmPlan& plan, const std::string& name) {
  const auto found = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                  [&](const config::NodePlan& node) { return node.name == name; });
  return found == plan.nodes.end() ? nullptr : &*found;
}

// Returns a node's keys, one per line.
std::string explanation(const LoadedFarm& loaded, const config::NodePlan& node) {
  const std::vector<config::ExplainedKey> keys = config::explain(loaded.farm, node, loaded.locations);
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  constexpr std::size_t kValueWidthMax = 32;
  for (const config::ExplainedKey& one : keys) {
    key_width = std::max(key_width, one.key.size());
    if (one.value.size() <= kValueWidthMax) value_width = std::max(value_width, one.value.size());
  }
  std::string text = fmt::format("{}: {}", node.name, name(node.role));
  if (!node.sources.empty()) text += fmt::format(", sources {}", ranges(node.sources));
  text += node.masked ? ", masked\n\n" : "\n\n";
  for (const config::ExplainedKey& one : keys) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", one.key, key_width, one.value, value_width,
                        one.where.empty() ? "default" : one.where);
  }
  return text;
}

}  // namespace

int explain_node(const FarmOptions& options, const std::string& name, std::FILE* out, std::FILE* err) {
  const auto loaded = load(options);
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  if (!loaded->warnings.empty()) fmt::print(err, "{}\n", config::to_text(loaded->warnings));
  const config::NodePlan* node = find(loaded->plan, name);
  if (node == nullptr) {
    std::vector<std::string> names;
    for (const config::NodePlan& one : loaded->plan.nodes) names.push_back(one.name);
    fmt::print(err, "the farm has no node '{}'{}\n", name,
               config::did_you_mean(config::nearest(name, names)));
    return kExitUsage;
  }
  std::fputs(explanation(*loaded, *node).c_str(), out);
  return kExitFine;
}

int check_farm(const FarmOptions& options, const std::string& lab_file, const std::string& costs_file,
               std::FILE* out, std::FILE* err) {
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
  const auto costs = costs_from(costs_file);
  if (!costs) {
    fmt::print(err, "{}\n", costs.error());
    return kExitUsage;
  }
  const SliceSize size = slice_size(*loaded);
  const double rate = slices_per_s(farm.trigger());
  const ProcessorTime time = processor_time(*loaded, size.sizes, rate, *costs);
  const run_record::SliceLoad slice{
      size.bytes, static_cast<double>(loaded->plan.sources.size() - loaded->plan.masked.size())};
  const config::Problems found = check_network(*loaded, loaded->locations, *network, {slice, rate});
  loaded->warnings.insert(loaded->warnings.end(), found.begin(), found.end());
  for (const config::Problems& more :
       {loopback_warnings(*loaded), socket_warnings(*loaded), table_warnings(*loaded, size.sizes),
        disk_warnings(*loaded), time.warnings})
    loaded->warnings.insert(loaded->warnings.end(), more.begin(), more.end());
  if (!loaded->warnings.empty()) fmt::print(err, "{}\n", config::to_text(loaded->warnings));
  std::string source;
  std::string filter;
  const plugin_trial::TriedFarm tried{*loaded, loaded->locations, {node::plugin_folder()}};
  config::Problems problems = try_apart(tried, "source.plugin", source, plugin_trial::load_sources);
  const config::Problems of_filter = try_apart(
      tried, "filter.plugin", filter, [](const plugin_trial::TriedFarm& of, std::string& description) {
        const auto problem = plugin_trial::try_filter(of, description);
        return problem ? config::Problems{*problem} : config::Problems();
      });
  problems.insert(problems.end(), of_filter.begin(), of_filter.end());
  const config::Problems disks = burst_disk_problems(*loaded);
  problems.insert(problems.end(), disks.begin(), disks.end());
  if (!problems.empty()) fmt::print(err, "{}\n", config::to_text(problems));
  std::string text = fmt::format("farm {}\n\n", farm.farm()) + plan_table(*loaded) +
                     dcm_groups_text(*loaded) + planes_text(*loaded);
  text +=
      "\nexpected\n" + expectations(*loaded, size, rate) + network_text(*loaded, *network, slice) + time.text;
  text += "\nmemory bounds\n" + memory_text(*loaded, size.sizes) + burst_disk_line(*loaded) +
          disk_lines(*loaded, rate * size.bytes);
  if (!source.empty()) text += "\nsource\n" + source;
  if (!filter.empty()) text += "\nfilter\n" + filter;
  std::fputs(text.c_str(), out);
  if (!problems.empty()) return kExitUsage;
  fmt::print(out, "\n{} is good{}.\n", options.farm_file, loaded->warnings.empty() ? "" : ", with warnings");
  return kExitFine;
}

}  // namespace weir::run
