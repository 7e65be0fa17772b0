#pragma once

#include <weir/base/bytes.hpp>
#include <weir/ports/disk.hpp>
#include <weir/storage/format.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::storage {

struct OutputCounters {
  std::uint64_t appends = 0;
  std::uint64_t syncs = 0;
  std::uint64_t retries = 0;
  std::uint64_t restored = 0;  // files that were changed from outside and restored
  std::uint64_t bytes_durable = 0;
};

// One growing run file: gathers records into segments, appends them, and keeps each segment until it is on
// disk. After an error the file is cut to the durable length and written again from there. (After a failed
// sync it is unknown which unsynced pages are on disk, so all of them are written again.)
class OutputFile {
 public:
  struct Settings {
    std::size_t chunk_bytes;          // size at which a segment is appended
    std::size_t reference_bytes_min;  // bodies of this size and larger are referred to, smaller ones copied
  };
  struct Outcome {
    bool advanced = false;   // durable_end() has grown
    bool failed = false;     // an operation failed, the first in a row
    bool recovered = false;  // all data are written again and on disk
    bool published = false;
  };

  OutputFile(ports::Disk& disk, ports::FileId id, std::string part_path, std::string final_path,
             Settings settings, OutputCounters& counters);

  void open(FileHeader header);
  // Returns the offset of the record's head. `owner` keeps a large body alive; small ones are copied here.
  // `crc`: the body's CRC32C, if the caller knows it.
  std::uint64_t append(RecordType type, ConstBytes body, const std::shared_ptr<const void>& owner,
                       std::optional<std::uint32_t> crc = std::nullopt);
  std::uint64_t append(RecordType type, std::vector<std::byte> body);
  // Passes on gathered records if the disk has no append of this file in progress.
  void flush();
  // Requests that all data appended so far are made durable; if a sync is in progress, after it.
  void request_sync();
  // Data appended from here on are passed to the disk only when all data before are durable. Two places need
  // this: after the head, without which records cannot be read, and before the tail, which describes the
  // records (which copies are dead, where they are) and must not exist without them.
  void end_head();
  void begin_tail();
  // Returns the CRC32C of all bytes appended so far.
  [[nodiscard]] std::uint32_t checksum();
  // Ends the file: syncs and publishes.
  void finish();
  // Takes the event of the oldest operation in progress.
  Outcome on_event(const ports::DiskEvent& event);
  // Retries after a failure, once idle(): cuts the file and writes again the data that are not on disk. A
  // file that was changed from outside gets its name again; see damaged().
  void retry();

  [[nodiscard]] ports::FileId id() const { return id_; }
  // Returns whether a body of this length is referred to, and not copied.
  [[nodiscard]] bool is_referred_to(std::uint64_t bytes) const {
    return bytes >= settings_.reference_bytes_min;
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t durable_end() const { return durable_end_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Returns true if bytes that were on disk are gone: the file keeps the name of an unclosed one, and gets no
  // index.
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] const std::string& path() const { return damaged_ ? part_path_ : final_path_; }
  [[nodiscard]] std::uint32_t tag() const { return tag_; }
  // Returns the CRC32C of the first head_end() bytes: file header and begin of run.
  [[nodiscard]] std::uint32_t head_checksum() const { return head_crc_; }
  [[nodiscard]] std::uint64_t head_end() const { return head_end_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool idle() const { return operations_.empty(); }
  [[nodiscard]] ports::DiskError error() const { return error_; }
  [[nodiscard]] const std::string& detail() const { return detail_; }

 private:
  enum class Kind : std::uint8_t { create, append, sync, truncate, publish, restore };
  struct Operation {
    Kind kind;
    std::uint64_t token;
    std::uint64_t end;  // sync and publish: the length that they cover
  };
  struct Segment {
    std::vector<ConstBytes> pieces;
    std::vector<std::pair<std::size_t, std::uint32_t>> known;  // the CRC32C of pieces, by index, ascending
    std::vector<std::shared_ptr<const void>> owners;
    std::uint64_t end = 0;  // its place in the file
    std::size_t bytes = 0;
    bool handed = false;
  };

  void add_head(RecordType type, std::uint64_t body_length);
  void add_padding(std::uint64_t body_length);
  void add_copy(ConstBytes bytes);
  void add_reference(ConstBytes bytes, std::shared_ptr<const void> owner);
  Segment& gathering();
  void close_segment();
  void hand_over();
  [[nodiscard]] bool has_to_wait(const Segment& segment) const;
  void advance();
  std::uint64_t note(Kind kind, std::uint64_t end = 0);
  bool made_durable(std::uint64_t end);

  ports::Disk& disk_;
  ports::FileId id_;
  std::string part_path_;
  std::string final_path_;
  Settings settings_;
  OutputCounters& counters_;

  std::uint32_t tag_ = 0;
  std::uint32_t head_crc_ = 0;
  std::uint32_t crc_ = 0;  // up to the last closed segment
  std::uint64_t size_ = 0;
  std::uint64_t handed_end_ = 0;
  std::uint64_t durable_end_ = 0;
  std::uint64_t head_end_ = UINT64_MAX;
  std::uint64_t tail_begin_ = UINT64_MAX;
  std::uint64_t records_ = 0;

  std::shared_ptr<std::byte[]> block_;
  std::size_t block_used_ = 0;
  std::shared_ptr<Segment> gathering_;
  std::deque<std::shared_ptr<Segment>> segments_;  // closed, not on disk yet

  std::deque<Operation> operations_;
  std::uint64_t next_token_ = 0;
  std::size_t appends_under_way_ = 0;
  bool created_ = false;
  bool sync_wanted_ = false;
  bool sync_under_way_ = false;
  bool finishing_ = false;
  bool publish_under_way_ = false;
  bool failed_ = false;
  bool changed_ = false;  // from outside, and not restored yet
  bool damaged_ = false;
  bool recovering_ = false;
  std::uint64_t recovery_end_ = 0;
  ports::DiskError error_ = ports::DiskError::none;
  std::string detail_;
};

}  // namespace weir::storage
