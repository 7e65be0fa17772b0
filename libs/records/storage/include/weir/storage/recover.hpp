#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>
#include <weir/storage/error.hpp>
#include <weir/storage/system_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace weir::storage {

// A part of the original without a counterpart in the recovered file.
struct Cut {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<SliceId> slice;    // the slice of the record, if it can be determined
  std::optional<SourceId> source;  // the source of the damaged fragment, if it is one
  std::string why;
};

// bytes_in = bytes_kept + bytes_replaced + bytes_cut.
struct RecoveryReport {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_kept = 0;      // file header and whole records
  std::uint64_t bytes_replaced = 0;  // index and footer, which are rebuilt
  std::uint64_t bytes_cut = 0;
  std::uint64_t records = 0;  // records kept
  std::uint64_t slices = 0;   // slice copies among them, dead ones included
  std::uint64_t dead = 0;
  SliceSum live;
  bool header_rebuilt = false;  // it was damaged: run, writer and sequence are taken from name and records
  bool begin_of_run = false;
  bool end_of_run = false;
  bool published = false;     // nothing was written: the file was whole and had both names
  std::uint64_t damaged = 0;  // parts cut in front of a whole record: not just a torn end
  std::vector<Cut> cuts;      // the first kCutsMax
  std::uint64_t cuts_total = 0;

  static constexpr std::size_t kCutsMax = 1000;
};

// A run file made of the whole records of another one. The pieces in order are its bytes; they refer to the
// original's bytes and to `own`.
struct Recovery {
  RecoveryReport report;
  std::vector<ConstBytes> pieces;
  std::deque<std::vector<std::byte>> own;
};

// Plans a recovery. `file` is a run file, or any part of one from its beginning, with any damage; `path` is
// used in messages, and its last part gives run, writer and sequence number if the file header does not.
// Pure. Every record in which each byte is sound is kept, in order; index and footer are rebuilt, so that
// verify() accepts the result. Errors: the bytes are not from a run file of this version.
[[nodiscard]] Expected<Recovery, StorageFailure> plan_recovery(ConstBytes file, const std::string& path);

// Writes the recoverable part of the file at `path` to a new file at `out`, which must not exist: first as
// `<out>.recovering`, which gets its name when it is verified and on disk. (An empty file may exist if the
// file system has no exclusive rename: it was left by an interrupted publishing.) Links to the folders are
// resolved once. The original is only read. On failure `out` does not exist.
// If `out` is another name of the same file, a publishing by a hard link was interrupted: the file is whole,
// keeps the name `out` and loses the other one.
[[nodiscard]] Expected<RecoveryReport, StorageFailure> recover(const std::string& path,
                                                               const std::string& out,
                                                               SystemCalls& calls = operating_system());

}  // namespace weir::storage
