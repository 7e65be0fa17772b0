#pragma once

#include <weir/run/costs.hpp>

#include <cstdint>
#include <vector>

// The processes of a farm that use a host's cores. Pure.
namespace weir::run {

inline constexpr double kUsPerS = 1e6;

enum class Limit : std::uint8_t { readouts, dcms, supervisor, writers, cores };
[[nodiscard]] const char* text_of(Limit limit);  // "the DCMs"

struct Capacity {
  double slices_per_s = 0;
  Limit limit = Limit::cores;  // what is full at that rate
};
// Returns the most slices that the farm builds on so many cores; a process uses one at most.
[[nodiscard]] Capacity capacity_of(const FarmProcesses& shape, const SliceCosts& times, double cores);

// Numbers of processes from which a farm may choose. Empty: the shape's own.
struct Choices {
  std::vector<std::uint32_t> readouts;  // ascending
  bool dcms = true;
  bool writers = true;
};

struct HostSize {
  FarmProcesses shape;
  SliceCosts times;
  Capacity capacity;
};
// Begins with the fewest processes and gives another one to whichever is full, until the cores are, the rate
// is reached (0: no limit), or the farm allows no more. Depends on its arguments only.
[[nodiscard]] HostSize fit_to_host(const CostModel& model, FarmProcesses shape, const Choices& choices,
                                   double cores, double slices_per_s);

// Returns how many processes share this work, so that none uses a core fully.
[[nodiscard]] std::uint32_t processes_for(double microseconds, double slices_per_s);

}  // namespace weir::run
