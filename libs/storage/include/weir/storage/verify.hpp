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

struct Problem {
  std::uint64_t offset = 0;  // in the file
  std::optional<SliceId> slice;
  std::optional<SourceId> source;
  std::string text;  // a sentence that names slice, source and place
};

struct VerifyReport {
  std::string path;
  bool closed = false;
  // A .part that its writer did not come to close. That is no problem of it, nor is a torn end: from
  // `torn_at` on `torn_bytes` are no whole record.
  bool unfinished = false;
  std::uint64_t torn_at = 0;
  std::uint64_t torn_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t slices = 0;  // copies that are sound, dead ones included
  std::uint64_t dead = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t fragments = 0;                 // with bytes in the file
  std::uint64_t fragments_checked = 0;         // of them, by their checksum
  std::uint64_t fragments_marked_corrupt = 0;  // came so from their source: no fault of the file
  std::uint64_t events = 0;
  SliceSum live;
  std::vector<Problem> problems;  // the first kProblemsMax
  std::uint64_t problems_total = 0;

  static constexpr std::size_t kProblemsMax = 1000;
  [[nodiscard]] bool sound() const { return problems_total == 0; }
};

// Reads every byte: each record's frame and checksums, each fragment, the index against the records in both
// directions, the footer's sums.
[[nodiscard]] VerifyReport verify(const RunFileReader& file);

// Across the files of a run, after resolve_copies(): each slice has at most one copy that counts.
[[nodiscard]] std::vector<Problem> verify_copies(std::span<const RunFileReader> files);

}  // namespace weir::storage
