#pragma once

#include <weir/emulation/detector.hpp>
#include <weir/emulation/dummy_content.hpp>
#include <weir/ingest/recorded_run.hpp>
#include <weir/ingest/replay_source.hpp>
#include <weir/source/source.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::ingest {

enum class SourceKind : std::uint8_t { dummy, hits, replay };
[[nodiscard]] constexpr std::string_view name(SourceKind kind) {
  constexpr std::string_view kNames[] = {"dummy", "hits", "replay"};
  return kNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] std::optional<SourceKind> source_kind(std::string_view name);

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
  ReplaySettings replay;
};

// Returns the sources of a farm of this kind, ascending; empty for dummy, which can have any. For kind replay
// the recorded data are read. Throws std::runtime_error if settings or data are unusable.
[[nodiscard]] std::vector<SourceId> known_sources(const SourceSettings& settings);

// Makes the named sources of a farm, with shared common data. Throws std::runtime_error, also for a source
// that is not one of known_sources(). `read` receives the files of a recording, if any.
[[nodiscard]] std::vector<std::unique_ptr<source::FragmentSource>> make_sources(
    const SourceSettings& settings, std::span<const SourceId> sources,
    std::vector<RecordedFile>* read = nullptr);

}  // namespace weir::ingest
