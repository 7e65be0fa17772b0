#include <weir/base/assert.hpp>
#include <weir/source_host/lane.hpp>

#include <algorithm>
#include <climits>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace weir::source_host {
namespace {

constexpr int kLookAgainMs = 100;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
constexpr std::size_t room_of(std::size_t bytes) { return sizeof(LaneRecord) + padded(bytes); }

void wait_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, int milliseconds) {
  const timespec patience{milliseconds / 1000, milliseconds % 1000 * 1'000'000L};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &patience, nullptr, 0);
}

void wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Copies between a ring and memory, in two pieces where the ring ends.
template <class Copy>
void in_pieces(std::size_t ring, std::uint64_t at, std::size_t length, Copy copy) {
  const auto begin = static_cast<std::size_t>(at % ring);
  const std::size_t first = std::min(length, ring - begin);
  if (first > 0) copy(begin, std::size_t{0}, first);
  if (first < length) copy(std::size_t{0}, first, length - first);
}

}  // namespace

LaneParts::LaneParts(Bytes memory)
    : header(reinterpret_cast<SourceLaneHeader*>(memory.data())),
      requests(reinterpret_cast<LaneRequest*>(memory.data() + sizeof(SourceLaneHeader)),
               SourceLaneHeader::kRequests),
      records(memory.subspan(lane_bytes(0))) {
  WEIR_ASSERT(records.size() % 8 == 0 && records.size() > room_of(0));
}

LaneReader::LaneReader(Bytes memory) {
  new (memory.data()) SourceLaneHeader;
  parts_ = LaneParts(memory);
  parts_.header->record_bytes = parts_.records.size();
}

std::uint64_t LaneReader::ask(const LaneRequest& request) {
  if (asked_ - std::min(asked_, taken()) >= SourceLaneHeader::kRequests) return 0;
  parts_.requests[asked_ % SourceLaneHeader::kRequests] = request;
  parts_.header->asked.store(++asked_, std::memory_order_release);
  return asked_;
}

void LaneReader::ring() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (parts_.header->host_waits.load(std::memory_order_relaxed) == 0) return;
  parts_.header->bell.fetch_add(1, std::memory_order_release);
  wake_all(parts_.header->bell);
}

LaneReader::Read LaneReader::next(LaneRecord& record) {
  const std::uint64_t there = written() - read_;
  if (there == 0) return Read::none;
  if (there > parts_.records.size() || there < sizeof(LaneRecord)) return Read::corrupt;
  in_pieces(parts_.records.size(), read_, sizeof record,
            [&](std::size_t from, std::size_t to, std::size_t n) {
              std::memcpy(reinterpret_cast<std::byte*>(&record) + to, parts_.records.data() + from, n);
            });
  if (room_of(record.length) > there) return Read::corrupt;
  read_ += sizeof record;
  return Read::record;
}

void LaneReader::take_bytes(std::byte* to, std::size_t length) {
  in_pieces(parts_.records.size(), read_, length, [&](std::size_t from, std::size_t at, std::size_t n) {
    if (to != nullptr) std::memcpy(to + at, parts_.records.data() + from, n);
  });
  read_ += padded(length);
}

void LaneReader::release() { parts_.header->read.store(read_, std::memory_order_release); }

bool LaneReader::fall_asleep() {
  parts_.header->readout_asleep.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (written() == read_) return true;
  parts_.header->readout_asleep.store(0, std::memory_order_relaxed);
  return false;
}

LaneWriter::LaneWriter(Bytes memory, std::function<void()> wake) : parts_(memory), wake_(std::move(wake)) {}

std::size_t LaneWriter::record_max() const { return source_host::record_max(parts_.records.size()); }

std::size_t LaneWriter::take(std::span<LaneRequest> requests, int patience_ms) {
  SourceLaneHeader& header = *parts_.header;
  header.done.store(taken_, std::memory_order_release);
  for (int waited = 0; header.asked.load(std::memory_order_acquire) == taken_; waited += kLookAgainMs) {
    if (waited >= patience_ms) return 0;
    const std::uint32_t bell = header.bell.load(std::memory_order_acquire);
    header.host_waits.fetch_add(1, std::memory_order_seq_cst);
    if (header.asked.load(std::memory_order_seq_cst) == taken_)
      wait_while(header.bell, bell, std::min(kLookAgainMs, patience_ms - waited));
    header.host_waits.fetch_sub(1, std::memory_order_relaxed);
  }
  const std::uint64_t asked = header.asked.load(std::memory_order_acquire);
  const std::size_t count = std::min<std::size_t>(requests.size(), asked - taken_);
  for (std::size_t i = 0; i < count; ++i)
    requests[i] = parts_.requests[(taken_ + i) % SourceLaneHeader::kRequests];
  taken_ += count;
  header.taken.store(taken_, std::memory_order_release);
  return count;
}

bool LaneWriter::write(const LaneRecord& record, ConstBytes bytes) {
  if (bytes.size() > record_max()) return false;
  const std::lock_guard lock(mutex_);
  put(record, bytes);
  publish();
  return true;
}

bool LaneWriter::write(const LaneRecord& record, const LaneStamp& stamp, ConstBytes bytes) {
  if (bytes.size() + sizeof stamp > record_max()) return false;
  const std::lock_guard lock(mutex_);
  put(record, stamp, bytes);
  publish();
  return true;
}

bool LaneWriter::write_many(std::uint32_t source, std::span<const std::uint64_t> slices,
                            std::span<const std::uint32_t> lengths, ConstBytes bytes,
                            std::span<const LaneStamp> stamps) {
  const std::size_t length_max = record_max() - (stamps.empty() ? 0 : sizeof(LaneStamp));
  std::uint64_t sum = 0;
  for (const std::uint32_t length : lengths) {
    if (length > length_max) return false;
    sum += length;
  }
  if (slices.size() != lengths.size() || sum != bytes.size()) return false;
  if (!stamps.empty() && stamps.size() != slices.size()) return false;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const LaneRecord record{RecordKind::fragment, source, slices[i], lengths[i], 0};
    if (stamps.empty()) {
      put(record, bytes.first(lengths[i]));
    } else {
      put(record, stamps[i], bytes.first(lengths[i]));
    }
    bytes = bytes.subspan(lengths[i]);
  }
  publish();
  return true;
}

void LaneWriter::put(const LaneRecord& record, ConstBytes bytes) {
  wait_for_room(room_of(bytes.size()));
  copy_in(written_, {reinterpret_cast<const std::byte*>(&record), sizeof record});
  copy_in(written_ + sizeof record, bytes);
  written_ += room_of(bytes.size());
}

void LaneWriter::put(LaneRecord record, const LaneStamp& stamp, ConstBytes bytes) {
  record.kind = RecordKind::stamped;
  record.length = static_cast<std::uint32_t>(sizeof stamp + bytes.size());
  wait_for_room(room_of(record.length));
  copy_in(written_, {reinterpret_cast<const std::byte*>(&record), sizeof record});
  copy_in(written_ + sizeof record, {reinterpret_cast<const std::byte*>(&stamp), sizeof stamp});
  copy_in(written_ + sizeof record + sizeof stamp, bytes);
  written_ += room_of(record.length);
}

void LaneWriter::copy_in(std::uint64_t at, ConstBytes bytes) {
  in_pieces(parts_.records.size(), at, bytes.size(), [&](std::size_t to, std::size_t from, std::size_t n) {
    std::memcpy(parts_.records.data() + to, bytes.data() + from, n);
  });
}

void LaneWriter::wait_for_room(std::size_t bytes) {
  SourceLaneHeader& header = *parts_.header;
  const auto has_room = [&] {
    return written_ + bytes - header.read.load(std::memory_order_seq_cst) <= parts_.records.size();
  };
  if (has_room()) return;
  publish();
  while (!has_room()) {
    const std::uint32_t bell = header.bell.load(std::memory_order_acquire);
    header.host_waits.fetch_add(1, std::memory_order_seq_cst);
    if (!has_room()) wait_while(header.bell, bell, kLookAgainMs);
    header.host_waits.fetch_sub(1, std::memory_order_relaxed);
  }
}

void LaneWriter::publish() {
  SourceLaneHeader& header = *parts_.header;
  header.written.store(written_, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (header.readout_asleep.load(std::memory_order_relaxed) == 0) return;
  header.readout_asleep.store(0, std::memory_order_relaxed);
  wake_();
}

}  // namespace weir::source_host
