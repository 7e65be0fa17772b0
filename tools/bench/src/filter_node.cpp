// Runs of a filter node at rising input rates.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/bench/conditions.hpp>
#include <weir/bench/filter_node.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sched.h>

namespace weir::bench {
namespace {

std::vector<std::uint32_t> cpus_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::uint32_t> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

FilterNodePoint point_of(const FilterNodeCase& node, double input_khz, const run_record::Summary& summary) {
  FilterNodePoint point;
  point.input_khz = input_khz;
  point.offered = summary.offered;
  point.thrown_away = run_record::total_of(summary.vetoed) + run_record::total_of(summary.discarded);
  const run_record::CpuSummary& cpu = summary.cpu;
  const auto slices = static_cast<double>(std::max<std::uint64_t>(1, cpu.slices));
  point.cost.filter_ms = kMsPerS * cpu.filter_s / slices;
  point.cost.transport_ms = kMsPerS * cpu.transport_s / slices;
  if (cpu.seconds > 0) {
    point.cost.filter_percent = kPercent * cpu.filter_s / cpu.seconds / node.filters;
    point.cost.transport_percent = kPercent * cpu.transport_s / cpu.seconds;
  }
  return point;
}

Expected<FilterNodeResult, std::string> measure(const FilterNodeCase& node,
                                                const std::vector<std::uint32_t>& cpus, double seconds,
                                                std::FILE* err) {
  FilterNodeResult result;
  result.node = node;
  do {
    const double input_khz = !node.emulated          ? kFilterNodeKhz
                             : result.points.empty() ? kFilterNodeFromKhz
                                                     : result.points.back().input_khz + kFilterNodeStepKhz;
    result.other_share = std::max(result.other_share, sample_busy_share());
    const MachineLoad load;
    const auto summary = summary_of_run(farm_text(node, input_khz, cpus), seconds);
    if (!summary) return Unexpected<std::string>(summary.error());
    FilterNodePoint& point = result.points.emplace_back(point_of(node, input_khz, *summary));
    point.cpu = load.cpu_s_per_s();
    fmt::print(
        err,
        "{:<20} {:>3.0f} kHz: {} of {} slices thrown away; a slice: filter {:.3f} ms, transport {:.3f} ms\n",
        node.label, input_khz, point.thrown_away, point.offered, point.cost.filter_ms,
        point.cost.transport_ms);
  } while (raises(result));
  return result;
}

}  // namespace

int run_filter_node(const FilterNodeOptions& options, std::FILE* out, std::FILE* err) {
  const std::vector<std::uint32_t> cpus = cpus_of_this_process();
  const std::string where = where_now();
  Figure figure;
  figure.bench = "filter-node";
  figure.needs_all = true;
  for (const FilterNodeCase& node : filter_node_cases()) {
    const auto measure_node = [&, err]() -> Expected<Lines, std::string> {
      if (cpus.size() < node.cpus)
        return Unexpected<std::string>(
            fmt::format("needs {} CPUs, and this process may use {}", node.cpus, cpus.size()));
      const auto result = measure(node, {cpus.begin(), cpus.begin() + node.cpus}, options.seconds, err);
      if (!result) return Unexpected<std::string>(result.error());
      if (const std::string why = result->without_max(); !why.empty())
        fmt::print(err, "weir bench filter-node: {}: {}\n", node.label, why);
      return lines_of(*result);
    };
    figure.groups.push_back({{node.label, measure_node}});
  }
  figure.is_good = [](const Line& line) { return text_of(line, "_without_max").empty(); };
  figure.page = [&](const Lines& lines) { return filter_node_page(lines, options, where); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
