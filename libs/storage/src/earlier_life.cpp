#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/run_file_reader.hpp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <unistd.h>

namespace weir::storage {
namespace {

Failure io_failure(const std::string& path, const char* what, const std::string& why) {
  return {StorageError::io, path + ": cannot " + what + ": " + why};
}

// By sequence number.
Expected<std::map<std::uint32_t, std::string>, Failure> files_of(const std::string& directory, RunNumber run,
                                                                 std::string_view writer) {
  std::map<std::uint32_t, std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto sequence = run_file_sequence(entry->path().filename().string(), run, writer);
    if (sequence) files.emplace(*sequence, entry->path().string());
  }
  if (error) return Unexpected<Failure>(io_failure(directory, "read the output folder", error.message()));
  return files;
}

std::optional<Failure> sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int error = file < 0 || ::fdatasync(file) != 0 ? errno : 0;
  if (file >= 0) ::close(file);
  if (error == 0) return std::nullopt;
  return io_failure(path, "sync", std::generic_category().message(error));
}

// A process that died left whole records; a machine that died may have left others.
std::uint64_t drop_damaged(RunFileReader& file) {
  std::uint64_t damaged = 0;
  for (std::size_t i = 0; i < file.entries().size(); ++i) {
    if (file.entries()[i].dead || file.slice(file.entries()[i], Check::fragments)) continue;
    file.mark_dead(i);
    ++damaged;
  }
  return damaged;
}

std::string note_of(const RunFileReader& file, std::uint64_t damaged) {
  std::uint64_t skipped = 0;
  for (const Gap& gap : file.gaps()) skipped += gap.length;
  std::string note;
  if (damaged > 0) note += std::to_string(damaged) + " damaged record(s) skipped";
  if (skipped > 0)
    note += (note.empty() ? "" : ", ") + std::to_string(skipped) + " bytes of no record skipped";
  return note;
}

}  // namespace

Expected<EarlierLife, Failure> read_earlier_life(const std::string& directory, RunNumber run,
                                                 std::string_view writer) {
  const auto paths = files_of(directory, run, writer);
  if (!paths) return Unexpected<Failure>(paths.error());
  EarlierLife life;
  std::vector<RunFileReader> files;
  std::vector<std::string> notes;
  for (const auto& [sequence, path] : *paths) {
    life.next_sequence = sequence + 1;
    auto file = RunFileReader::open(path);
    if (!file) {
      // Nothing of a file is acknowledged before its header is on disk.
      const bool torn = path.ends_with(kPartSuffix) && file.error().error != StorageError::io;
      if (!torn) return Unexpected<Failure>(file.error());
      life.files.push_back({path, 0, {}, 0, false, "no file header: nothing of it was acknowledged"});
      continue;
    }
    std::uint64_t damaged = 0;
    if (!file->closed()) {
      if (auto failed = sync_file(path)) return Unexpected<Failure>(std::move(*failed));
      if (!planted(Planted::believe_torn_records)) damaged = drop_damaged(*file);
    }
    notes.push_back(note_of(*file, damaged));
    files.push_back(std::move(*file));
  }
  resolve_copies(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const RunFileReader& file = files[i];
    life.files.push_back({file.path(), file.bytes().size(), file.live(),
                          file.closed() ? crc32c(file.bytes()) : 0, file.closed(), std::move(notes[i])});
    for (const IndexEntry& entry : file.entries()) {
      if (!entry.dead)
        life.copies.push_back({entry.slice, entry.attempt, entry.epoch, file.header().sequence});
    }
  }
  return life;
}

}  // namespace weir::storage
