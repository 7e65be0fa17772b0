#include "settings.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/filter_settings.hpp>
#include <weir/config/forward_groups.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/config/rate.hpp>
#include <weir/config/silence.hpp>
#include <weir/config/source_groups.hpp>
#include <weir/node/identity.hpp>

#include <fmt/format.h>

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

shaping::ShaperSettings shaper_settings(const v1::Farm& farm, std::size_t readouts, std::size_t dcms) {
  const v1::DcmSettings& dcm = farm.dcm();
  const v1::NetworkSettings& network = farm.network();
  shaping::ShaperSettings settings;
  settings.port_buffer_bytes = config::parse_buffer(network.port_buffer()).value_or(0);
  const double bits_per_us = static_cast<double>(config::parse_rate(network.port_rate()).value_or(0)) / 1e6;
  settings.port_round_trip_bytes = static_cast<std::uint64_t>(bits_per_us / 8 * network.round_trip_us());
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

CollectorSettings collector_settings(const node::Setup& setup) {
  const std::size_t readouts = readouts_of(setup);
  const std::size_t dcms = std::max<std::size_t>(1, setup.plan.of_role(Role::dcm).size());
  CollectorSettings settings;
  settings.assembly = assembly_settings(setup);
  settings.readouts = static_cast<std::uint32_t>(readouts);
  const std::uint64_t frame_max = setup.farm.network().frame_bytes_max();
  if (setup.farm.dcm().fragment_bytes_max() > frame_max) settings.piece_bytes_max = frame_max / 2;
  if (setup.self.remote) settings.silence_ns = config::silence_ns(setup.farm);
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

burst::RingSettings ring_settings(const v1::Farm& farm, std::size_t writers) {
  const v1::BurstSettings& burst = farm.burst();
  burst::RingSettings settings;
  const auto frozen = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * burst.frozen_share());
  };
  settings.bytes = burst.buffer_bytes();
  settings.disk_bytes = burst.disk_bytes();
  settings.frozen_bytes_max = frozen(std::max(burst.buffer_bytes(), burst.disk_bytes()));
  settings.frozen_memory_bytes_max = frozen(burst.buffer_bytes());
  settings.bytes_per_s = burst.save_bytes_per_s();
  settings.in_flight_bytes_max = BurstSaver::kStagedMax * std::max<std::size_t>(1, writers);
  return settings;
}

std::vector<TypeSources> type_sources(const v1::Farm& farm) {
  std::vector<TypeSources> types;
  for (const v1::TriggerTypeSettings& type : farm.trigger().types()) {
    if (!type.sources().empty())
      types.push_back({type.type(), {type.sources().begin(), type.sources().end()}});
  }
  return types;
}

RecordContext record_context(const node::Setup& setup) {
  return {setup.run, setup.self.index, setup.farm.run().checksums()};
}

bool does_fetch(const node::Setup& setup) {
  const std::vector<bool> fetching = config::fetching_groups(setup.farm);
  return setup.self.group < fetching.size() && fetching[setup.self.group];
}

BurstSaverSettings burst_saver_settings(const node::Setup& setup) {
  const std::size_t writers = setup.plan.of_role(Role::writer).size();
  return {.link = link_settings(setup),
          .writers = writers,
          .ring = ring_settings(setup.farm, writers),
          .record = record_context(setup)};
}

filter_host::FilterConfig filter_config(const node::Setup& setup) {
  filter_host::FilterConfig config;
  config.forward_groups = config::forward_groups(setup.farm, setup.self);
  if (const auto groups = config::source_groups(setup.farm, setup.plan))
    config.groups = filter_host::filter_groups(*groups);
  const auto& parameters = setup.farm.filter().parameters();
  config.parameters.assign(parameters.begin(), parameters.end());
  return config;
}

worker_pool::PoolSettings worker_settings(const v1::Farm& farm) {
  constexpr std::uint32_t kLaneSlots = 256;  // slices that a worker has ahead at most
  const v1::FilterSettings& filter = farm.filter();
  const std::uint32_t count = filter.workers().count();
  worker_pool::PoolSettings settings;
  settings.workers = std::max(1U, count == 0 ? farm.dcm().processing_units() : count);
  settings.spares = filter.workers().spare();
  settings.lane_slots = kLaneSlots;
  settings.kills_max = farm.supervisor().attempts_max();
  settings.timeout_ns = config::from_ms(filter.timeout_ms());
  settings.start_timeout_ns = config::from_ms(filter.workers().start_timeout_ms());
  settings.end_share_max = filter.error_share_max();
  return settings;
}

bool gives_up_late(const v1::Farm& farm) {
  return farm.dcm().incomplete() == v1::DcmSettings::INCOMPLETE_ORDER;
}

}  // namespace

assembly::AssemblySettings assembly_settings(const node::Setup& setup) {
  const v1::Farm& farm = setup.farm;
  const v1::DcmSettings& dcm = farm.dcm();
  assembly::AssemblySettings settings;
  settings.slices_max = dcm.slices_max();
  settings.waiting_max = assembly::waiting_slices_max(dcm.buffer_bytes(), setup.plan.sources.size());
  settings.fragment_bytes_max = static_cast<std::uint32_t>(dcm.fragment_bytes_max());
  // A range requested in one piece has to fit into one frame.
  const std::uint64_t frame_max = farm.network().frame_bytes_max();
  std::uint64_t range_bytes = dcm.range_bytes();
  if (range_bytes > frame_max || (range_bytes == 0 && dcm.fragment_bytes_max() > frame_max))
    range_bytes = frame_max;
  settings.range_bytes = static_cast<std::uint32_t>(range_bytes);
  settings.deadline_ns = config::from_ms(dcm.deadline_ms());
  const DurationNs lease_ns = config::from_ms(farm.supervisor().lease_ms());
  // A slice waits behind all others on the line, and after an outage TCP needs seconds to fill it.
  if (setup.self.remote) settings.deadline_ns = std::max(settings.deadline_ns, lease_ns / 2);
  settings.deadline_most_ns =
      std::min(kDeadlinesMax * settings.deadline_ns, settings.deadline_ns + lease_ns / 2);
  for (const v1::FilterStepSettings& step : farm.filter().steps())
    settings.step_deadlines_ns.push_back(config::from_ms(step.deadline_ms()));
  if (dcm.order() == v1::DcmSettings::ORDER_ID) settings.order = assembly::ReleaseOrder::by_id;
  if (gives_up_late(farm)) settings.order = assembly::ReleaseOrder::pushed_by_id;
  settings.checksums = farm.run().checksums();
  return settings;
}

LinkSettings link_settings(const node::Setup& setup) {
  return {.self = setup.identity,
          .limits = setup.limits,
          .reconnect_ns = config::from_ms(setup.farm.network().reconnect_ms()),
          .silence_ns = config::silence_ns(setup.farm)};
}

std::optional<PlaneLinkSettings> plane_settings(const node::Setup& setup) {
  const v1::NetworkSettings& network = setup.farm.network();
  const auto planes = static_cast<std::uint32_t>(network.planes_size());
  if (planes < 2) return std::nullopt;
  const std::uint32_t dcm = setup.self.index.value;
  PlaneLinkSettings settings{.link = link_settings(setup),
                             .choice = {.planes = planes,
                                        .home = dcm % planes,
                                        .turn = dcm + 1 + dcm / planes % (planes - 1),
                                        .readouts = readouts_of(setup),
                                        .period_ns = config::from_ms(network.heartbeat_ms()),
                                        .misses = network.heartbeat_misses(),
                                        .hold_ns = config::from_ms(network.plane_hold_ms())},
                             .names = {},
                             .patience_ns = config::from_ms(setup.farm.dcm().deadline_ms()) +
                                            config::from_ms(setup.farm.dcm().grace_ms())};
  for (const v1::PlaneSettings& plane : network.planes()) settings.names.push_back(plane.name());
  return settings;
}

PushAdmissionSettings push_admission_settings(const node::Setup& setup) {
  const v1::DcmSettings& dcm = setup.farm.dcm();
  return {.self = setup.self.index,
          .readouts = static_cast<std::uint32_t>(readouts_of(setup)),
          .timing = config::push_timing(setup.farm, *setup.whole_farm),
          .slice_ns = config::from_ms(setup.farm.trigger().slice_ms()),
          .wait_ns = config::from_ms(dcm.push_wait_ms()),
          .deadline_ns = config::from_ms(dcm.deadline_ms()),
          .unbound_max = dcm.credits(),
          .active_slices = dcm.push_active_slices(),
          .gives_up = gives_up_late(setup.farm)};
}

SliceSamplesSettings samples_settings(const node::Setup& setup) {
  return {.self = setup.self.name,
          .incarnation = setup.identity.incarnation.value,
          .sink = setup.samples,
          .sampler = sampler_settings(setup),
          .record = record_context(setup)};
}

FilterSettings filter_settings(const node::Setup& setup) {
  constexpr int kIsolationShare = 4;  // of a lease
  constexpr int kLongInFilterShare = 2;
  const v1::Farm& farm = setup.farm;
  const v1::FilterSettings& filter = farm.filter();
  const DurationNs lease_ns = config::from_ms(farm.supervisor().lease_ms());
  const auto& groups = farm.dcm().groups();
  return {.runtime = {.run = setup.run,
                      .plugin = filter.plugin(),
                      .search_path = {filter.search_path().begin(), filter.search_path().end()},
                      .config = filter_config(setup),
                      .name = node::filter_name(setup),
                      .run_identity = setup.run_identity,
                      .units = farm.dcm().processing_units(),
                      .jobs_max = farm.dcm().slices_max(),
                      .isolated = config::runs_in_workers(filter),
                      .workers = worker_settings(farm),
                      .worker_memory_bytes = filter.workers().memory_bytes(),
                      .measure_cpu = !first_sources(setup).empty() || !farm.trigger().types().empty()},
          .isolation_ns = lease_ns / kIsolationShare,
          .long_in_filter_ns = lease_ns / kLongInFilterShare,
          .step_deadline_ns = config::from_ms(filter.step_deadline_ms()),
          .incomplete_to_debug = farm.dcm().incomplete() == v1::DcmSettings::INCOMPLETE_DEBUG,
          .reject_failed = filter.on_error() == v1::FilterSettings::ON_ERROR_REJECT,
          .alert_before_ms = static_cast<std::int64_t>(farm.burst().before_s() * 1e3),
          .alert_after_ms = static_cast<std::int64_t>(farm.burst().after_s() * 1e3),
          .group = setup.self.group < groups.size() ? groups[setup.self.group].name() : std::string()};
}

ShipmentSettings shipment_settings(const node::Setup& setup) {
  return {.link = link_settings(setup),
          .writers = setup.plan.of_role(Role::writer).size(),
          .record = record_context(setup)};
}

SliceServerSettings server_settings(const node::Setup& setup) {
  SliceServerSettings settings{.listen = setup.listen, .limits = setup.limits, .dcms = {}};
  for (const config::NodePlan* dcm : setup.plan.of_role(Role::dcm)) {
    const std::size_t index = dcm->index.value;
    settings.dcms.resize(std::max(settings.dcms.size(), index + 1));
    settings.dcms[index] = {dcm->name, config::is_fetched_by(setup.farm, setup.self, *dcm)};
  }
  return settings;
}

SliceFetcherSettings fetcher_settings(const node::Setup& setup) {
  SliceFetcherSettings settings{.link = link_settings(setup),
                                .patience_ns = config::from_ms(setup.farm.dcm().deadline_ms()),
                                .keepers = {}};
  std::uint32_t flows = 0;
  for (const config::NodePlan* dcm : setup.plan.of_role(Role::dcm)) {
    const std::uint32_t flow = dcm->listen.empty() ? 0 : flows++;
    settings.keepers.push_back({.flow = flow, .serves = config::is_fetched_by(setup.farm, *dcm, setup.self)});
  }
  return settings;
}

DcmNodeSettings node_settings(const node::Setup& setup) {
  constexpr DurationNs kConnectPatience = 2 * kSecond;
  constexpr std::uint32_t kKeptShare = 2;  // of the slices that may be open
  const v1::Farm& farm = setup.farm;
  const v1::DcmSettings& dcm = farm.dcm();
  const DurationNs grace_ns = config::from_ms(dcm.grace_ms());
  DcmNodeSettings settings{
      .member = node::member_settings(setup),
      .buffer_bytes = dcm.buffer_bytes(),
      .assembly = assembly_settings(setup),
      .sources = source_table(setup.plan),
      .collector = collector_settings(setup),
      .push = std::nullopt,
      .connect_patience_ns = std::min(grace_ns, kConnectPatience),
      .drop_silent_ns = config::from_ms(dcm.deadline_ms()) + grace_ns,
      .type_sources = type_sources(farm),
      .first_sources = first_sources(setup),
      .sources_after_steps = sources_after_steps(setup),
      .filter = filter_settings(setup),
      .samples = samples_settings(setup),
      .shipments = shipment_settings(setup),
      .burst = std::nullopt,
      .burst_has_disk = farm.burst().disk_bytes() > 0,
      .readout_link = link_settings(setup),
      .planes = plane_settings(setup),
      .readouts = readouts_of(setup),
      .server = std::nullopt,
      .fetcher = std::nullopt,
      .fetching_groups = config::fetching_groups(farm),
      .kept_max = dcm.slices_max() / kKeptShare,
      .trace_slices = dcm.trace_slices(),
      .trace_file =
          fmt::format("{}/run-{:06}-{}-arrivals.csv", farm.run().out(), setup.run.value, setup.self.name),
      .processing_units = dcm.processing_units(),
  };
  if (config::is_push(farm)) settings.push = push_admission_settings(setup);
  if (farm.burst().buffer_bytes() > 0) settings.burst = burst_saver_settings(setup);
  if (!setup.self.listen.empty()) settings.server = server_settings(setup);
  if (does_fetch(setup)) settings.fetcher = fetcher_settings(setup);
  return settings;
}

std::unique_ptr<shaping::Shaper> make_shaper(const node::Setup& setup) {
  auto shaper = shaping::make_shaper(
      shaper_name(setup.farm),
      shaper_settings(setup.farm, readouts_of(setup), setup.plan.of_role(Role::dcm).size()));
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
      shaper_settings(setup.farm, static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, keepers)),
                      dcms.size()));
  WEIR_ASSERT(shaper.has_value());
  return std::move(*shaper);
}

}  // namespace weir::dcm
