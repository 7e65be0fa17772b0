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
#include <vector>

namespace weir::storage {

struct OutputCounters {
  std::uint64_t appends = 0;
  std::uint64_t syncs = 0;
  std::uint64_t retries = 0;
  std::uint64_t restored = 0;  // files that were changed from outside, as far as they can be
  std::uint64_t bytes_durable = 0;
};

// One growing run file: gathers records into segments, appends them, and keeps each segment until it is on
// disk, so that after an error the file is cut to what is on disk and written again from there. (After a
// failed sync it is not known which of the unsynced pages are on disk: all of them are written again.)
class OutputFile {
 public:
  struct Settings {
    std::size_t chunk_bytes;          // a segment is appended when it has this size
    std::size_t reference_bytes_min;  // bodies from here on are referred to, smaller ones copied
  };
  struct Outcome {
    bool advanced = false;   // durable_end() has grown
    bool failed = false;     // an operation failed, first of a row
    bool recovered = false;  // everything is written again and on disk
    bool published = false;
  };

  OutputFile(ports::Disk& disk, ports::FileId id, std::string part_path, std::string final_path,
             Settings settings, OutputCounters& counters);

  void open(FileHeader header);
  // The offset of the record's head. `owner` keeps a large body alive; small ones are copied here.
  std::uint64_t append(RecordType type, ConstBytes body, const std::shared_ptr<const void>& owner);
  std::uint64_t append(RecordType type, std::vector<std::byte> body);
  // Hands over what is gathered when the disk has no append of this file to do.
  void flush();
  // Asks for what was appended so far to be made durable; while another sync is under way, after that.
  void request_sync();
  // What is appended from here on is given to the disk only when all before it is on disk. Two such places:
  // behind the head, without which records cannot be read; and before the tail, which speaks of the records
  // (which copies are dead, where they are) and must not be there without them.
  void end_head();
  void begin_tail();
  // CRC32C of everything appended so far.
  [[nodiscard]] std::uint32_t checksum();
  // No more records: syncs and publishes.
  void finish();
  // The answer to the oldest operation under way.
  Outcome on_event(const ports::DiskEvent& event);
  // After a failure, once idle(): cuts the file and writes again what is not on disk. Where it was changed
  // from outside the path names it again; see damaged().
  void retry();

  [[nodiscard]] ports::FileId id() const { return id_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t durable_end() const { return durable_end_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Bytes that were on disk are gone: the file keeps the name of one that is not closed, and gets no
  // index.
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] const std::string& path() const { return damaged_ ? part_path_ : final_path_; }
  [[nodiscard]] std::uint32_t tag() const { return tag_; }
  // CRC32C of the first head_end() bytes: file header and begin of run.
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
    std::uint64_t end;  // sync and publish: what they cover
  };
  struct Segment {
    std::vector<ConstBytes> pieces;
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
