#pragma once

#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::storage {

// A source's missing fragments in the live, incomplete slices of a file.
struct MissingSource {
  SourceId source;
  std::uint64_t fragments = 0;
  std::array<std::uint64_t, kMissingReasons> by_reason{};
};

// Returns the sources with missing fragments, the worst first. Reads the tables of all incomplete slices.
[[nodiscard]] std::vector<MissingSource> missing_sources(const RunFileReader& file);
[[nodiscard]] std::string describe_missing(
    const MissingSource& source);  // "source 17: 40 (deadline 38, gap 2)"
[[nodiscard]] std::string missing_json(const MissingSource& source);

}  // namespace weir::storage
