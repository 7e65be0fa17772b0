#pragma once

#include "weir_catch.hpp"
#include <weir/filter_host/plugin.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::filter_try::test {

// Recorded slices in memory: slice s has `sources` fragments, source i with s * (i + 1) bytes of value i.
inline ingest::RecordedRun recording(std::uint64_t slices, std::uint32_t sources) {
  ingest::RecordedRun run;
  const auto bytes = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (std::uint32_t i = 0; i < sources; ++i) {
    run.sources.push_back(SourceId(10 * (i + 1)));
    bytes->emplace_back(slices * (i + 1), std::byte(i));
  }
  for (std::uint64_t s = 0; s < slices; ++s) {
    ingest::RecordedSlice& slice = run.slices.emplace_back();
    slice.slice = SliceId(s);
    slice.run = RunNumber(7);
    for (std::uint32_t i = 0; i < sources; ++i) {
      ingest::RecordedFragment& fragment = slice.fragments.emplace_back();
      fragment.source = run.sources[i];
      fragment.bytes = ConstBytes((*bytes)[i]).first(s * (i + 1));
    }
  }
  run.owner = bytes;
  return run;
}

inline std::shared_ptr<const filter_host::FilterPlugin> plugin(const std::string& name,
                                                               const std::string& folder) {
  auto loaded = filter_host::FilterPlugin::load(name, {folder});
  if (!loaded) FAIL(loaded.error().text);
  return *loaded;
}

}  // namespace weir::filter_try::test
