#pragma once

#include <weir/emulation/detector.hpp>
#include <weir/emulation/injected_faults.hpp>
#include <weir/ingest/sources.hpp>
#include <weir/node/setup.hpp>
#include <weir/readout/source_settings.hpp>
#include <weir/source/source.hpp>

#include <cstdio>
#include <memory>
#include <vector>

namespace weir::readout {

// Makes the sources of this readout from the farm file, without masked ones; faults on purpose are the
// injector's. `read` receives the part of a recording that was read. Errors: std::runtime_error, also if a
// recording differs from the run's.
[[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const node::Setup& setup, emulation::FaultInjector& injector, v1::RunIdentity& read);

// Records the true tracks of source kind `hits`, one JSON object per line. Only the first readout of that
// kind writes them, for every announced slice; the others compute the same tracks without writing.
class TruthRecorder {
 public:
  explicit TruthRecorder(const node::Setup& setup);
  // Returns the modules with light, by track.
  std::vector<std::uint32_t> record(RunNumber run, const source::Trigger& trigger);

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
  std::unique_ptr<emulation::Detector> detector_;
};

}  // namespace weir::readout
