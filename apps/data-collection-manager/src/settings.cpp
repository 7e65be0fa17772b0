#include "settings.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/source_groups.hpp>
#include <weir/node/reach.hpp>

#include <algorithm>
#include <set>

namespace weir::dcm {
namespace {

const char* shaper_name(const v1::Farm& farm) {
  switch (farm.dcm().shaper()) {
    case v1::DcmSettings::SHAPER_NONE:
      return "none";
    case v1::DcmSettings::SHAPER_BYTE_CREDITS:
      return "byte-credits";
    case v1::DcmSettings::SHAPER_FRAGMENT_CREDITS:
      return "fragment-credits";
    case v1::DcmSettings::SHAPER_DIATCP:
      return "diatcp";
    case v1::DcmSettings::SHAPER_PACED:
      return "paced";
    case v1::DcmSettings::SHAPER_ADAPTIVE:
      return "adaptive";
  }
  return "none";
}

shaping::ShaperSettings shaper_settings(const v1::DcmSettings& dcm, std::size_t readouts, std::size_t dcms) {
  shaping::ShaperSettings settings;
  settings.readouts = static_cast<std::uint32_t>(readouts);
  settings.only_dcm = dcms == 1;
  settings.window_bytes = dcm.window_bytes();
  settings.window_fragments = dcm.window_fragments();
  settings.window_strict = dcm.window_strict();
  settings.range_bytes = dcm.range_bytes();
  settings.bytes_per_s = dcm.pace_bytes_per_s();
  settings.burst_bytes = dcm.pace_burst_bytes();
  settings.pace_pairs = dcm.pace_pairs();
  return settings;
}

shaping::ReadoutOrder readout_order(const v1::DcmSettings& dcm) {
  switch (dcm.readout_order()) {
    case v1::DcmSettings::READOUT_ORDER_IN_ORDER:
      return shaping::ReadoutOrder::in_order;
    case v1::DcmSettings::READOUT_ORDER_ROTATED:
      return shaping::ReadoutOrder::rotated;
    case v1::DcmSettings::READOUT_ORDER_LEAST_LOADED:
      break;
  }
  return shaping::ReadoutOrder::least_loaded;
}

// For steps with data in transit; the supervisor waits for a lease beyond the first.
constexpr DurationNs kDeadlinesMax = 5;

std::size_t readouts_of(const node::Setup& setup) { return setup.plan.of_role(Role::readout).size(); }

}  // namespace

assembly::AssemblySettings assembly_settings(const v1::Farm& farm, bool remote) {
  const v1::DcmSettings& dcm = farm.dcm();
  assembly::AssemblySettings settings;
  settings.slices_max = dcm.slices_max();
  settings.fragment_bytes_max = static_cast<std::uint32_t>(dcm.fragment_bytes_max());
  // A range requested in one piece has to fit into one frame.
  const std::uint64_t frame_max = farm.network().frame_bytes_max();
  std::uint64_t range_bytes = dcm.range_bytes();
  if (range_bytes > frame_max || (range_bytes == 0 && dcm.fragment_bytes_max() > frame_max))
    range_bytes = frame_max;
  settings.range_bytes = static_cast<std::uint32_t>(range_bytes);
  settings.deadline_ns = dcm.deadline_ms() * kMillisecond;
  const DurationNs lease_ns = farm.supervisor().lease_ms() * kMillisecond;
  // A slice waits behind all others on the line, and after an outage TCP needs seconds to fill it.
  if (remote) settings.deadline_ns = std::max(settings.deadline_ns, lease_ns / 2);
  settings.deadline_most_ns =
      std::min(kDeadlinesMax * settings.deadline_ns, settings.deadline_ns + lease_ns / 2);
  for (const v1::FilterStepSettings& step : farm.filter().steps())
    settings.step_deadlines_ns.push_back(step.deadline_ms() * kMillisecond);
  settings.order = dcm.order() == v1::DcmSettings::ORDER_ID ? assembly::ReleaseOrder::by_id
                                                            : assembly::ReleaseOrder::as_completed;
  settings.checksums = farm.run().checksums();
  return settings;
}

CollectorSettings collector_settings(const node::Setup& setup) {
  const std::size_t readouts = readouts_of(setup);
  const std::size_t dcms = std::max<std::size_t>(1, setup.plan.of_role(Role::dcm).size());
  CollectorSettings settings;
  settings.assembly = assembly_settings(setup.farm, setup.self.remote);
  settings.readouts = static_cast<std::uint32_t>(readouts);
  const std::uint64_t frame_max = setup.farm.network().frame_bytes_max();
  if (setup.farm.dcm().fragment_bytes_max() > frame_max) settings.piece_bytes_max = frame_max / 2;
  if (setup.self.remote) settings.silence_ns = node::silence_ns(setup.farm);
  settings.order = readout_order(setup.farm.dcm());
  settings.first_readout = static_cast<std::uint32_t>(setup.self.index.value * readouts / dcms);
  return settings;
}

std::vector<SourceId> first_sources(const node::Setup& setup) {
  const auto groups = config::source_groups(setup.farm, setup.plan);
  WEIR_ASSERT(groups.has_value());  // validated when the farm was read
  return config::first_sources(setup.farm, *groups);
}

std::vector<std::vector<SourceId>> sources_after_steps(const node::Setup& setup) {
  std::vector<std::vector<SourceId>> after;
  const auto groups = config::source_groups(setup.farm, setup.plan);
  WEIR_ASSERT(groups.has_value());  // validated when the farm was read
  for (const v1::FilterStepSettings& step : setup.farm.filter().steps()) {
    std::set<SourceId> sources;
    for (const std::string& name : step.prefetch()) {
      const std::vector<SourceId> members = config::sources_of(*groups, name);
      sources.insert(members.begin(), members.end());
    }
    after.emplace_back(sources.begin(), sources.end());
  }
  return after;
}

tap::SamplerSettings sampler_settings(const node::Setup& setup) {
  const v1::TapSettings& tap = setup.farm.tap();
  const std::size_t dcms = std::max<std::size_t>(1, setup.plan.of_role(Role::dcm).size());
  tap::SamplerSettings settings;
  settings.bytes_per_s = std::min<std::uint64_t>(tap.rate_bytes_max(), tap.farm_rate_bytes_max() / dcms);
  settings.sample_bytes_max = tap.sample_bytes_max();
  settings.taps_max = tap.taps_max();
  return settings;
}

std::unique_ptr<shaping::Shaper> make_shaper(const node::Setup& setup) {
  auto shaper = shaping::make_shaper(
      shaper_name(setup.farm),
      shaper_settings(setup.farm.dcm(), readouts_of(setup), setup.plan.of_role(Role::dcm).size()));
  WEIR_ASSERT(shaper.has_value());
  return std::move(*shaper);
}

std::unique_ptr<shaping::Shaper> make_fetch_shaper(const node::Setup& setup) {
  const std::vector<const config::NodePlan*> dcms = setup.plan.of_role(Role::dcm);
  const auto keepers = std::count_if(dcms.begin(), dcms.end(),
                                     [](const config::NodePlan* dcm) { return !dcm->listen.empty(); });
  const bool adapts = setup.farm.dcm().shaper() == v1::DcmSettings::SHAPER_ADAPTIVE;
  auto shaper = shaping::make_shaper(
      adapts ? "none" : shaper_name(setup.farm),
      shaper_settings(setup.farm.dcm(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, keepers)),
                      dcms.size()));
  WEIR_ASSERT(shaper.has_value());
  return std::move(*shaper);
}

std::vector<assembly::SourceInfo> source_table(const config::FarmPlan& plan) {
  std::vector<assembly::SourceInfo> sources;
  for (const config::NodePlan* readout : plan.of_role(Role::readout)) {
    for (const SourceId source : readout->sources) {
      if (std::binary_search(plan.masked.begin(), plan.masked.end(), source)) continue;
      sources.push_back({source, readout->index.value});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return sources;
}

}  // namespace weir::dcm
