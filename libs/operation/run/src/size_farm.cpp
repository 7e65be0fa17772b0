#include "farm.hpp"
#include "processor_time.hpp"
#include <weir/base/figures.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/node/recordings.hpp>
#include <weir/run/exit_status.hpp>
#include <weir/run/host_size.hpp>
#include <weir/run/size_farm.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::run {
namespace {

// Dummy sources are counted for each readout, so that only a divisor of their number keeps it.
bool counts_for_each(v1::SourceSettings::Kind kind) { return kind == v1::SourceSettings::KIND_DUMMY; }

// A front-end belongs to its readout; a list of nodes is the user's own choice.
Choices choices_of(const LoadedFarm& loaded) {
  const auto& farm = loaded.farm;
  Choices choices;
  choices.dcms = farm.dcm().nodes().empty();
  choices.writers =
      farm.writer().nodes().empty() && farm.writer().listen().empty() && farm.writer().count() > 0;
  const auto kind = farm.source().kind();
  const bool divides = kind == v1::SourceSettings::KIND_DUMMY || kind == v1::SourceSettings::KIND_HITS ||
                       kind == v1::SourceSettings::KIND_REPLAY;
  if (!divides || !farm.readout().nodes().empty()) return choices;
  const auto sources = static_cast<std::uint32_t>(loaded.plan.sources.size());
  // The emulation of hits takes time that is not in the estimate.
  const std::uint32_t least = kind == v1::SourceSettings::KIND_HITS ? farm.readout().count() : 1;
  for (std::uint32_t count = least; count <= sources; ++count) {
    if (!counts_for_each(kind) || sources % count == 0) choices.readouts.push_back(count);
  }
  return choices;
}

std::string processes(const FarmProcesses& shape) {
  return fmt::format("{}, {}, {}", counted(shape.readouts, "readout"), counted(shape.dcms, "DCM"),
                     counted(shape.writers, "writer"));
}

std::string fixed_roles(const Choices& choices) {
  std::vector<std::string> fixed;
  if (choices.readouts.empty()) fixed.emplace_back("readouts");
  if (!choices.dcms) fixed.emplace_back("DCMs");
  if (!choices.writers) fixed.emplace_back("writers");
  std::string text;
  for (std::size_t i = 0; i < fixed.size(); ++i)
    text += (i == 0 ? "" : i + 1 == fixed.size() ? " and " : ", ") + fixed[i];
  return text;
}

std::string page_of(const SizeOptions& options, const LoadedFarm& loaded, const Choices& choices,
                    const HostSize& size, double cores, const std::string& origin) {
  const FarmProcesses& shape = size.shape;
  std::string text = fmt::format(
      "# {} for {}, by `weir size`: {}.\n"
      "# Estimated: {} slices a second at most; then {} {} full. Filter and front-ends come on top.\n"
      "# Costs of a slice: {}.\n",
      options.farm_file, counted(static_cast<std::uint64_t>(cores), "core"), processes(shape),
      rounded(size.capacity.slices_per_s), text_of(size.capacity.limit),
      size.capacity.limit == Limit::supervisor ? "is" : "are", origin);
  if (const std::string fixed = fixed_roles(choices); !fixed.empty())
    text += fmt::format("# The {} are those of {}.\n", fixed, options.farm_file);
  text += fmt::format("include: ['{}']\n", options.farm_file);
  if (!choices.readouts.empty()) {
    text += fmt::format("readout: {{count: {}", shape.readouts);
    if (counts_for_each(loaded.farm.source().kind()))
      text += fmt::format(", sources_per_readout: {}", loaded.plan.sources.size() / shape.readouts);
    text += "}\n";
  }
  if (choices.dcms) text += fmt::format("dcm: {{count: {}}}\n", shape.dcms);
  if (choices.writers) text += fmt::format("writer: {{count: {}}}\n", shape.writers);
  return text;
}

}  // namespace

int size_farm(const SizeOptions& options, std::FILE* out, std::FILE* err) {
  const auto loaded = load({options.farm_file, {}});
  if (!loaded) {
    fmt::print(err, "{}\n", config::to_text(loaded.error()));
    return kExitUsage;
  }
  if (config::is_push(loaded->farm)) {
    fmt::print(err, "{}: run.mode: its push running was not measured: set the counts of processes yourself\n",
               options.farm_file);
    return kExitUsage;
  }
  const auto costs = costs_from(options.costs_file);
  if (!costs) {
    fmt::print(err, "{}\n", costs.error());
    return kExitUsage;
  }
  const double cores = options.cores == 0 ? usable_cores() : options.cores;
  const auto sizes = config::expected_sizes(loaded->farm, loaded->plan, node::read_recording);
  const Choices choices = choices_of(*loaded);
  const HostSize size =
      fit_to_host(CostModel(*costs), shape_of(*loaded, sizes), choices, cores, options.slices_per_s);
  std::fputs(page_of(options, *loaded, choices, size, cores, costs->origin).c_str(), out);
  if (size.capacity.slices_per_s >= options.slices_per_s) return kExitFine;
  fmt::print(err, "weir size: {} slices a second are more than {} can: {} {} full at about {}\n",
             rounded(options.slices_per_s), counted(static_cast<std::uint64_t>(cores), "core"),
             text_of(size.capacity.limit), size.capacity.limit == Limit::supervisor ? "is" : "are",
             rounded(size.capacity.slices_per_s));
  return 1;
}

}  // namespace weir::run
