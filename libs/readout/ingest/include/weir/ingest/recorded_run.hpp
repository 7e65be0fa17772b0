#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/ingest/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::ingest {

// The recorded data of one source. `bytes` are valid as long as the run.
struct RecordedFragment {
  SourceId source;
  FragmentStatus status = FragmentStatus::ok;  // ok, truncated, suppressed or missing
  MissingReason reason = MissingReason::none;  // when missing
  bool checksummed = false;                    // crc32c is known to belong to the bytes
  std::uint32_t crc32c = 0;
  ConstBytes bytes;
};

struct RecordedSlice {
  SliceId slice;
  RunNumber run;                            // 0 in a replay folder
  UtcNs time = 0;                           // its start
  DurationNs duration = 0;                  // 0 for an event, and in a folder that does not tell it
  TriggerType trigger_type;                 //
  ConstBytes trigger_payload;               // valid as long as the run
  std::vector<RecordedFragment> fragments;  // ascending in source, each once
};

// One file of a recording.
struct RecordedFile {
  std::string name;  // without its folder
  std::uint64_t bytes = 0;
  UtcNs modified = 0;
  // Checksum of all bytes. For a run file: of the ids, places and checksums of all slices and fragments,
  // against which their bytes are verified on use.
  std::uint32_t crc32c = 0;
};

// Data to be replayed, from any kind of recording.
struct RecordedRun {
  std::vector<RecordedSlice> slices;  // at least one; ascending in id
  std::vector<SourceId> sources;      // that occur in any slice, ascending
  std::shared_ptr<const void> owner;  // keeps all bytes alive
  std::vector<RecordedFile> files;    // a folder's index first, the others sorted by name
};

struct ReplayLimits {
  std::uint64_t index_bytes_max = 16ULL << 20U;
  std::uint64_t bytes_max =
      4ULL << 30U;  // of a folder's data, which is read into memory; run files are mapped
  std::size_t slices_max = 1'000'000;
  std::size_t fragments_max = 20'000'000;  // of all slices together
};

// Loads the data to replay at `path`: a folder with an index.json (README.md, "Folder format"), a run file of
// Weir, or a folder of those (*.weir), from which the live copy of each slice is taken. Blocks: for start-up
// only. `run`: which run of a folder with several.
[[nodiscard]] Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_recorded_run(
    const std::string& path, const ReplayLimits& limits = {}, std::optional<RunNumber> run = std::nullopt);

// Like load_recorded_run(), but without reading a folder's data, and without its fragments.
[[nodiscard]] Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_recorded_slices(
    const std::string& path, const ReplayLimits& limits = {});

// Properties of a recording on which a farm's layout depends.
struct RecordedContents {
  std::vector<SourceId> sources;         // ascending
  std::uint64_t slices = 0;              //
  std::uint64_t slice_bytes_max = 0;     // of the largest slice
  std::uint64_t fragment_bytes_max = 0;  // of the largest fragment
};
// Like load_recorded_run(), but without reading the data: only a folder's index, or run files' tables.
[[nodiscard]] Expected<RecordedContents, IngestFailure> look_into(const std::string& path,
                                                                  const ReplayLimits& limits = {});

// Loads a folder with an index.json.
[[nodiscard]] Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_folder(
    const std::string& path, const ReplayLimits& limits = {});
// Loads run files of one run. A fragment that was stored without its bytes, or is marked corrupt, is missing.
[[nodiscard]] Expected<std::shared_ptr<const RecordedRun>, IngestFailure> load_run_files(
    const std::vector<std::string>& paths, const ReplayLimits& limits = {});

}  // namespace weir::ingest
