#pragma once

#include <weir/base/bytes.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

// The memory that a readout and its source host share (docs/protocols.md, "Source hosts"):
//
//   header │ requests, a ring of entries │ records, a ring of bytes
//
// The readout copies a record before it looks at it: the host can change it at any time.
namespace weir::source_host {

// Numbers under which a host inherits its descriptors.
constexpr int kSetupDescriptor = 4;
constexpr int kLaneDescriptor = 5;
constexpr int kWakeDescriptor = 7;
constexpr int kNoteDescriptor = 8;

struct SourceLaneHeader {
  static constexpr std::uint64_t kMagic = 0x3145'4e41'4c435253;  // "SRCLANE1" in memory
  static constexpr std::uint32_t kRequests = 16384;
  static constexpr std::size_t kCacheLine = 64;

  std::uint64_t magic = kMagic;
  std::uint64_t record_bytes = 0;
  // Written by the readout.
  alignas(kCacheLine) std::atomic<std::uint64_t> asked{0};  // requests
  std::atomic<std::uint64_t> read{0};                       // bytes of records
  std::atomic<std::uint32_t> readout_asleep{0};
  std::atomic<std::uint32_t> bell{0};  // futex: requests, or room for records
  // Written by the host.
  alignas(kCacheLine) std::atomic<std::uint64_t> taken{0};  // requests
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> written{0};  // bytes of records
  std::atomic<std::uint32_t> host_waits{0};
};

enum class HostRequestKind : std::uint32_t { slice = 0, begin_run = 1, end_run = 2, finish = 3 };

struct LaneRequest {
  HostRequestKind kind = HostRequestKind::slice;
  std::uint32_t type = 0;  // of the trigger; begin_run: the run's number
  std::uint64_t slice = 0;
  std::int64_t time_utc_ns = 0;
  std::int64_t duration_ns = 0;
};

enum class RecordKind : std::uint32_t {
  fragment = 1,  // status: WEIR_SOURCE_OK ...; missing ones are not produced
  failed = 2,    // the source could not make it: text
  log = 3,       // status: WEIR_SOURCE_LOG_...; text
  ready = 4,     // status: 1 if it answers each slice; text: version, line feed, description
  refused = 5,   // text; the host exits
  begun = 6,
  ended = 7,     // text: why the sources could not end the run
  count = 8,     // slice: the amount; text: name of a counter
  fault = 9,     // text
  stamped = 10,  // a fragment; its bytes begin with a LaneStamp
  passed = 11,   // slice: the time (signed) before which the source delivers nothing more; status 1: a gap
};

// Bytes follow, then up to 7 more to a multiple of 8.
struct LaneRecord {
  RecordKind kind = RecordKind::fragment;
  std::uint32_t source = 0;
  std::uint64_t slice = 0;
  std::uint32_t length = 0;
  std::uint32_t status = 0;
};

// The counter and clock of a source with a fragment.
struct LaneStamp {
  static constexpr std::uint32_t kCounter = 1;
  static constexpr std::uint32_t kTime = 2;

  std::uint32_t has = 0;
  std::uint32_t reserved = 0;
  std::uint64_t counter = 0;
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;
};

[[nodiscard]] constexpr std::size_t lane_bytes(std::size_t record_bytes) {
  return sizeof(SourceLaneHeader) + SourceLaneHeader::kRequests * sizeof(LaneRequest) + record_bytes;
}
// The longest record's bytes.
[[nodiscard]] constexpr std::size_t record_max(std::size_t record_bytes) {
  return record_bytes - sizeof(LaneRecord) - 8;
}

// Parts of a mapped lane. Checks no number that the other side wrote.
struct LaneParts {
  LaneParts() = default;
  // Requires: lane_bytes(record_bytes) bytes; record_bytes is a multiple of 8.
  explicit LaneParts(Bytes memory);

  SourceLaneHeader* header = nullptr;
  std::span<LaneRequest> requests;
  Bytes records;
};

// The readout's side. One thread.
class LaneReader {
 public:
  enum class Read : std::uint8_t { none, record, corrupt };

  LaneReader() = default;
  // Makes an empty lane of this memory.
  explicit LaneReader(Bytes memory);

  // Returns the request's number, from 1 on; 0: the ring is full.
  [[nodiscard]] std::uint64_t ask(const LaneRequest& request);
  [[nodiscard]] std::uint64_t asked() const { return asked_; }
  // Wakes the host if it waits for requests or for room.
  void ring() const;
  // Copies the next record's head; its bytes are read by take_bytes(), once, into memory of this length.
  [[nodiscard]] Read next(LaneRecord& record);
  void take_bytes(std::byte* to, std::size_t length);
  // Frees the room of records that were read.
  void release();
  // Asks to be woken. False: there are records.
  [[nodiscard]] bool fall_asleep();
  [[nodiscard]] std::uint64_t taken() const { return parts_.header->taken.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t done() const { return parts_.header->done.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t written() const {
    return parts_.header->written.load(std::memory_order_acquire);
  }

 private:
  LaneParts parts_;
  std::uint64_t asked_ = 0;
  std::uint64_t read_ = 0;
};

// The host's side. write() and write_many() are for any thread, take() for one.
class LaneWriter {
 public:
  // `wake`: called when the readout sleeps.
  LaneWriter(Bytes memory, std::function<void()> wake);

  // Waits for requests, at most `patience_ms`. The requests that it returned before are done.
  std::size_t take(std::span<LaneRequest> requests, int patience_ms);
  // Waits for room. False: the record is longer than record_max(), and was not written.
  [[nodiscard]] bool write(const LaneRecord& record, ConstBytes bytes);
  // Writes a fragment with its stamp.
  [[nodiscard]] bool write(const LaneRecord& record, const LaneStamp& stamp, ConstBytes bytes);
  // The fragments of one source: their bytes are one after the other. `stamps`: of all or of none.
  [[nodiscard]] bool write_many(std::uint32_t source, std::span<const std::uint64_t> slices,
                                std::span<const std::uint32_t> lengths, ConstBytes bytes,
                                std::span<const LaneStamp> stamps = {});
  [[nodiscard]] std::size_t record_max() const;

 private:
  void put(const LaneRecord& record, ConstBytes bytes);
  void put(LaneRecord record, const LaneStamp& stamp, ConstBytes bytes);
  void copy_in(std::uint64_t at, ConstBytes bytes);
  void wait_for_room(std::size_t bytes);
  void publish();

  LaneParts parts_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::uint64_t written_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace weir::source_host
