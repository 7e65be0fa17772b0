#pragma once

#include <weir/base/time.hpp>
#include <weir/emulation/hits_source.hpp>
#include <weir/hits.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace weir {

// KM3NeT slices kept beside the source tree, not in it: an additional case where they are present.
[[nodiscard]] inline std::string km3net_recording() {
  return (std::filesystem::path(WEIR_SOURCE_DIR).parent_path() / "shared" / "data" / "km3net-run6633")
      .string();
}

constexpr std::uint64_t kRecordedSlices = 3;
constexpr std::uint64_t kRecordedSources = 45;
constexpr UtcNs kRecordedWindow = 10 * kMillisecond;

// Writes a recording of the emulated detector into `folder`, in the format that `replay` reads: an
// index.json, and a file of hits per slice. Its sources are numbered with gaps, and one is absent from the
// second slice.
inline void write_recording(const std::string& folder) {
  emulation::HitsSettings settings;
  settings.strings = 3;
  settings.track_rate_hz = 100;
  settings.window_ns = kRecordedWindow;
  std::filesystem::create_directories(folder);
  std::string index = "{\n \"hit_bytes\": 6,\n \"slices\": [";
  emulation::HitsGroup detector(settings, false);
  for (std::uint64_t slice = 0; slice < kRecordedSlices; ++slice) {
    const std::string name = "slice-" + std::to_string(700 + slice) + ".bin";
    std::ofstream file(std::filesystem::path(folder) / name, std::ios::binary);
    std::string fragments;
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < kRecordedSources; ++i) {
      if (slice == 1 && i == 7) continue;
      const source::SourceFragment made =
          detector.produce(SourceId(settings.first_source.value + i), RunNumber(9),
                           {SliceId(slice), UtcNs(slice) * kRecordedWindow, kRecordedWindow, TriggerType()});
      fragments += std::string(fragments.empty() ? "" : ",") +
                   "\n    {\"source\": " + std::to_string(806'000'000 + 1'000 * i) +
                   ", \"offset\": " + std::to_string(bytes) +
                   ", \"hits\": " + std::to_string(made.bytes.size() / kHitBytes) + "}";
      file.write(reinterpret_cast<const char*>(made.bytes.data()),
                 static_cast<std::streamsize>(made.bytes.size()));
      bytes += made.bytes.size();
    }
    index += std::string(slice == 0 ? "" : ",") + "\n  {\"slice\": " + std::to_string(700 + slice) +
             ", \"run\": 9, \"utc_s\": 1700000000, \"utc_ns\": " +
             std::to_string(static_cast<UtcNs>(slice) * kRecordedWindow) + ", \"file\": \"" + name +
             "\", \"bytes\": " + std::to_string(bytes) + ", \"fragments\": [" + fragments + "]}";
  }
  std::ofstream(std::filesystem::path(folder) / "index.json") << index << "\n ]\n}\n";
}

}  // namespace weir
