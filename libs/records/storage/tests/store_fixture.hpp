#pragma once

#include "memory_disk.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/base/hash.hpp>
#include <weir/storage/run_file_reader.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/storage/slice_record.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Common parts of the store's tests: records with predictable contents, and a store on a disk in memory.
namespace weir::storage::test {

using Buffer = std::vector<std::byte>;

inline Buffer pattern(std::size_t size, std::uint64_t seed) {
  Buffer bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(mix64(seed + i / 8) >> (8 * (i % 8)));
  return bytes;
}

inline Buffer text(std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {bytes.begin(), bytes.end()};
}

// A slice of `sources` whole fragments of `fragment_bytes` each.
struct RecordPlan {
  std::uint64_t slice = 1;
  std::uint16_t attempt = 0;
  std::uint16_t epoch = 1;
  std::uint32_t run = 7;
  std::uint32_t sources = 2;
  std::uint32_t fragment_bytes = 100;
  std::uint64_t streams = 1;
};

inline FragmentRecord whole_fragment(SourceId source, ConstBytes bytes) {
  FragmentRecord fragment;
  fragment.source = source;
  fragment.kept = true;
  fragment.checksummed = true;
  fragment.stored_length = fragment.total_length = static_cast<std::uint32_t>(bytes.size());
  fragment.source_crc32c = fragment.stored_crc32c = crc32c(bytes);
  return fragment;
}

inline SliceHead head_of(const RecordPlan& plan) {
  SliceHead head;
  head.slice = SliceId(plan.slice);
  head.run = RunNumber(plan.run);
  head.attempt = Attempt(plan.attempt);
  head.epoch = StoreEpoch(plan.epoch);
  head.trigger_time =
      1'700'000'000 * kSecond + static_cast<UtcNs>(plan.slice % 1'000'000) * 10 * kMillisecond;
  head.duration = 10 * kMillisecond;
  head.stream_mask = plan.streams;
  return head;
}

inline Buffer make_record(const RecordPlan& plan) {
  std::vector<FragmentRecord> table;
  std::vector<Buffer> payloads;
  for (std::uint32_t s = 0; s < plan.sources; ++s) {
    payloads.push_back(pattern(plan.fragment_bytes, plan.slice * 1000 + s));
    table.push_back(whole_fragment(SourceId(s + 1), payloads.back()));
  }
  SliceRecord record;
  record.head = head_of(plan);
  record.fragments = table;
  Buffer bytes;
  encode_slice_meta(record, bytes);
  for (const Buffer& payload : payloads) bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

struct Recorder : StoreHandler {
  std::vector<StoredSlice> stored;
  std::vector<ClosedFile> closed;
  std::vector<LostCopies> lost;
  std::vector<ports::DiskError> blocked;
  std::vector<ports::DiskError> failed;
  std::size_t batches = 0;
  int ready = 0;
  int resumed = 0;
  int finished = 0;

  void on_ready() override { ++ready; }
  void on_stored(std::span<const StoredSlice> slices) override {
    ++batches;
    stored.insert(stored.end(), slices.begin(), slices.end());
  }
  void on_file_closed(const ClosedFile& file) override { closed.push_back(file); }
  void on_lost(const LostCopies& copies) override { lost.push_back(copies); }
  void on_blocked(ports::DiskError error, const std::string&) override { blocked.push_back(error); }
  void on_resumed() override { ++resumed; }
  void on_failed(ports::DiskError error, const std::string&) override { failed.push_back(error); }
  void on_finished() override { ++finished; }
};

inline RunStoreConfig small_config() {
  RunStoreConfig config;
  config.directory = "out";
  config.writer = "writer-0";
  config.farm = "test-farm";
  config.run = RunNumber(7);
  config.file_bytes_max = 4ULL << 30;
  config.chunk_bytes = 16U << 10;
  config.reference_bytes_min = 2U << 10;
  config.queue_bytes_max = 1U << 20;
  return config;
}

struct Fixture {
  explicit Fixture(RunStoreConfig config = small_config()) : store(std::move(config), disk, seen) {}

  void start() {
    store.start(now, 1'700'000'000 * kSecond, text("{\"begin\":true}"));
    disk.run(store);
  }
  StoreResult put(const RecordPlan& plan, std::uint32_t origin = 1) {
    auto record = std::make_shared<const Buffer>(make_record(plan));
    return store.store(*record, record, origin, now);
  }
  // One pass of a loop, `after` later: timers, then all pending operations of the disk.
  void pass(DurationNs after = 0) {
    now += after;
    store.tick(now);
    store.flush(now);
    disk.run(store);
  }
  void close() {
    store.close(now, text("{\"end\":true}"));
    disk.run(store);
  }
  RunFileReader read(const std::string& name) const {
    const auto& file = disk.files().at("out/" + name);
    return std::move(RunFileReader::from_bytes(file.bytes, name).value());
  }

  weir::test::MemoryDisk disk;
  Recorder seen;
  RunStore store;
  TimeNs now = 5 * kSecond;
};

}  // namespace weir::storage::test
