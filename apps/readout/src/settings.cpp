#include "settings.hpp"

#include <weir/config/build_rules.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/id_order.hpp>
#include <weir/config/replayed_recording.hpp>
#include <weir/config/true_tracks.hpp>
#include <weir/node/identity.hpp>
#include <weir/readout/source_settings.hpp>

#include <algorithm>
#include <filesystem>

namespace weir::readout {
namespace {

// Shares of a buffer's limit.
constexpr double kStopAt = 0.95;
constexpr double kGoOnBelow = 0.85;

source::BufferLimits limits(const v1::Farm& farm) {
  source::BufferLimits limits;
  limits.bytes_max = farm.readout().buffer_bytes();
  limits.slices_max = farm.readout().buffer_slices();
  // The supervisor lowers the rate earlier: these marks are for triggers that it could not hold up.
  limits.throttle_high = kStopAt;
  limits.throttle_low = kGoOnBelow;
  limits.parked_max = farm.readout().parked_max();
  limits.early_bytes_max = farm.source().early_bytes();
  limits.early_slices_max = farm.source().early_slices();
  limits.wait_ns = config::from_ms(farm.source().wait_ms());
  limits.expected_bytes = static_cast<std::uint32_t>(farm.source().size_bytes());
  limits.ids_ascend = config::ids_ascend(farm);
  // The supervisor passes over numbers that no front-end has sent in time; data that come for them are lost.
  limits.gaps_have_no_trigger = !config::is_by_number(farm);
  return limits;
}

std::optional<OwnNumbersSettings> own_numbers(const node::Setup& setup) {
  const v1::Farm& farm = setup.farm;
  const v1::BuildSettings& build = farm.build();
  if (build.by() != v1::BuildSettings::BY_NUMBER) return std::nullopt;
  constexpr std::uint32_t kNeverWraps = 64;
  constexpr DurationNs kHostsApart = 100 * kMillisecond;  // their clocks, where front-ends send no times
  OwnNumbersSettings numbers{
      build.counter_bits() == 0 ? kNeverWraps : build.counter_bits(),
      SliceId(farm.trigger().first_slice()),
      {config::from_us(build.time_tolerance_us()), 2 * config::from_ms(build.skew_ms())},
      build.time_tolerance_us() > 0 ? config::from_us(build.time_tolerance_us())
                                    : config::from_ms(build.skew_ms()) + kHostsApart,
      {}};
  for (const v1::BuildOffsetSettings& offset : build.offsets()) {
    for (const std::uint32_t source : offset.sources())
      numbers.offsets[source] = {static_cast<std::int64_t>(offset.counter()),
                                 static_cast<DurationNs>(offset.time_us() * 1e3)};
  }
  return numbers;
}

emulation::SizeDistribution distribution(v1::SourceSettings::Distribution value) {
  switch (value) {
    case v1::SourceSettings::DISTRIBUTION_UNIFORM:
      return emulation::SizeDistribution::uniform;
    case v1::SourceSettings::DISTRIBUTION_EXPONENTIAL:
      return emulation::SizeDistribution::exponential;
    case v1::SourceSettings::DISTRIBUTION_LOG_NORMAL:
      return emulation::SizeDistribution::log_normal;
    default:
      return emulation::SizeDistribution::fixed;
  }
}

ingest::SourceKind kind(v1::SourceSettings::Kind value) {
  switch (value) {
    case v1::SourceSettings::KIND_HITS:
      return ingest::SourceKind::hits;
    case v1::SourceSettings::KIND_REPLAY:
      return ingest::SourceKind::replay;
    default:
      return ingest::SourceKind::dummy;
  }
}

// `from`: sizes of all sources, or those of a group with its own.
template <class Sizes>
emulation::DummySettings dummy_settings(const Sizes& from, std::uint64_t seed) {
  emulation::DummySettings to;
  to.distribution = distribution(from.distribution());
  to.size_bytes = static_cast<std::uint32_t>(from.size_bytes());
  to.size_bytes_min = static_cast<std::uint32_t>(from.size_bytes_min());
  to.size_bytes_max = static_cast<std::uint32_t>(from.size_bytes_max());
  to.sigma = from.sigma();
  to.seed = seed;
  return to;
}

emulation::HitsSettings hits_settings(const v1::Farm& farm) {
  const v1::HitsSettings& from = farm.hits();
  emulation::HitsSettings to;
  to.first_source = SourceId(farm.readout().first_source());
  to.strings = from.strings();
  to.floors_per_string = from.floors_per_string();
  to.modules_per_floor = from.modules_per_floor();
  to.floor_spacing_m = from.floor_spacing_m();
  to.string_spacing_m = from.string_spacing_m();
  to.module_radius_m = from.module_radius_m();
  to.background_hz = from.background_hz();
  to.waveform_fraction = from.waveform_fraction();
  to.burst_fraction = from.burst_fraction();
  to.burst_s_max = from.burst_s_max();
  to.burst_factor = from.burst_factor();
  to.track_rate_hz = from.track_rate_hz();
  to.impact_margin_m = from.impact_margin_m();
  to.photoelectrons_at_1m = from.photoelectrons_at_1m();
  to.attenuation_m = from.attenuation_m();
  to.time_smear_ns = from.time_smear_ns();
  to.window_ns = config::from_ms(farm.trigger().slice_ms());
  to.seed = from.seed();
  return to;
}

emulation::FaultRates rates_of(const v1::SourceFaultsSettings& from) {
  emulation::FaultRates to;
  to.drop = from.drop();
  to.delay = from.delay();
  to.reorder = from.reorder();
  to.duplicate = from.duplicate();
  to.truncate = from.truncate();
  to.corrupt = from.corrupt();
  to.delay_ns = config::from_ms(from.delay_ms());
  to.silent_every_ns = config::from_s(from.silent_every_s());
  to.silent_for_ns = config::from_s(from.silent_for_s());
  return to;
}

emulation::SlipKind slip_kind(v1::SourceFaultsSettings::Slip kind) {
  using Settings = v1::SourceFaultsSettings;
  switch (kind) {
    case Settings::SLIP_MISS:
      return emulation::SlipKind::miss;
    case Settings::SLIP_TWICE:
      return emulation::SlipKind::twice;
    case Settings::SLIP_RESTART:
      return emulation::SlipKind::restart;
    case Settings::SLIP_JUMP:
      return emulation::SlipKind::jump;
    case Settings::SLIP_LAG:
      return emulation::SlipKind::lag;
    case Settings::SLIP_DRIFT:
      return emulation::SlipKind::drift;
    default:
      return emulation::SlipKind::none;
  }
}

emulation::Slip slip_of(const v1::SourceFaultsSettings& from) {
  return {slip_kind(from.slip()), SliceId(from.slip_at()), config::from_us(from.slip_us())};
}

bool is_first_of_kind(const node::Setup& setup) {
  for (const config::NodePlan* node : setup.plan.of_role(Role::readout)) {
    if (node->source_kind == setup.self.source_kind) return node->name == setup.self.name;
  }
  return false;
}

shaping::Overrun overrun(const v1::ReadoutSettings& readout) {
  switch (readout.on_overrun()) {
    case v1::ReadoutSettings::ON_OVERRUN_REQUEUE:
      return shaping::Overrun::requeue;
    case v1::ReadoutSettings::ON_OVERRUN_TRUNCATE:
      return shaping::Overrun::truncate;
    case v1::ReadoutSettings::ON_OVERRUN_DROP:
      return shaping::Overrun::drop;
    default:
      return shaping::Overrun::fall_behind;
  }
}

// Masked sources keep their places in the groups.
std::vector<std::uint32_t> cut_off_groups(const node::Setup& setup) {
  const std::uint32_t together = setup.farm.readout().cut_off_sources();
  if (together == 1) return {};
  std::vector<std::uint32_t> groups;
  std::uint32_t place = 0;
  for (const SourceId source : setup.identity.sources) {
    while (setup.self.sources[place] != source) ++place;
    groups.push_back(place / together);
  }
  return groups;
}

shaping::BarrelSettings barrel_settings(const node::Setup& setup) {
  const v1::ReadoutSettings& readout = setup.farm.readout();
  const config::PushTiming timing = config::push_timing(setup.farm, *setup.whole_farm);
  shaping::BarrelSettings settings;
  settings.barrel = timing.barrel;
  settings.sources = static_cast<std::uint32_t>(setup.identity.sources.size());
  settings.dcms = static_cast<std::uint32_t>(setup.plan.of_role(Role::dcm).size());
  settings.slot_ns = timing.slot_ns;
  settings.delay_slots = timing.delay_slots(setup.self.index.value);
  settings.overrun = overrun(readout);
  settings.overrun_bytes = static_cast<std::uint32_t>(readout.overrun_bytes());
  settings.cut_off_bytes = static_cast<std::uint32_t>(readout.cut_off_bytes());
  settings.cut_off_slices = readout.cut_off_slices();
  settings.cut_off_groups = cut_off_groups(setup);
  settings.ahead_bytes = readout.push_ahead_bytes();
  // A piece may be half as long again (shaping::Barrel), and has to fit a frame.
  settings.piece_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(settings.piece_bytes, setup.farm.network().frame_bytes_max() / 3 * 2));
  settings.slices_max = std::max<std::size_t>(1, 2 * std::size_t{readout.buffer_slices()});
  // In order nothing is requested.
  settings.holds = setup.farm.dcm().incomplete() == v1::DcmSettings::INCOMPLETE_ORDER;
  return settings;
}

std::optional<steps::WatchSettings> watch_settings(const node::Setup& setup) {
  const v1::BuildSettings& build = setup.farm.build();
  if (build.by() == v1::BuildSettings::BY_TIME) return std::nullopt;
  steps::WatchSettings settings;
  const bool by_number = build.by() == v1::BuildSettings::BY_NUMBER;
  if (!by_number) settings.counter_bits = build.counter_bits();
  settings.time_tolerance_ns = config::from_us(build.time_tolerance_us());
  if (!by_number && settings.counter_bits == 0 && settings.time_tolerance_ns == 0) return std::nullopt;
  for (const v1::BuildOffsetSettings& from : build.offsets()) {
    steps::WatchSettings::Offset offset;
    offset.time_ns = config::from_us(from.time_us());
    if (from.has_counter() && !by_number) offset.counter = static_cast<std::int64_t>(from.counter());
    for (const std::uint32_t source : from.sources()) settings.offsets.emplace_back(SourceId(source), offset);
  }
  return settings;
}

std::optional<TruthSettings> truth_settings(const node::Setup& setup) {
  const v1::Farm& farm = setup.farm;
  if (!config::has_true_tracks(farm) || !is_first_of_kind(setup)) return std::nullopt;
  namespace fs = std::filesystem;
  const std::string& file = farm.hits().truth_file();
  return TruthSettings{.path = file.empty() ? (fs::path(farm.run().out()) / "truth.jsonl").string() : file,
                       .hits = hits_settings(farm),
                       .by_time = config::is_by_time(farm)};
}

std::optional<source::WindowSettings> window_settings(const v1::Farm& farm) {
  if (!config::is_by_time(farm)) return std::nullopt;
  const v1::BuildSettings& build = farm.build();
  source::WindowSettings windows;
  windows.ring.bytes_max = build.ring_bytes();
  windows.ring.windows_ascend = config::has_time_slices(farm);
  windows.ring.checksums = farm.run().checksums();
  windows.overlap_ns = config::from_us(build.overlap_us());
  windows.before_ns = config::from_us(build.before_us());
  windows.after_ns = config::from_us(build.after_us());
  for (const v1::BuildOffsetSettings& offset : build.offsets()) {
    for (const std::uint32_t source : offset.sources())
      windows.offsets[SourceId(source)] = config::from_us(offset.time_us());
  }
  return windows;
}

SourcesSettings sources_settings(const node::Setup& setup) {
  SourcesSettings settings{.content = source_settings(setup.farm),
                           .sources = setup.identity.sources,
                           .recording_name = node::recording_name(setup),
                           .run_identity = setup.run_identity,
                           .faults = {}};
  const auto recording = config::replayed_recording(*setup.whole_farm);
  if (recording && recording->by_number) settings.content.replay.order = ingest::ReplayOrder::by_number;
  settings.content.windows = window_settings(setup.farm);
  for (const v1::SourceFaultsSettings& from : setup.farm.source().faults()) {
    SourcesSettings::Faults& faults =
        settings.faults.emplace_back(SourcesSettings::Faults{{}, rates_of(from), slip_of(from)});
    for (const std::uint32_t source : from.sources()) faults.sources.emplace_back(source);
  }
  return settings;
}

std::optional<FrontEndSettings> front_end_settings(const node::Setup& setup) {
  const v1::SourceSettings& source = setup.farm.source();
  const bool udp = source.kind() == v1::SourceSettings::KIND_UDP;
  if (!udp && source.kind() != v1::SourceSettings::KIND_PLUGIN) return std::nullopt;
  source_host::InstanceConfig instance;
  for (const auto& [name, value] : source.parameters()) instance.parameters.emplace_back(name, value);
  std::sort(instance.parameters.begin(), instance.parameters.end());
  instance.sources = setup.identity.sources;
  std::sort(instance.sources.begin(), instance.sources.end());
  instance.readout_name = setup.self.name;
  instance.readout_index = setup.self.index.value;
  instance.fragment_bytes_max = static_cast<std::uint32_t>(setup.farm.dcm().fragment_bytes_max());
  // Windows have checksums of their own.
  instance.checksums = setup.farm.run().checksums() && !config::is_by_time(setup.farm);
  return FrontEndSettings{.plugin = udp ? "udp" : source.plugin(),
                          .folders = {source.search_path().begin(), source.search_path().end()},
                          .host = {.python = source.python(),
                                   .timeout_ns = config::from_ms(source.host().timeout_ms()),
                                   .start_timeout_ns = config::from_ms(source.host().start_timeout_ms()),
                                   .wait_ns = config::from_ms(source.wait_ms()),
                                   .lane_bytes = source.host().lane_bytes(),
                                   .memory_bytes = source.host().memory_bytes()},
                          .instance = std::move(instance),
                          .name = node::source_name(setup),
                          .run_identity = setup.run_identity,
                          .windows = window_settings(setup.farm)};
}

std::vector<std::string> dcms_of(const config::FarmPlan& plan) {
  std::vector<std::string> names;
  for (const config::NodePlan* dcm : plan.of_role(Role::dcm)) {
    names.resize(std::max<std::size_t>(names.size(), dcm->index.value + 1U));
    names[dcm->index.value] = dcm->name;
  }
  return names;
}

}  // namespace

ingest::SourceSettings source_settings(const v1::Farm& farm) {
  ingest::SourceSettings settings;
  settings.kind = kind(farm.source().kind());
  settings.checksums = farm.run().checksums();
  settings.dummy = dummy_settings(farm.source(), farm.source().seed());
  for (const v1::SourceSizesSettings& sizes : farm.source().sizes()) {
    ingest::SourceSettings::OtherSizes other{{}, dummy_settings(sizes, farm.source().seed())};
    for (const std::uint32_t source : sizes.sources()) other.sources.emplace_back(source);
    settings.other_sizes.push_back(std::move(other));
  }
  settings.hits = hits_settings(farm);
  settings.replay.path = farm.replay().path();
  settings.replay.order = farm.replay().loop() ? ingest::ReplayOrder::looped : ingest::ReplayOrder::once;
  return settings;
}

std::optional<PushSettings> push_settings(const node::Setup& setup) {
  if (!config::is_push(setup.farm)) return std::nullopt;
  return PushSettings{.sources = setup.identity.sources,
                      .checksums = setup.farm.run().checksums(),
                      .timing = config::push_timing(setup.farm, *setup.whole_farm),
                      .clock_offset_max_ns = config::from_ms(setup.farm.readout().clock_offset_ms()),
                      .barrel = barrel_settings(setup)};
}

ReadoutNodeSettings node_settings(const node::Setup& setup) {
  const v1::Farm& farm = setup.farm;
  return {.member = node::member_settings(setup),
          .dcms = dcms_of(setup.plan),
          .planned_sources = setup.self.sources.size(),
          .loss_share_max = farm.source().loss_share_max(),
          .fault_seed = farm.source().seed(),
          .buffer = limits(farm),
          .front_end = front_end_settings(setup),
          .numbers = own_numbers(setup),
          .sources = sources_settings(setup),
          .steps = watch_settings(setup),
          .push = push_settings(setup),
          .truth = truth_settings(setup)};
}

}  // namespace weir::readout
