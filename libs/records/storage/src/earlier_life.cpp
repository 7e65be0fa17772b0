#include "mapped_file.hpp"
#include "open_file.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/recover.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

namespace weir::storage {
namespace {

StorageFailure io_failure(const std::string& path, const char* what, const std::string& why) {
  return {StorageError::io, path + ": cannot " + what + ": " + why};
}

// A loss of power while a file was published through a hard link leaves both names: the old one goes. Returns
// whether the two are one file.
bool finish_publishing(SystemCalls& calls, const std::string& part, const std::string& published) {
  if (!is_same_file(calls, part, published)) return false;
  calls.unlink(part);
  return true;
}

// Returns the files by sequence number. If a file was recovered as well, the original is chosen, because it
// lacks nothing.
Expected<std::map<std::uint32_t, std::string>, StorageFailure> files_of(const std::string& directory,
                                                                        RunNumber run,
                                                                        std::string_view writer,
                                                                        SystemCalls& calls) {
  std::map<std::uint32_t, std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto sequence = run_file_sequence(entry->path().filename().string(), run, writer);
    if (!sequence) continue;
    const std::string path = entry->path().string();
    const auto [at, added] = files.emplace(*sequence, path);
    if (added) continue;
    const bool part_known = at->second.ends_with(kPartSuffix);
    const std::string& part = part_known ? at->second : path;
    const std::string& published = part_known ? path : at->second;
    at->second = finish_publishing(calls, part, published) ? published : part;
  }
  if (error)
    return Unexpected<StorageFailure>(io_failure(directory, "read the output folder", error.message()));
  return files;
}

// After a failed sync of an earlier process, the page cache may hold data that the disk does not have, and
// another sync would not report it. Dropping the cache makes the reader see the disk's contents.
std::optional<StorageFailure> sync_file(SystemCalls& calls, const std::string& path) {
  const int file = calls.open_existing(path);
  const int error = file < 0 || calls.fdatasync(file) != 0 ? errno : 0;
  if (file >= 0) {
    calls.drop_cache(file);
    calls.close(file);
  }
  if (error == 0) return std::nullopt;
  return io_failure(path, "sync", std::generic_category().message(error));
}

// A published file was synced before it got its name. Of any other file, the bytes, or the index if it has
// one, may not be on disk.
Expected<RunFileReader, StorageFailure> open_durable(SystemCalls& calls, const std::string& path) {
  if (!path.ends_with(kPartSuffix)) {
    auto file = RunFileReader::open(path);
    if (!file || file->closed()) return file;
  }
  if (auto failed = sync_file(calls, path)) return Unexpected<StorageFailure>(std::move(*failed));
  return RunFileReader::open(path, Reading::records);
}

// The file header is written before the records. Without it no records exist, unless it was damaged later.
bool has_records(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const auto recovery = plan_recovery(file->bytes(), path);
  return recovery && recovery->report.records > 0;
}

std::string note_of(const RunFileReader& file) {
  std::uint64_t skipped = 0;
  for (const Gap& gap : file.gaps()) skipped += gap.length;
  return skipped == 0 ? "" : std::to_string(skipped) + " bytes of no sound record skipped";
}

}  // namespace

Expected<EarlierLife, StorageFailure> read_earlier_life(const std::string& directory, RunNumber run,
                                                        std::string_view writer, SystemCalls& calls) {
  const auto paths = files_of(directory, run, writer, calls);
  if (!paths) return Unexpected<StorageFailure>(paths.error());
  EarlierLife life;
  std::vector<RunFileReader> files;
  for (const auto& [sequence, path] : *paths) {
    life.next_sequence = sequence + 1;
    auto file = open_durable(calls, path);
    if (file) {
      files.push_back(std::move(*file));
      continue;
    }
    const bool torn = path.ends_with(kPartSuffix) && file.error().error != StorageError::io;
    if (!torn) return Unexpected<StorageFailure>(file.error());
    if (has_records(path)) {
      return Unexpected<StorageFailure>(
          {file.error().error, file.error().detail + ", but it has records: recover it (weir file "
                                                     "recover), and move the original away"});
    }
    life.files.push_back(
        {path, 0, {}, 0, false, sequence, "no file header: none of its data were acknowledged"});
  }
  resolve_copies(files);
  for (const RunFileReader& file : files) {
    life.files.push_back({file.path(), file.bytes().size(), file.live(),
                          file.closed() ? crc32c(file.bytes()) : 0, file.closed(), file.header().sequence,
                          note_of(file)});
    for (const IndexEntry& entry : file.entries()) {
      if (entry.dead) {
        ++life.dead;
      } else {
        life.copies.push_back({entry.slice, entry.attempt, entry.epoch, file.header().sequence});
      }
    }
  }
  return life;
}

}  // namespace weir::storage
