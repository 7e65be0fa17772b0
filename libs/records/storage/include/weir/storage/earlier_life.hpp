#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>
#include <weir/storage/error.hpp>
#include <weir/storage/system_calls.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::storage {

// The state that a restarted writer finds on disk from earlier processes of the same run.
struct EarlierLife {
  struct Copy {  // of a slice; live, according to this writer's files
    SliceId slice;
    Attempt attempt;
    StoreEpoch epoch;
    std::uint32_t sequence = 0;
  };
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    SliceSum live;
    std::uint32_t crc32c = 0;  // 0: the file was not closed
    bool closed = false;
    std::uint32_t sequence = 0;
    std::string note;  // skipped parts, for people; usually empty, or a torn last record
  };
  std::uint32_t next_sequence = 0;
  std::vector<Copy> copies;
  std::uint64_t dead = 0;   // further copies that these files mark as dead
  std::vector<File> files;  // those without a file header first, then by sequence
};

// Reads this writer's files of this run in `directory`. A file without its final name is synced and read back
// from the disk, and every record is verified completely, whatever the index contains, so that the returned
// copies may be acknowledged. An unreadable file is an error, because its slices would otherwise be stored
// twice.
[[nodiscard]] Expected<EarlierLife, StorageFailure> read_earlier_life(
    const std::string& directory, RunNumber run, std::string_view writer,
    SystemCalls& calls = operating_system());

}  // namespace weir::storage
