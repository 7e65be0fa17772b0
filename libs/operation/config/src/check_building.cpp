#include "validation.hpp"

#include <set>
#include <string>

namespace weir::config {
namespace {

using Build = v1::BuildSettings;

constexpr std::uint32_t kCounterBitsMin = 8;
// The packets of kind `udp` are put together by slice: a number must not come again within a run.
constexpr std::uint32_t kUdpCounterBitsMin = 48;

bool is_udp(const v1::SourceSettings& source) {
  return source.kind() == v1::SourceSettings::KIND_UDP ||
         (source.kind() == v1::SourceSettings::KIND_PLUGIN && source.plugin() == "udp");
}

void check_numbers(Validation& found) {
  const v1::Farm& farm = found.farm();
  const Build& build = farm.build();
  if (farm.trigger().mode() != v1::TriggerSettings::MODE_MAX)
    found.inconsistent("trigger.mode",
                       "build.by 'number' takes its slices from the front-ends: leave it out");
  bool counts = false;
  found.for_kinds(Role::readout, farm.readout().nodes_size(), [&] {
    const v1::SourceSettings& source = found.here().source();
    const bool udp = is_udp(source);
    counts = counts || udp || source.kind() == v1::SourceSettings::KIND_PLUGIN;
    if (udp && build.counter_bits() != 0 && build.counter_bits() < kUdpCounterBitsMin) {
      found.inconsistent("build.counter_bits",
                         "source.kind 'udp' needs numbers of at least " + std::to_string(kUdpCounterBitsMin) +
                             " bits in build.by 'number', because packets are put together by number");
    }
  });
  if (!counts) {
    found.inconsistent("build.by",
                       "'number' needs front-ends that count: a source.kind 'udp' or 'plugin'; the "
                       "other kinds make fragments of slices that exist already");
  }
  const double wait_ms = farm.source().wait_ms();
  if (wait_ms > 0 && build.skew_ms() > wait_ms) {
    found.warn("build.skew_ms", "is longer than source.wait_ms: fragments that come within it are missing");
  }
}

}  // namespace

void check_building(Validation& found) {
  const Build& build = found.farm().build();
  if (build.counter_bits() > 0 && build.counter_bits() < kCounterBitsMin)
    found.error(ProblemKind::out_of_range, "build.counter_bits",
                std::to_string(build.counter_bits()) + " is below " + std::to_string(kCounterBitsMin));
  std::set<std::uint32_t> sources;
  for (int i = 0; i < build.offsets_size(); ++i) {
    for (const std::uint32_t source : build.offsets(i).sources()) {
      if (sources.insert(source).second) continue;
      found.inconsistent("build.offsets[" + std::to_string(i) + "].sources",
                         "source " + std::to_string(source) + " has an offset already");
    }
  }
  if (build.by() == Build::BY_NUMBER) check_numbers(found);
}

}  // namespace weir::config
