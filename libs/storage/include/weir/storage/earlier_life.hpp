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

// What a writer that is started again in the same run finds of its earlier lives.
struct EarlierLife {
  struct Copy {  // of a slice; live, as far as this writer's files know
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
    std::string note;  // what had to be skipped, for people; usually nothing, or a torn last record
  };
  std::uint32_t next_sequence = 0;
  std::vector<Copy> copies;
  std::uint64_t dead = 0;   // copies besides, which these files say do not count
  std::vector<File> files;  // those without a file header first, then by sequence
};

// Reads this writer's files of this run in `directory`. A file that has not got its final name is synced,
// read back from the disk, and every record is checked whole, whatever its index says: what is returned may
// be acknowledged. A file that cannot be read is an error: to go on without it would store its slices twice.
[[nodiscard]] Expected<EarlierLife, Failure> read_earlier_life(const std::string& directory, RunNumber run,
                                                               std::string_view writer,
                                                               SystemCalls& calls = operating_system());

}  // namespace weir::storage
