#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/ingest/error.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::ingest {

// A folder's index.json after its check: every fragment is inside the length that the index gives for its
// file.
struct FolderIndex {
  struct Fragment {
    SourceId source;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
  };
  struct Slice {
    SliceId slice;
    UtcNs time = 0;
    DurationNs duration = 0;  // 0: not given, and no length fits the times and ids of all slices
    std::string file;         // a name inside the folder
    std::uint64_t bytes = 0;
    std::vector<Fragment> fragments;  // ascending in source, each once
  };
  std::vector<Slice> slices;  // ascending in id, each once
};

// Parses an index. `path` is used in messages: "index.json: slices[0].fragments[3].hits: ...". Reads the text
// only.
[[nodiscard]] Expected<FolderIndex, IngestFailure> parse_folder_index(const std::string& text,
                                                                      std::string_view path,
                                                                      const ReplayLimits& limits = {});

}  // namespace weir::ingest
