#include <weir/base/assert.hpp>
#include <weir/run/host_size.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace weir::run {
namespace {

// Above this use of a core a process counts as full (reports::limit_of).
constexpr double kUsable = 0.9;

std::uint32_t busiest(double sources, std::uint32_t readouts) {
  return static_cast<std::uint32_t>(std::ceil(sources / readouts));
}

// Returns the shape with one more process of the role that is full; nullopt: the farm allows no more.
std::optional<FarmProcesses> with_one_more(FarmProcesses shape, const Choices& choices, Limit limit) {
  switch (limit) {
    case Limit::readouts: {
      const auto more = std::ranges::upper_bound(choices.readouts, shape.readouts);
      if (more == choices.readouts.end()) return std::nullopt;
      shape.readouts = *more;
      shape.busiest_sources = busiest(shape.sources, shape.readouts);
      return shape;
    }
    case Limit::dcms:
      ++shape.dcms;
      return choices.dcms ? std::optional(shape) : std::nullopt;
    case Limit::writers:
      ++shape.writers;
      return choices.writers ? std::optional(shape) : std::nullopt;
    case Limit::supervisor:
    case Limit::cores:
      break;
  }
  return std::nullopt;
}

}  // namespace

const char* text_of(Limit limit) {
  switch (limit) {
    case Limit::readouts:
      return "the readouts";
    case Limit::dcms:
      return "the DCMs";
    case Limit::supervisor:
      return "the supervisor";
    case Limit::writers:
      return "the writers";
    case Limit::cores:
      break;
  }
  return "the host's cores";
}

Capacity capacity_of(const FarmProcesses& shape, const SliceCosts& times, double cores) {
  WEIR_ASSERT(shape.readouts > 0 && shape.dcms > 0 && cores > 0);
  // The cores come first: where they and a process are full at once, another process does not help.
  const std::pair<Limit, double> shares[] = {
      {Limit::cores, times.all() / cores},
      {Limit::readouts, times.readout},
      {Limit::dcms, times.dcm / shape.dcms},
      {Limit::supervisor, times.supervisor},
      {Limit::writers, shape.writers == 0 ? 0 : std::max(times.writer, times.disk) / shape.writers}};
  const auto& [limit, us] = *std::ranges::max_element(shares, {}, &std::pair<Limit, double>::second);
  return {us > 0 ? kUsPerS / us : 0, limit};
}

HostSize fit_to_host(const CostModel& model, FarmProcesses shape, const Choices& choices, double cores,
                     double slices_per_s) {
  if (!choices.readouts.empty()) {
    shape.readouts = choices.readouts.front();
    shape.busiest_sources = busiest(shape.sources, shape.readouts);
  }
  if (choices.dcms) shape.dcms = 1;
  if (choices.writers) shape.writers = std::min(shape.writers, 1U);
  const auto sized = [&](const FarmProcesses& of) {
    const SliceCosts times = model.of(of);
    return HostSize{of, times, capacity_of(of, times, cores)};
  };
  HostSize best = sized(shape);
  HostSize size = best;
  while (slices_per_s <= 0 || best.capacity.slices_per_s < slices_per_s) {
    const auto more = with_one_more(size.shape, choices, size.capacity.limit);
    if (!more) break;
    size = sized(*more);
    if (size.capacity.slices_per_s > best.capacity.slices_per_s) best = size;
  }
  return best;
}

std::uint32_t processes_for(double microseconds, double slices_per_s) {
  const double cores = microseconds * slices_per_s / kUsPerS;
  return std::max(1U, static_cast<std::uint32_t>(std::ceil(cores / kUsable)));
}

}  // namespace weir::run
