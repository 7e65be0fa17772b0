#include "sources.hpp"

#include <weir/emulation/tracks.hpp>
#include <weir/node/identity.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace weir::readout {
namespace {

// Returns null for a source without faults.
const SourcesSettings::Faults* faults_of(const SourcesSettings& settings, SourceId source) {
  const SourcesSettings::Faults* found = nullptr;
  for (const SourcesSettings::Faults& one : settings.faults) {
    if (one.sources.empty() || std::ranges::find(one.sources, source) != one.sources.end()) found = &one;
  }
  return found;
}

}  // namespace

std::vector<std::unique_ptr<source::FragmentSource>> make_sources(const SourcesSettings& settings,
                                                                  emulation::FaultInjector& injector,
                                                                  StepCheck* steps, v1::RunIdentity& read) {
  std::vector<ingest::RecordedFile> files;
  auto sources = ingest::make_sources(settings.content, settings.sources, &files);
  if (!files.empty()) {
    v1::RunIdentity::Part part = node::recording_part(settings.recording_name, files);
    node::require(settings.run_identity, part);
    part.clear_files();
    *read.add_parts() = std::move(part);
  }
  for (auto& source : sources) {
    const SourcesSettings::Faults* faults = faults_of(settings, source->id());
    if (faults != nullptr && faults->slip.kind != emulation::SlipKind::none)
      source = std::make_unique<emulation::SlippingSource>(std::move(source), faults->slip);
    if (steps != nullptr) source = steps->wrap(std::move(source));
    if (faults != nullptr) source = injector.wrap(std::move(source), faults->rates);
  }
  return sources;
}

TruthRecorder::TruthRecorder(const std::optional<TruthSettings>& settings) {
  if (!settings) return;
  namespace fs = std::filesystem;
  const fs::path path = settings->path;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  file_.reset(std::fopen(path.c_str(), "ae"));  // closed in child processes
  if (!file_) throw std::runtime_error("hits.truth_file: cannot write '" + path.string() + "'");
  detector_ = std::make_unique<emulation::Detector>(settings->hits);
  by_time_ = settings->by_time;
}

std::vector<std::uint32_t> TruthRecorder::record(RunNumber run, const source::Trigger& trigger) {
  if (!detector_) return {};
  emulation::SliceTruth truth = by_time_ ? emulation::truth_between(*detector_, run, trigger)
                                         : emulation::truth_of(*detector_, run, trigger);
  std::fputs(truth.lines.c_str(), file_.get());
  return std::move(truth.modules);
}

}  // namespace weir::readout
