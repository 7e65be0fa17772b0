#include "processor_time.hpp"

#include "burst_disks.hpp"
#include <weir/base/figures.hpp>
#include <weir/config/push_timing.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sched.h>
#include <utility>

namespace weir::run {
namespace {

std::string share(double microseconds, std::uint32_t processes, double rate) {
  return fmt::format("{:.2g}", microseconds * rate / kUsPerS / std::max(1U, processes));
}

std::string of_a_slice(const FarmProcesses& shape, const SliceCosts& times) {
  std::string text = fmt::format(
      "  a slice takes {:.2g} us of each readout, {:.2g} us of its DCM, {:.2g} us of the supervisor",
      times.readouts / shape.readouts, times.dcm, times.supervisor);
  if (shape.writers > 0)
    text += fmt::format(", {:.2g} us of its writer, {:.2g} us of the file system", times.writer, times.disk);
  return text + "\n";
}

std::string at_rate(const FarmProcesses& shape, const SliceCosts& times, double rate) {
  std::string text = fmt::format(
      "  {} a second use, of a core: {} of the busiest readout, {} of each DCM, {} of the supervisor",
      rounded(rate), share(times.readout, 1, rate), share(times.dcm, shape.dcms, rate),
      share(times.supervisor, 1, rate));
  if (shape.writers > 0)
    text += fmt::format(", {} of each writer and {} of its file system",
                        share(times.writer, shape.writers, rate), share(times.disk, shape.writers, rate));
  return text + fmt::format("; {} cores in all\n", share(times.all(), 1, rate));
}

class RateCheck {
 public:
  RateCheck(const LoadedFarm& loaded, const FarmProcesses& shape, const SliceCosts& times, double rate)
      : loaded_(loaded), shape_(shape), times_(times), rate_(rate) {}

  config::Problems run() {
    const double sources = std::max(1.0, shape_.busiest_sources);
    const double readouts = shape_.readouts * std::max(1U, processes_for(times_.readout, rate_));
    check("readout.count", "readout", times_.readout, 1,
          static_cast<std::uint32_t>(std::min(readouts, shape_.readouts * sources)), shape_.readouts);
    check("dcm.count", "DCM", times_.dcm, shape_.dcms, processes_for(times_.dcm, rate_), shape_.dcms);
    const double writer = std::max(times_.writer, times_.disk);
    if (shape_.writers > 0)
      check("writer.count", "writer", writer, shape_.writers, processes_for(writer, rate_), shape_.writers);
    if (processes_for(times_.supervisor, rate_) > 1)
      warn("supervisor",
           fmt::format("{} slices a second take {} cores of the supervisor, which has one: make fewer, "
                       "larger slices",
                       rounded(rate_), share(times_.supervisor, 1, rate_)));
    return std::move(problems_);
  }

 private:
  void warn(const std::string& key, std::string what) {
    problems_.push_back({config::ProblemKind::inconsistent, config::Severity::warning,
                         loaded_.locations.of(key), key, std::move(what)});
  }

  void check(const char* key, const char* name, double us, std::uint32_t sharing, std::uint32_t needed,
             std::uint32_t present) {
    if (processes_for(us / sharing, rate_) == 1) return;
    const std::string remedy = needed > present ? fmt::format("about {} are needed", needed)
                                                : "a readout of one source cannot be divided";
    warn(key, fmt::format("{} slices a second take {} cores of each {}, and a process uses one at most: {}",
                          rounded(rate_), share(us, sharing, rate_), name, remedy));
  }

  const LoadedFarm& loaded_;
  const FarmProcesses& shape_;
  const SliceCosts& times_;
  double rate_;
  config::Problems problems_;
};

}  // namespace

std::string rounded(double rate) {
  const double step = std::pow(10, std::max(0.0, std::floor(std::log10(std::max(1.0, rate))) - 1));
  return grouped(static_cast<std::uint64_t>(std::llround(rate / step) * std::llround(step)));
}

std::uint32_t usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&cores))
                                                           : 1;
}

FarmProcesses shape_of(const LoadedFarm& loaded, const config::ExpectedSizes& sizes) {
  const std::vector<SourceId>& masked = loaded.plan.masked;
  FarmProcesses shape{0, 0, 0, 0, 0, static_cast<double>(sizes.fragment)};
  for (const config::NodePlan& node : loaded.plan.nodes) {
    if (node.masked) continue;
    if (node.role == Role::dcm && node.group == 0) ++shape.dcms;
    if (node.role == Role::writer) ++shape.writers;
    if (node.role != Role::readout) continue;
    const auto read = static_cast<double>(std::ranges::count_if(node.sources, [&](SourceId source) {
      return !std::binary_search(masked.begin(), masked.end(), source);
    }));
    ++shape.readouts;
    shape.sources += read;
    shape.busiest_sources = std::max(shape.busiest_sources, read);
  }
  shape.readouts = std::max(1U, shape.readouts);
  shape.dcms = std::max(1U, shape.dcms);
  return shape;
}

Expected<CostTable, std::string> costs_from(const std::string& file) {
  return file.empty() ? built_in_costs() : read_costs(file);
}

ProcessorTime processor_time(const LoadedFarm& loaded, const config::ExpectedSizes& sizes,
                             double slices_per_s, const CostTable& costs) {
  if (config::is_push(loaded.farm)) return {};  // not measured
  const FarmProcesses shape = shape_of(loaded, sizes);
  const SliceCosts times = CostModel(costs).of(shape);
  const Capacity capacity = capacity_of(shape, times, usable_cores());
  ProcessorTime time;
  time.text = "\nprocessor time, without filter and front-ends (costs: " + costs.origin + ")\n";
  time.text += of_a_slice(shape, times);
  if (slices_per_s > 0) {
    time.text += at_rate(shape, times, slices_per_s);
    time.warnings = RateCheck(loaded, shape, times, slices_per_s).run();
  }
  if (is_on_several_hosts(loaded)) return time;
  const std::uint32_t cores = usable_cores();
  time.text += fmt::format(
      "  all together on the {} of this host: about {} slices a second at most; then {} {} full\n",
      cores == 1 ? "core" : fmt::format("{} cores", cores), rounded(capacity.slices_per_s),
      text_of(capacity.limit), capacity.limit == Limit::supervisor ? "is" : "are");
  return time;
}

}  // namespace weir::run
