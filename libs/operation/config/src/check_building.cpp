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
  if (build.on_out_of_step() == Build::ON_OUT_OF_STEP_REALIGN && build.time_tolerance_us() <= 0)
    found.inconsistent("build.on_out_of_step",
                       "'realign' in build.by 'number' needs the front-ends' times: set "
                       "build.time_tolerance_us");
  const double wait_ms = farm.source().wait_ms();
  if (wait_ms > 0 && build.skew_ms() > wait_ms) {
    found.warn("build.skew_ms", "is longer than source.wait_ms: fragments that come within it are missing");
  }
}

// By number, numbers are always compared with the farm's.
bool compares(const Build& build) {
  return build.by() == Build::BY_NUMBER || build.counter_bits() > 0 || build.time_tolerance_us() > 0;
}

bool delivers_by_itself(const v1::SourceSettings& source) {
  return source.kind() == v1::SourceSettings::KIND_PLUGIN || source.kind() == v1::SourceSettings::KIND_UDP;
}

// The front-ends of the nodes under check.
void check_step_sources(Validation& found) {
  const Build& build = found.farm().build();
  const v1::SourceSettings& source = found.here().source();
  if (build.on_out_of_step() == Build::ON_OUT_OF_STEP_REALIGN && !delivers_by_itself(source))
    found.inconsistent(
        "build.on_out_of_step",
        "'realign' is for front-ends that deliver by themselves: source.kind 'udp' or 'plugin'");
  const bool counts_others = found.farm().trigger().mode() != v1::TriggerSettings::MODE_NETWORK;
  if (build.by() == Build::BY_TRIGGER && build.counter_bits() > 0 && counts_others &&
      delivers_by_itself(source))
    found.warn(
        "build.counter_bits",
        "the supervisor makes the triggers, and front-ends that count triggers of their own get out of step "
        "at once: set trigger.mode to 'network', or build.by to 'number'");
}

}  // namespace

// Counters and times of front-ends that are compared with the slices.
void check_steps(Validation& found) {
  const Build& build = found.farm().build();
  if (build.by() == Build::BY_TIME) return;
  if (build.on_out_of_step() != Build::ON_OUT_OF_STEP_MARK && !compares(build))
    found.warn("build.on_out_of_step",
               "nothing is compared: set build.counter_bits or build.time_tolerance_us");
  if (build.on_out_of_step() == Build::ON_OUT_OF_STEP_REALIGN &&
      found.farm().run().mode() == v1::RunSettings::MODE_PUSH)
    found.inconsistent("build.on_out_of_step", "'realign' does not work with run.mode 'push'");
  const v1::TriggerSettings& trigger = found.farm().trigger();
  double apart_us = 0;
  if (trigger.mode() == v1::TriggerSettings::MODE_RATE && trigger.rate_hz() > 0)
    apart_us = 1e6 / trigger.rate_hz();
  if (trigger.mode() == v1::TriggerSettings::MODE_CLOCK) apart_us = 1e3 * trigger.slice_ms();
  if (apart_us > 0 && 2 * build.time_tolerance_us() >= apart_us)
    found.warn(
        "build.time_tolerance_us",
        "a source that slips by one is not seen: it has to be below half of the time between triggers");
  found.for_kinds(Role::readout, found.farm().readout().nodes_size(), [&] { check_step_sources(found); });
}

void check_step_offsets(Validation& found, const FarmPlan& plan) {
  const std::set<SourceId> known(plan.sources.begin(), plan.sources.end());
  const Build& build = found.farm().build();
  for (int i = 0; i < build.offsets_size(); ++i) {
    const auto& sources = build.offsets(i).sources();
    for (int k = 0; k < sources.size(); ++k) {
      if (!known.contains(SourceId(sources[k])))
        found.inconsistent("build.offsets[" + std::to_string(i) + "].sources[" + std::to_string(k) + "]",
                           "unknown source " + std::to_string(sources[k]));
    }
  }
}

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
