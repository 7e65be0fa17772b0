#pragma once

#include "step_check.hpp"
#include <weir/emulation/detector.hpp>
#include <weir/emulation/injected_faults.hpp>
#include <weir/emulation/slip.hpp>
#include <weir/ingest/sources.hpp>
#include <weir/source/source.hpp>
#include <weir/v1/control.pb.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::readout {

struct SourcesSettings {
  ingest::SourceSettings content;
  std::vector<SourceId> sources;         // without masked ones
  v1::RunIdentity::Part recording_name;  // node::recording_name()
  v1::RunIdentity run_identity;          // a recording that differs from the run's is refused
  struct Faults {
    std::vector<SourceId> sources;  // empty: all
    emulation::FaultRates rates;
    emulation::Slip slip;
  };
  std::vector<Faults> faults;  // the last one for a source counts
};

// Makes the sources of this readout; faults on purpose are the injector's. `steps`: checks their counters and
// times; null: nothing does. `read` receives the part of a
// recording that was read. Errors: std::runtime_error, also if a recording differs from the run's.
[[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const SourcesSettings& settings, emulation::FaultInjector& injector, StepCheck* steps,
    v1::RunIdentity& read);

struct TruthSettings {
  std::string path;
  emulation::HitsSettings hits;
  bool by_time = false;  // tracks are a function of absolute time
};

// Records the true tracks of source kind `hits`, one JSON object per line. Only the first readout of that
// kind writes them, for every announced slice; the others compute the same tracks without writing.
class TruthRecorder {
 public:
  // Nothing: this readout records no tracks. Throws std::runtime_error if the file cannot be written.
  explicit TruthRecorder(const std::optional<TruthSettings>& settings);
  // Returns the modules with light, by track.
  std::vector<std::uint32_t> record(RunNumber run, const source::Trigger& trigger);

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
  std::unique_ptr<emulation::Detector> detector_;
  bool by_time_ = false;
};

}  // namespace weir::readout
