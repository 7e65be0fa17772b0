#include "sources.hpp"

#include <weir/config/replayed_recording.hpp>
#include <weir/emulation/tracks.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/true_tracks.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace weir::readout {
namespace {

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
  to.window_ns = static_cast<DurationNs>(farm.trigger().slice_ms() * 1e6);
  to.seed = from.seed();
  return to;
}

// Returns the last of several entries for a source; null: no faults.
const v1::SourceFaultsSettings* faults_of(const v1::SourceSettings& settings, SourceId source) {
  const v1::SourceFaultsSettings* found = nullptr;
  for (const v1::SourceFaultsSettings& one : settings.faults()) {
    const auto& sources = one.sources();
    if (sources.empty() || std::find(sources.begin(), sources.end(), source.value) != sources.end())
      found = &one;
  }
  return found;
}

emulation::FaultRates rates_of(const v1::SourceFaultsSettings& from) {
  emulation::FaultRates to;
  to.drop = from.drop();
  to.delay = from.delay();
  to.reorder = from.reorder();
  to.duplicate = from.duplicate();
  to.truncate = from.truncate();
  to.corrupt = from.corrupt();
  to.delay_ns = static_cast<DurationNs>(from.delay_ms() * kMillisecond);
  to.silent_every_ns = static_cast<DurationNs>(from.silent_every_s() * kSecond);
  to.silent_for_ns = static_cast<DurationNs>(from.silent_for_s() * kSecond);
  return to;
}

bool is_first_of_kind(const node::Setup& setup) {
  for (const config::NodePlan* node : setup.plan.of_role(Role::readout)) {
    if (node->source_kind == setup.self.source_kind) return node->name == setup.self.name;
  }
  return false;
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

std::vector<std::unique_ptr<source::FragmentSource>> make_sources(const node::Setup& setup,
                                                                  emulation::FaultInjector& injector,
                                                                  v1::RunIdentity& read) {
  std::vector<ingest::RecordedFile> files;
  ingest::SourceSettings settings = source_settings(setup.farm);
  const auto recording = config::replayed_recording(*setup.whole_farm);
  if (recording && recording->by_number) settings.replay.order = ingest::ReplayOrder::by_number;
  auto sources = ingest::make_sources(settings, setup.identity.sources, &files);
  if (!files.empty()) {
    v1::RunIdentity::Part part = node::recording_part(setup, files);
    node::require(setup.run_identity, part);
    part.clear_files();
    *read.add_parts() = std::move(part);
  }
  for (auto& source : sources) {
    if (const v1::SourceFaultsSettings* faults = faults_of(setup.farm.source(), source->id()))
      source = injector.wrap(std::move(source), rates_of(*faults));
  }
  return sources;
}

TruthRecorder::TruthRecorder(const node::Setup& setup) {
  const v1::Farm& farm = setup.farm;
  if (!node::has_true_tracks(farm) || !is_first_of_kind(setup)) return;
  namespace fs = std::filesystem;
  const fs::path path = farm.hits().truth_file().empty() ? fs::path(farm.run().out()) / "truth.jsonl"
                                                         : fs::path(farm.hits().truth_file());
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  file_.reset(std::fopen(path.c_str(), "ae"));  // closed in child processes
  if (!file_) throw std::runtime_error("hits.truth_file: cannot write '" + path.string() + "'");
  detector_ = std::make_unique<emulation::Detector>(hits_settings(farm));
}

std::vector<std::uint32_t> TruthRecorder::record(RunNumber run, const source::Trigger& trigger) {
  if (!detector_) return {};
  emulation::SliceTruth truth = emulation::truth_of(*detector_, run, trigger);
  std::fputs(truth.lines.c_str(), file_.get());
  return std::move(truth.modules);
}

}  // namespace weir::readout
