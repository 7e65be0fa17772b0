#pragma once

#include "output_file.hpp"
#include <weir/storage/run_store.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace weir::storage {

// A file of a store from its creation until it is published and read back.
struct RunStore::File {
  // Waits for the file to be on disk up to `end`.
  struct Waiting {
    std::uint64_t end;
    StoredSlice slice;
    std::uint32_t index;
    bool duplicate;
  };

  File(ports::Disk& disk, ports::FileId id, const std::string& path, OutputFile::Settings settings,
       OutputCounters& counters)
      : output(disk, id, path + std::string(kPartSuffix), path, settings, counters) {}

  OutputFile output;
  std::uint32_t sequence = 0;
  TimeNs opened = 0;
  std::vector<IndexEntry> index;  // in file order
  std::deque<Waiting> waiting;
  // Since the last requested sync:
  std::uint64_t unsynced_bytes = 0;
  std::uint64_t unsynced_records = 0;
  std::optional<TimeNs> unsynced_since;  // the first of them

  void sync() {
    unsynced_bytes = unsynced_records = 0;
    unsynced_since.reset();
    output.request_sync();
  }
  TimeNs retry_at = 0;
  SliceSum live;
  std::vector<ports::FileRange> read_back;  // to be read back once the file is published
  std::vector<std::uint32_t> checksums;     // expected checksums of those ranges
  bool closing = false;
  bool blocked = false;
};

}  // namespace weir::storage
