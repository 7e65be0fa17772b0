#pragma once

#include <weir/emulation/detector.hpp>
#include <weir/emulation/dummy_content.hpp>
#include <weir/ingest/recorded_run.hpp>
#include <weir/ingest/replay_source.hpp>
#include <weir/source/source.hpp>
#include <weir/source/time_windows.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::ingest {

enum class SourceKind : std::uint8_t { dummy, hits, replay };

struct ReplaySettings {
  std::string path;
  ReplayOrder order = ReplayOrder::looped;
  ReplayLimits limits;
};

// Settings of a farm's sources. Only those of its kind are used.
struct SourceSettings {
  SourceKind kind = SourceKind::dummy;
  bool checksums = true;
  emulation::DummySettings dummy;
  // Sources of kind dummy with other sizes than those in `dummy`.
  struct OtherSizes {
    std::vector<SourceId> sources;
    emulation::DummySettings dummy;
  };
  std::vector<OtherSizes> other_sizes;
  emulation::HitsSettings hits;
  std::optional<source::WindowSettings> windows;  // of `hits`, with build.by: time
  ReplaySettings replay;
};

// Makes the named sources of a farm, with shared common data. Throws std::runtime_error, also for a source
// unknown to the detector or to the recording. `read` receives the files of a recording, if any.
[[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const SourceSettings& settings, std::span<const SourceId> sources,
    std::vector<RecordedFile>* read = nullptr);

}  // namespace weir::ingest
