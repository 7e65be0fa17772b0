#pragma once

#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::storage {

struct FileProblem {
  std::uint64_t offset = 0;  // in the file
  std::optional<SliceId> slice;
  std::optional<SourceId> source;
  std::string text;  // a sentence with slice, source and place
};

struct VerifyReport {
  std::string path;
  bool closed = false;
  // A .part that its writer has not closed, which is not a problem. Neither is a torn end: the `torn_bytes`
  // from `torn_at` on are not a whole record.
  bool unfinished = false;
  std::uint64_t torn_at = 0;
  std::uint64_t torn_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t slices = 0;  // sound copies, dead ones included
  std::uint64_t dead = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t fragments = 0;                 // with bytes in the file
  std::uint64_t fragments_checked = 0;         // fragments checked by their checksum
  std::uint64_t fragments_marked_corrupt = 0;  // corrupt when they left the source: not a fault of the file
  std::uint64_t events = 0;
  SliceSum live;
  std::vector<FileProblem> problems;  // the first kProblemsMax
  std::uint64_t problems_total = 0;

  static constexpr std::size_t kProblemsMax = 1000;
  [[nodiscard]] bool sound() const { return problems_total == 0; }
};

// Reads every byte: each record's frame and checksums, each fragment, the index against the records in both
// directions, the footer's sums.
[[nodiscard]] VerifyReport verify(const RunFileReader& file);

// Checks across the files of a run that each slice has at most one live copy. Requires: resolve_copies() was
// called.
[[nodiscard]] std::vector<FileProblem> verify_copies(std::span<const RunFileReader> files);

}  // namespace weir::storage
