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

// Bytes of a file that belong to no sound record.
struct Gap {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  StorageError error = StorageError::bad_magic;  // of the record head that was expected at `offset`
};

// Goes from record to record. Where there is none it looks for the next one behind: a head is recognised
// anywhere, by its magic, the file's tag, its own offset and its checksum.
class RecordCursor {
 public:
  RecordCursor(ConstBytes file, std::uint64_t offset, std::uint32_t tag)
      : file_(file), offset_(offset), tag_(tag) {}

  // The next record; nothing at the end of the file. A gap before it is appended to `gaps`.
  [[nodiscard]] std::optional<RecordHead> next(std::vector<Gap>& gaps);
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  ConstBytes file_;
  std::uint64_t offset_;
  std::uint32_t tag_;
};

enum class Reading : std::uint8_t {
  index,    // of a closed file: what its index says is believed
  records,  // never by the index: only records that are sound in every byte are taken
};

// Reads one run file. A closed one is opened by its footer and index. One without a footer (a .part) is gone
// through, and only slices that are sound in every byte are taken: what a crash tore must not count. One
// with a damaged index is gone through, too, but slices are taken whose fragments may be damaged. note() says
// so. Slices are addressed by their place in the file.
class RunFileReader {
 public:
  // Maps the file: it must not get shorter meanwhile (a writer that goes on appending does no harm).
  [[nodiscard]] static Expected<RunFileReader, Failure> open(const std::string& path,
                                                             Reading reading = Reading::index);
  // `file` outlives the reader; `path` is for messages.
  [[nodiscard]] static Expected<RunFileReader, Failure> from_bytes(ConstBytes file, std::string path,
                                                                   Reading reading = Reading::index);
  ~RunFileReader();
  RunFileReader(RunFileReader&&) noexcept;
  RunFileReader& operator=(RunFileReader&&) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] ConstBytes bytes() const { return bytes_; }
  // Footer and index are there and sound.
  [[nodiscard]] bool closed() const { return footer_.has_value() && note_.empty(); }
  // It does not end with a footer: as a writer leaves it that did not come to close it.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  [[nodiscard]] const std::optional<Footer>& footer() const { return footer_; }
  // Why the file had to be read through; empty for a closed file.
  [[nodiscard]] const std::string& note() const { return note_; }
  // What reading through had to skip. Empty for a closed file: verify() looks into those.
  [[nodiscard]] std::span<const Gap> gaps() const { return gaps_; }

  // Every copy of a slice in file order, dead ones included.
  [[nodiscard]] std::span<const IndexEntry> entries() const { return entries_; }
  // Positions in entries(), by slice and store epoch.
  [[nodiscard]] std::span<const std::uint32_t> by_id() const { return by_id_; }
  // The copy that counts.
  [[nodiscard]] const IndexEntry* find(SliceId slice) const;
  // not_found: there is no such record at the entry's place.
  [[nodiscard]] Expected<SliceRecordView, StorageError> slice(const IndexEntry& entry,
                                                              Check check = Check::meta) const;

  // Content of the begin-of-run and end-of-run records; nothing when the file has none.
  [[nodiscard]] std::optional<ConstBytes> begin_of_run() const { return begin_of_run_; }
  [[nodiscard]] std::optional<ConstBytes> end_of_run() const { return end_of_run_; }
  // What this file says of copies here and in earlier files. Those here are marked already.
  [[nodiscard]] std::span<const DeadCopy> dead_copies() const { return dead_copies_; }
  // Marks the entries that are listed, as the run's manifest or another file does.
  void mark_dead(std::span<const DeadCopy> copies);
  void mark_dead(std::size_t entry) { entries_[entry].dead = true; }
  // Of the live entries.
  [[nodiscard]] SliceSum live() const;

 private:
  RunFileReader();
  std::optional<Failure> load(Reading reading);
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

// For the files of one run: each file's dead lists hold for all, and of the copies of a slice in several
// files only the one with the highest store epoch counts. Where one writer has a copy twice, the first
// counts.
void resolve_copies(std::span<RunFileReader> files);

}  // namespace weir::storage
