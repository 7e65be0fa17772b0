#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/storage/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The frame of a run file: header, record heads, index, dead list, footer. FORMAT.md specifies each byte.
namespace weir::storage {

constexpr std::uint16_t kFormatVersion = 1;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kNameLengthMax = 1024;
constexpr std::size_t kRecordHeadLength = 32;
constexpr std::size_t kIndexEntryLength = 48;
constexpr std::size_t kDeadCopyLength = 16;
constexpr std::size_t kFooterBodyLength = 72;
constexpr std::size_t kFooterLength = kRecordHeadLength + kFooterBodyLength;
constexpr std::string_view kFileSuffix = ".weir";
constexpr std::string_view kPartSuffix = ".part";  // behind kFileSuffix while the file is being written

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t length) {
  return (length + kAlignment - 1) & ~static_cast<std::uint64_t>(kAlignment - 1);
}

// The numbers are part of the file format: never reuse one. A reader skips unknown types.
enum class RecordType : std::uint16_t {
  slice = 1,
  begin_of_run = 2,
  end_of_run = 3,
  dead_list = 4,
  index = 5,
  footer = 6,
};
[[nodiscard]] std::string_view name(RecordType type);

struct FileHeader {
  RunNumber run;
  std::uint32_t sequence = 0;  // counts the files of one writer in one run
  UtcNs created = 0;
  std::string writer;
  std::string farm;
  std::uint32_t length = 0;  // in the file; set by parse and encode
  std::uint32_t tag = 0;     // the header's CRC32C, repeated in every record head; set by parse and encode
};
// Appends the header to `out`, and sets length and tag. Names longer than kNameLengthMax are cut.
void encode_file_header(FileHeader& header, std::vector<std::byte>& out);
[[nodiscard]] Expected<FileHeader, StorageError> parse_file_header(ConstBytes file);

struct RecordHead {
  std::uint32_t tag = 0;
  std::uint64_t offset = 0;  // of this head in the file
  std::uint64_t body_length = 0;
  RecordType type = RecordType::slice;
  std::uint16_t flags = 0;

  // Returns the length of head, body and padding.
  [[nodiscard]] std::uint64_t length() const { return kRecordHeadLength + padded(body_length); }
};
// Requires: `at` has room for kRecordHeadLength bytes.
void encode_record_head(const RecordHead& head, std::byte* at);
// Parses the record head at `offset`. `tag`: that of the file's header. Errors: truncated, if the body ends
// outside the file.
[[nodiscard]] Expected<RecordHead, StorageError> parse_record_head(ConstBytes file, std::uint64_t offset,
                                                                   std::uint32_t tag);

// One copy of a slice in a file.
struct IndexEntry {
  SliceId slice;
  std::uint64_t offset = 0;  // of the record head
  std::uint64_t length = 0;  // of the record's body
  std::uint64_t stream_mask = 0;
  UtcNs trigger_time = 0;
  Attempt attempt;
  StoreEpoch epoch;
  std::uint16_t slice_flags = 0;  // those of the slice record
  bool dead = false;              // another copy is the live one, or none is
  bool operator==(const IndexEntry&) const = default;

  [[nodiscard]] std::uint64_t end() const { return offset + kRecordHeadLength + padded(length); }
};
// Returns the body of an index record. Sorts `entries` by slice and epoch.
[[nodiscard]] std::vector<std::byte> encode_index(std::vector<IndexEntry>& entries);
// Parses the index of a file of `file_length` bytes; each offset and length is inside it.
[[nodiscard]] Expected<std::vector<IndexEntry>, StorageError> parse_index(ConstBytes body,
                                                                          std::uint64_t file_length);

// A stored copy that is no longer valid, in any file of the run.
struct DeadCopy {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  std::uint32_t sequence = 0;  // of the file, among those of the writer that lists it
  auto operator<=>(const DeadCopy&) const = default;
};
[[nodiscard]] std::vector<std::byte> encode_dead_list(std::span<const DeadCopy> copies);
[[nodiscard]] Expected<std::vector<DeadCopy>, StorageError> parse_dead_list(ConstBytes body);

// Encode bytes that the format does not interpret: the begin-of-run and end-of-run records.
[[nodiscard]] std::vector<std::byte> encode_opaque(ConstBytes content);
[[nodiscard]] Expected<ConstBytes, StorageError> parse_opaque(ConstBytes body);

struct Footer {
  std::uint32_t content_crc = 0;  // CRC32C of everything before the footer's head
  std::uint64_t index_offset = 0;
  std::uint64_t index_length = 0;  // of the body
  std::uint64_t index_count = 0;
  std::uint64_t tail_offset = 0;  // after the last slice record
  SliceSum live;                  // the index entries that are not dead
  std::uint64_t records = 0;      // of every type, the footer included
};
[[nodiscard]] std::vector<std::byte> encode_footer(const Footer& footer);
// Parses the footer at the end of a file; not_found if the file does not end with one.
[[nodiscard]] Expected<Footer, StorageError> parse_footer(ConstBytes file, std::uint32_t tag);

// Returns "run-000001-writer-0-0000.weir".
[[nodiscard]] std::string run_file_name(RunNumber run, std::string_view writer, std::uint32_t sequence);
struct RunFileName {
  RunNumber run;
  std::string writer;
  std::uint32_t sequence = 0;
};
// Parses such a name, with or without kPartSuffix; returns nothing for any other name.
[[nodiscard]] std::optional<RunFileName> parse_run_file_name(std::string_view file_name);
// Returns the sequence number in such a name; nothing for another run's or writer's file.
[[nodiscard]] std::optional<std::uint32_t> run_file_sequence(std::string_view file_name, RunNumber run,
                                                             std::string_view writer);

}  // namespace weir::storage
