// Reads stored runs: slices with their fragments and output events, the record of the run, and its
// histograms. For programs outside Weir: find_package(Weir COMPONENTS FileReader) and link Weir::FileReader.
// The header needs nothing but the C++ library. docs/analysis.md has an example.
//
// Errors are thrown as weir::files::Error. Objects of different threads may be used at the same time, one
// object only by one thread; a Slice and all copies of a Run refer to the same mapped files, which are never
// changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define WEIR_FILES_API __attribute__((visibility("default")))

namespace weir::files {

using Bytes = std::span<const std::byte>;

enum class ErrorKind : std::uint8_t {
  not_found,  // no such file or folder, or no such run in the folder
  ambiguous,  // the folder has several runs: say which
  damaged,    // bytes that no writer of Weir has written, or that have changed since
  io,         // a system call failed
};
[[nodiscard]] WEIR_FILES_API std::string_view name(ErrorKind kind);

// what() is a sentence with the file, the fault and the remedy.
class WEIR_FILES_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// The numbers of these three are those of the file format. Later versions may add some.
enum class Status : std::uint8_t {
  ok = 0,
  missing = 1,    // requested, and not received: Fragment::reason says why
  truncated = 2,  // shortened by the source; the remaining bytes are good
  corrupt = 3,    // the checksum was wrong twice; the bytes are kept as received
  suppressed = 4,
  not_requested = 5,
  out_of_step = 6,  // its front-end's counter or time does not fit the slice; the bytes are good
};
enum class Reason : std::uint8_t {
  none = 0,
  deadline = 1,
  source_down = 2,
  restarted = 3,
  not_produced = 4,
  dropped = 5,
  masked = 6,
  no_buffer = 7,
  overflow = 8,
  too_large = 9,
  unknown_source = 10,
  gap = 11,
  removed = 12,
  too_old = 13,
};
enum class Decision : std::uint8_t {
  filter = 0,      // the filter accepted the slice
  prescale = 1,    // one in Slice::prescale() is kept of those that the filter rejects
  no_filter = 2,   // no filter is configured, or it failed: filter_result() is then the reason
  incomplete = 3,  // incomplete slices bypass the filter
  poison = 4,      // the slice ended its filter too often: filter_result() may be the reason
  undecided = 5,   // a sample of a tap
  burst = 6,       // rejected, and kept for an alert
};
[[nodiscard]] WEIR_FILES_API std::string_view name(Status status);
[[nodiscard]] WEIR_FILES_API std::string_view name(Reason reason);
[[nodiscard]] WEIR_FILES_API std::string_view name(Decision decision);

// One source's part of a slice. `bytes` are those of the mapped file; they are valid while a Slice or a Run
// that refers to the file exists, and untrusted, because a detector can send anything.
struct Fragment {
  std::uint32_t source = 0;
  Status status = Status::ok;
  Reason reason = Reason::none;
  bool kept = false;                           // false: the filter kept no bytes of this source
  std::uint32_t total_length = 0;              // at the source; 0 if unknown
  std::optional<std::uint32_t> crc32c;         // of the whole fragment, from the source
  std::optional<std::uint32_t> stored_crc32c;  // of `bytes`, from the DCM
  Bytes bytes;

  // Returns false if `bytes` have another checksum than when they were stored; true if they have none.
  [[nodiscard]] WEIR_FILES_API bool is_sound() const;
};

// Bytes that a filter has added to a slice.
struct OutputEvent {
  std::uint64_t id = 0;
  Bytes bytes;
};

class Run;

// A stored slice. Cheap to copy; keeps its file mapped.
class WEIR_FILES_API Slice {
 public:
  [[nodiscard]] std::uint64_t id() const;
  [[nodiscard]] std::uint32_t run() const;
  [[nodiscard]] std::uint32_t attempt() const;  // more than 0: another DCM had the slice before
  [[nodiscard]] std::int64_t trigger_time_utc_ns() const;
  [[nodiscard]] std::int64_t duration_ns() const;
  [[nodiscard]] std::uint32_t trigger_type() const;
  [[nodiscard]] std::uint64_t streams() const;  // a bit for each
  [[nodiscard]] std::uint32_t prescale() const;
  [[nodiscard]] std::uint32_t dcm() const;  // its number
  [[nodiscard]] Decision decision() const;
  // True if a requested fragment is missing or damaged.
  [[nodiscard]] bool is_incomplete() const;

  [[nodiscard]] Bytes trigger_payload() const;
  [[nodiscard]] Bytes filter_result() const;

  // Fragments are sorted by source. Requires: index < fragment_count().
  [[nodiscard]] std::size_t fragment_count() const;
  [[nodiscard]] Fragment fragment(std::size_t index) const;
  [[nodiscard]] std::vector<Fragment> fragments() const;
  // Returns nothing if the slice has no row for this source.
  [[nodiscard]] std::optional<Fragment> find(std::uint32_t source) const;

  // Requires: index < event_count().
  [[nodiscard]] std::size_t event_count() const;
  [[nodiscard]] OutputEvent event(std::size_t index) const;
  [[nodiscard]] std::vector<OutputEvent> events() const;

 private:
  friend class Run;
  struct Record;
  explicit Slice(std::shared_ptr<const Record> record) : record_(std::move(record)) {}
  std::shared_ptr<const Record> record_;
};

// Bins of equal width over [low, high).
struct Axis {
  std::uint32_t bins = 0;
  double low = 0;
  double high = 0;
};

// A histogram that the filter has booked, summed over all DCMs of the run.
struct WEIR_FILES_API Histogram {
  enum class Kind : std::uint8_t { one_dimension = 1, two_dimensions = 2, profile = 3 };

  std::string name;
  Kind kind = Kind::one_dimension;
  Axis x;
  Axis y;               // of two dimensions
  double entries = 0;   // calls of fill()
  double unusable = 0;  // of them, with a value that is not a number
  double mean_x = 0;    // weighted, over all usable entries
  double sigma_x = 0;
  // Sums of weights; x runs fastest. Cell 0 of an axis is underflow, cell bins + 1 overflow.
  std::vector<double> contents;
  std::vector<double> mean_y;   // of a profile: by cell of x
  std::vector<double> sigma_y;  // of a profile

  // Requires: x <= this->x.bins + 1, and the same of y.
  [[nodiscard]] double content(std::uint32_t x_cell, std::uint32_t y_cell = 0) const {
    return contents[std::size_t{y_cell} * (x.bins + 2) + x_cell];
  }
};

// A run file, as it was found.
struct RunFile {
  std::filesystem::path path;
  std::string writer;
  std::uint32_t sequence = 0;  // among the writer's files of the run
  bool is_closed = true;
  std::string note;          // why the file had to be read record by record; empty: it did not
  std::uint64_t slices = 0;  // that count
};

// The slices of a run that count, ordered by id: copies that a later attempt has replaced are left out. Holds
// the files' indexes in memory and maps the files. Files that were not closed are read record by record, and
// only whole records are used; files() names them. Cheap to copy.
class WEIR_FILES_API Run {
 public:
  // `path`: a run file, or a folder with the files of a run. `number`: of the run, if the folder has several.
  // Throws Error.
  explicit Run(const std::filesystem::path& path, std::optional<std::uint32_t> number = std::nullopt);

  [[nodiscard]] std::uint32_t number() const;
  [[nodiscard]] std::string farm() const;
  [[nodiscard]] std::vector<RunFile> files() const;
  // Returns the farm file as it ran, every key of it (YAML); empty if the files have none.
  [[nodiscard]] std::string record() const;
  // Returns the run's summary (docs/summary.md, JSON); empty if the folder has none. Throws Error.
  [[nodiscard]] std::string summary() const;
  // Returns the filter's histograms; none if the folder has none. Throws Error.
  [[nodiscard]] std::vector<Histogram> histograms() const;

  [[nodiscard]] std::size_t size() const;
  // Requires: index < size(). Throws Error (damaged).
  [[nodiscard]] Slice operator[](std::size_t index) const;
  // Returns nothing if the run has no such slice. Throws Error (damaged).
  [[nodiscard]] std::optional<Slice> find(std::uint64_t id) const;

  // Reads a slice when it is dereferenced. Requires: the Run outlives it.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Slice;
    using difference_type = std::ptrdiff_t;
    using pointer = const Slice*;
    using reference = Slice;

    Iterator() = default;
    Iterator(const Run* run, std::size_t index) : run_(run), index_(index) {}
    [[nodiscard]] Slice operator*() const { return (*run_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    [[nodiscard]] bool operator==(const Iterator&) const = default;

   private:
    const Run* run_ = nullptr;
    std::size_t index_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

 private:
  struct Data;
  friend struct Slice::Record;
  std::shared_ptr<const Data> data_;
};

}  // namespace weir::files
