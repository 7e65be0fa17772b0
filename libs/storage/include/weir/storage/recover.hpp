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

// A place of the original that has no counterpart in the recovered file.
struct Cut {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::optional<SliceId> slice;    // whose record it was, as far as that can be told
  std::optional<SourceId> source;  // whose fragment is damaged, where it is one
  std::string why;
};

// bytes_in = bytes_kept + bytes_replaced + bytes_cut.
struct RecoveryReport {
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_kept = 0;      // file header and whole records
  std::uint64_t bytes_replaced = 0;  // index and footer, which are made anew
  std::uint64_t bytes_cut = 0;
  std::uint64_t records = 0;  // kept
  std::uint64_t slices = 0;   // copies of them, dead ones included
  std::uint64_t dead = 0;
  SliceSum live;
  bool header_rebuilt = false;  // it was damaged: run, writer and sequence are those of name and records
  bool begin_of_run = false;
  bool end_of_run = false;
  std::uint64_t damaged = 0;  // places that were cut in front of a whole record: not just a torn end
  std::vector<Cut> cuts;      // the first kCutsMax
  std::uint64_t cuts_total = 0;

  static constexpr std::size_t kCutsMax = 1000;
};

// A run file made of what is whole in another one. The pieces, one after another, are its bytes; they refer
// to the original's bytes and to `own`.
struct Recovery {
  RecoveryReport report;
  std::vector<ConstBytes> pieces;
  std::deque<std::vector<std::byte>> own;
};

// `file` are the bytes of a run file, or of any part of one from its beginning, whatever is wrong with them;
// `path` is for messages, and its last part says run, writer and sequence number where the file header does
// not. Pure. Every record that is sound in each byte is kept, in order; index and footer are made anew, so
// that verify() finds the result good. Failure: these are not the bytes of a run file of this version.
[[nodiscard]] Expected<Recovery, Failure> plan_recovery(ConstBytes file, const std::string& path);

// Writes what can be recovered of the file at `path` to a new file at `out`, which must not exist: as
// `<out>.recovering` first, which gets its name when it is verified and on disk. (An empty file may exist
// where the file system has no exclusive rename: a publishing that was cut off has left it.) Links to the
// folders are resolved once. The original is only read. Failure: `out` does not exist.
[[nodiscard]] Expected<RecoveryReport, Failure> recover(const std::string& path, const std::string& out,
                                                        SystemCalls& calls = operating_system());

}  // namespace weir::storage
