#pragma once

#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/hits.hpp>
#include <weir/ingest/replay_source.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weir::ingest {

// The result of a replay, compared with the recording's files.
struct Replayed {
  std::size_t slices = 0;
  std::size_t sources = 0;
  std::size_t missing = 0;          // not in their slice
  std::size_t wrong_fragments = 0;  // with other bytes than the file, or a wrong checksum
  std::size_t wrong_slices = 0;     // whose fragments do not cover the whole file
  std::size_t wrong_hits = 0;       // outside the slice, of an impossible channel, or malformed
  std::size_t hits = 0;
};

inline void count_hits(ConstBytes fragment, DurationNs window, Replayed& replayed) {
  constexpr std::uint8_t kChannelMax = 30;
  HitReader reader(fragment);
  while (const auto hit = reader.next()) {
    ++replayed.hits;
    if (hit->channel > kChannelMax || hit->time_ns >= window) ++replayed.wrong_hits;
  }
  if (reader.malformed()) ++replayed.wrong_hits;
}

// Replays every slice of the recording in `folder`, with slices of length `window`.
inline Replayed replay_folder(const std::string& folder, DurationNs window) {
  const auto run = load_recorded_run(folder);
  REQUIRE(run);
  Replayed replayed;
  replayed.slices = (*run)->slices.size();
  const std::uint64_t first_id = 1000 * replayed.slices;  // replayed slices have ids of their own, in rounds
  replayed.sources = (*run)->sources.size();
  for (std::size_t n = 0; n < replayed.slices; ++n) {
    const std::string number = std::to_string((*run)->slices[n].slice.value);
    std::ifstream file(folder + "/slice-" + number + ".bin", std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::size_t bytes = 0;
    for (const SourceId id : (*run)->sources) {
      ReplaySource source(id, *run, ReplayOrder::looped, true);
      const source::SourceFragment fragment = source.produce({SliceId(first_id + n), 0, 0, TriggerType()});
      if (fragment.status == FragmentStatus::missing) {
        ++replayed.missing;
        continue;
      }
      bytes += fragment.bytes.size();
      count_hits(fragment.bytes, window, replayed);
      const std::string text(reinterpret_cast<const char*>(fragment.bytes.data()), fragment.bytes.size());
      if (fragment.crc32c != crc32c(fragment.bytes) || content.find(text) == std::string::npos)
        ++replayed.wrong_fragments;
    }
    if (bytes != content.size() || bytes == 0) ++replayed.wrong_slices;
  }
  return replayed;
}

}  // namespace weir::ingest
