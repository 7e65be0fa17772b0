#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/storage/error.hpp>
#include <weir/storage/format.hpp>
#include <weir/storage/slice_record.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::storage {

class MappedFile;

// Bytes of a file outside any sound record.
struct Gap {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  StorageError error = StorageError::bad_magic;  // of the record head that was expected at `offset`
};

// Iterates over records. At a damaged place it searches for the next record: a head is recognised anywhere,
// by its magic, the file's tag, its own offset and its checksum.
class RecordCursor {
 public:
  RecordCursor(ConstBytes file, std::uint64_t offset, std::uint32_t tag)
      : file_(file), offset_(offset), tag_(tag) {}

  // Returns the next record; nothing at the end of the file. A gap before it is appended to `gaps`.
  [[nodiscard]] std::optional<RecordHead> next(std::vector<Gap>& gaps);
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  ConstBytes file_;
  std::uint64_t offset_;
  std::uint32_t tag_;
};

enum class Reading : std::uint8_t {
  index,    // trusts the index of a closed file
  records,  // ignores the index: only records with every byte sound are used
};

// Reads one run file. A closed one is opened by its footer and index. One without a footer (a .part) is
// scanned, and only slices with every byte sound are used: a record torn by a crash must not count. One with
// a damaged index is scanned too, but slices with damaged fragments are used; note() reports it. Slices are
// addressed by their place in the file.
class RunFileReader {
 public:
  // Maps the file. Requires: it does not get shorter meanwhile (a writer that appends does no harm).
  [[nodiscard]] static Expected<RunFileReader, StorageFailure> open(const std::string& path,
                                                                    Reading reading = Reading::index);
  // Requires: `file` outlives the reader. `path` is used in messages.
  [[nodiscard]] static Expected<RunFileReader, StorageFailure> from_bytes(ConstBytes file, std::string path,
                                                                          Reading reading = Reading::index);
  ~RunFileReader();
  RunFileReader(RunFileReader&&) noexcept;
  RunFileReader& operator=(RunFileReader&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] ConstBytes bytes() const { return bytes_; }
  // Returns whether footer and index are sound.
  [[nodiscard]] bool closed() const { return footer_.has_value() && note_.empty(); }
  // Returns whether the file has no footer, because its writer has not closed it.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  [[nodiscard]] const std::optional<Footer>& footer() const { return footer_; }
  // Returns why the file had to be scanned; empty for a closed file.
  [[nodiscard]] const std::string& note() const { return note_; }
  // Returns the gaps found by the scan. Empty for a closed file: verify() examines those.
  [[nodiscard]] std::span<const Gap> gaps() const { return gaps_; }

  // Returns every copy of a slice in file order, dead ones included.
  [[nodiscard]] std::span<const IndexEntry> entries() const { return entries_; }
  // Returns positions in entries(), by slice and store epoch.
  [[nodiscard]] std::span<const std::uint32_t> by_id() const { return by_id_; }
  // Returns the live copy.
  [[nodiscard]] const IndexEntry* find(SliceId slice) const;
  // Errors: not_found, if the entry's place has no such record.
  [[nodiscard]] Expected<SliceRecordView, StorageError> slice(const IndexEntry& entry,
                                                              Check check = Check::meta) const;

  // Return the contents of the begin-of-run and end-of-run records; nothing if the file has none.
  [[nodiscard]] std::optional<ConstBytes> begin_of_run() const { return begin_of_run_; }
  [[nodiscard]] std::optional<ConstBytes> end_of_run() const { return end_of_run_; }
  // Returns this file's list of dead copies, here and in earlier files. Those here are marked already.
  [[nodiscard]] std::span<const DeadCopy> dead_copies() const { return dead_copies_; }
  // Marks the listed entries as dead; the list is from the run's manifest or another file.
  void mark_dead(std::span<const DeadCopy> copies);
  void mark_dead(std::size_t entry) { entries_[entry].dead = true; }
  // Returns the sum over the live entries.
  [[nodiscard]] SliceSum live() const;

 private:
  RunFileReader();
  std::optional<StorageFailure> load(Reading reading);
  std::optional<StorageError> load_index();
  void load_tail(std::uint64_t from);
  void scan(Check check);
  void take_record(const RecordHead& head, Check check);
  void order();

  std::string path_;
  std::unique_ptr<MappedFile> mapped_;
  ConstBytes bytes_;
  FileHeader header_;
  std::optional<Footer> footer_;
  std::string note_;
  bool unfinished_ = false;
  std::vector<Gap> gaps_;
  std::vector<IndexEntry> entries_;
  std::vector<std::uint32_t> by_id_;
  std::optional<ConstBytes> begin_of_run_;
  std::optional<ConstBytes> end_of_run_;
  std::vector<DeadCopy> dead_copies_;
};

// Resolves copies across the files of one run: each file's dead lists apply to all, and of the copies of a
// slice in several files only the one with the highest store epoch is live. If one writer has a copy twice,
// the first is live.
void resolve_copies(std::span<RunFileReader> files);

}  // namespace weir::storage
