#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/verify.hpp>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

constexpr const char* kFirst = "run-000007-writer-0-0000.weir";
constexpr const char* kNext = "run-000007-writer-0-0001.weir";

std::vector<std::uint64_t> ids(const std::vector<StoredSlice>& slices) {
  std::vector<std::uint64_t> out;
  for (const StoredSlice& slice : slices) out.push_back(slice.slice.value);
  return out;
}

}  // namespace

TEST_CASE("a run is stored, acknowledged and readable, and every file is sound") {
  Fixture fixture;
  CHECK(fixture.put({}) == StoreResult::not_open);
  fixture.start();
  REQUIRE(fixture.seen.ready == 1);
  // Small records are copied, large ones referred to: both appear in the file unchanged.
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const std::uint32_t size = i % 7 == 0 ? 5000 : 13;
    REQUIRE(fixture.put({.slice = i, .fragment_bytes = size}, static_cast<std::uint32_t>(i)) ==
            StoreResult::accepted);
  }
  CHECK(fixture.store.bytes_queued() > 0);
  fixture.close();
  REQUIRE(fixture.seen.finished == 1);
  REQUIRE(fixture.seen.stored.size() == 50);
  CHECK(fixture.seen.stored[7].origin == 8);
  CHECK(fixture.store.bytes_queued() == 0);
  REQUIRE(fixture.seen.closed.size() == 1);

  const RunFileReader file = fixture.read(kFirst);
  CHECK(file.closed());
  CHECK(verify(file).sound());
  CHECK(file.entries().size() == 50);
  CHECK(file.live() == fixture.store.stored());
  CHECK(file.live() == fixture.seen.closed[0].live);
  CHECK(fixture.seen.closed[0].bytes == file.bytes().size());
  CHECK(fixture.seen.closed[0].crc32c == crc32c(file.bytes()));
  CHECK(fixture.store.counters().bytes_stored == file.bytes().size());
  CHECK(std::ranges::equal(*file.begin_of_run(), text("{\"begin\":true}")));
  CHECK(std::ranges::equal(*file.end_of_run(), text("{\"end\":true}")));
  for (std::uint64_t i = 1; i <= 50; ++i) {
    const IndexEntry* entry = file.find(SliceId(i));
    REQUIRE(entry != nullptr);
    const auto view = file.slice(*entry, Check::fragments);
    REQUIRE(view);
    const std::uint32_t size = i % 7 == 0 ? 5000 : 13;
    CHECK(std::ranges::equal(view->bytes(), make_record({.slice = i, .fragment_bytes = size})));
  }
}

TEST_CASE("small records share appends") {
  Fixture fixture;
  fixture.start();
  const std::uint64_t before = fixture.disk.appends();
  for (std::uint64_t i = 1; i <= 40; ++i) (void)fixture.put({.slice = i});
  CHECK(fixture.disk.pending() == 0);
  fixture.store.flush(fixture.now);
  fixture.disk.run(fixture.store);
  CHECK(fixture.disk.appends() == before + 1);
}

TEST_CASE("while the disk is at an append, passes of the loop do not add more") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  fixture.store.flush(fixture.now);
  for (std::uint64_t i = 2; i <= 5; ++i) {
    (void)fixture.put({.slice = i});
    fixture.store.flush(fixture.now);
  }
  CHECK(fixture.disk.pending() == 1);
  fixture.disk.run(fixture.store);
  fixture.store.flush(fixture.now);
  CHECK(fixture.disk.pending() == 1);
}

TEST_CASE("nothing is acknowledged before the sync interval has passed, everything after it") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  fixture.pass(60 * kMillisecond);
  (void)fixture.put({.slice = 2});
  fixture.pass(39 * kMillisecond);
  CHECK(fixture.seen.stored.empty());
  fixture.pass(1 * kMillisecond);
  CHECK(ids(fixture.seen.stored) == std::vector<std::uint64_t>{1, 2});
  CHECK(fixture.seen.batches == 1);
  CHECK(fixture.disk.syncs() == 2);  // one for the beginning of the run
}

TEST_CASE("enough bytes are synced immediately") {
  RunStoreConfig config = small_config();
  config.sync_bytes = 3000;
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    (void)fixture.put({.slice = i, .fragment_bytes = 1000});
    fixture.disk.run(fixture.store);
  }
  CHECK(fixture.seen.stored.size() >= 18);
  CHECK(fixture.seen.batches >= 9);
}

TEST_CASE("enough records are synced immediately, and fewer at the interval as before") {
  RunStoreConfig config = small_config();
  config.sync_records = 4;
  Fixture fixture(config);
  fixture.start();
  const std::uint64_t before = fixture.disk.syncs();
  for (std::uint64_t i = 1; i <= 11; ++i) {
    (void)fixture.put({.slice = i});
    fixture.disk.run(fixture.store);
    CHECK(fixture.seen.stored.size() == i / 4 * 4);
  }
  CHECK(fixture.disk.syncs() == before + 2);
  fixture.pass(99 * kMillisecond);
  CHECK(fixture.seen.stored.size() == 8);
  fixture.pass(1 * kMillisecond);
  CHECK(fixture.seen.stored.size() == 11);
  CHECK(fixture.disk.syncs() == before + 3);
}

TEST_CASE("records that arrive during a sync wait for the next one, which begins when that has ended") {
  RunStoreConfig config = small_config();
  config.sync_records = 4;
  Fixture fixture(config);
  fixture.start();
  const std::uint64_t before = fixture.disk.syncs();
  for (std::uint64_t i = 1; i <= 40; ++i) (void)fixture.put({.slice = i});
  fixture.disk.run(fixture.store);
  CHECK(fixture.seen.stored.size() == 40);
  CHECK(fixture.seen.batches == 2);
  CHECK(fixture.disk.syncs() == before + 2);
}

TEST_CASE("an acknowledged record survives a crash") {
  Fixture fixture;
  fixture.start();
  for (std::uint64_t i = 1; i <= 30; ++i) {
    (void)fixture.put({.slice = i, .fragment_bytes = 700});
    if (i % 10 == 5) fixture.pass(100 * kMillisecond);
  }
  REQUIRE(fixture.seen.stored.size() == 25);
  const auto& part = fixture.disk.files().at(std::string("out/") + kFirst + ".part");
  const auto file = RunFileReader::from_bytes(ConstBytes(part.bytes).first(part.synced), "part");
  REQUIRE(file);
  CHECK_FALSE(file->closed());
  for (const StoredSlice& slice : fixture.seen.stored) {
    const IndexEntry* entry = file->find(slice.slice);
    REQUIRE(entry != nullptr);
    CHECK(file->slice(*entry, Check::fragments));
  }
}

TEST_CASE("a file that is full by bytes or by records makes room for the next one") {
  RunStoreConfig config = small_config();
  SECTION("bytes") { config.file_bytes_max = 2000; }
  SECTION("records") { config.file_records_max = 5; }
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t i = 1; i <= 12; ++i) (void)fixture.put({.slice = i});
  fixture.close();
  REQUIRE(fixture.seen.closed.size() >= 3);
  SliceSum sum;
  for (const ClosedFile& closed : fixture.seen.closed) {
    CHECK(closed.bytes < 4000);
    sum += closed.live;
    CHECK(verify(fixture.read(closed.path.substr(4))).sound());
  }
  CHECK(sum == fixture.store.stored());
  CHECK(fixture.seen.stored.size() == 12);
  CHECK(fixture.seen.finished == 1);
}

TEST_CASE("a file that may not grow longer is closed while its index still fits") {
  RunStoreConfig config = small_config();
  config.file_bytes_limit = 9000;
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t i = 1; i <= 60; ++i) (void)fixture.put({.slice = i});
  for (std::uint64_t i = 2; i <= 40; ++i) (void)fixture.put({.slice = i, .attempt = 1, .epoch = 2});
  fixture.close();
  REQUIRE(fixture.seen.closed.size() >= 3);
  for (const ClosedFile& closed : fixture.seen.closed) {
    CHECK(closed.bytes <= config.file_bytes_limit);
    CHECK(verify(fixture.read(closed.path.substr(4))).sound());
  }
  CHECK(fixture.store.stored().count == 60);
}

TEST_CASE("a file is closed when it is old, but not while it is empty") {
  RunStoreConfig config = small_config();
  config.file_duration_max = 10 * kSecond;
  Fixture fixture(config);
  fixture.start();
  fixture.pass(30 * kSecond);
  CHECK(fixture.seen.closed.empty());
  (void)fixture.put({.slice = 1});
  fixture.pass();
  CHECK(fixture.seen.closed.size() == 1);
  CHECK(fixture.seen.stored.size() == 1);
  (void)fixture.put({.slice = 2});
  fixture.pass(10 * kSecond);
  CHECK(fixture.seen.closed.size() == 2);
  CHECK(fixture.read(kNext).header().created == 1'700'000'030 * kSecond);
}

TEST_CASE("a record larger than a file's limit has its own file") {
  RunStoreConfig config = small_config();
  config.file_bytes_max = 1000;
  Fixture fixture(config);
  fixture.start();
  CHECK(fixture.put({.slice = 1, .fragment_bytes = 5000}) == StoreResult::accepted);
  CHECK(fixture.put({.slice = 2, .fragment_bytes = 5000}) == StoreResult::accepted);
  fixture.close();
  CHECK(fixture.seen.closed.size() == 2);
}

TEST_CASE("a slice that comes twice is stored once and acknowledged twice") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1}, 10);
  SECTION("before the first copy is on disk: when it is") {
    CHECK(fixture.put({.slice = 1}, 20) == StoreResult::duplicate);
    fixture.pass();
    CHECK(fixture.seen.stored.empty());
    fixture.pass(100 * kMillisecond);
  }
  SECTION("after that: at once") {
    fixture.pass(100 * kMillisecond);
    CHECK(fixture.put({.slice = 1}, 20) == StoreResult::duplicate);
    fixture.store.flush(fixture.now);
  }
  REQUIRE(fixture.seen.stored.size() == 2);
  CHECK(fixture.seen.stored[1].origin == 20);
  CHECK(fixture.store.bytes_queued() == 0);
  CHECK(fixture.store.stored().count == 1);
  fixture.close();
  CHECK(fixture.read(kFirst).entries().size() == 1);
  CHECK(fixture.store.counters().results[static_cast<std::size_t>(StoreResult::duplicate)] == 1);
}

TEST_CASE("a duplicate of a slice in a closed file is acknowledged immediately") {
  RunStoreConfig config = small_config();
  config.file_records_max = 1;
  Fixture fixture(config);
  fixture.start();
  (void)fixture.put({.slice = 1});
  (void)fixture.put({.slice = 2});
  fixture.disk.run(fixture.store);
  REQUIRE(fixture.seen.closed.size() == 1);
  CHECK(fixture.put({.slice = 1}, 5) == StoreResult::duplicate);
  fixture.store.flush(fixture.now);
  CHECK(fixture.seen.stored.back().origin == 5);
}

TEST_CASE("a higher store epoch is stored and the older copy is dead, a lower one is refused") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1, .epoch = 2});
  (void)fixture.put({.slice = 2, .epoch = 1});
  const bool on_disk_before = GENERATE(false, true);
  if (on_disk_before) fixture.pass(100 * kMillisecond);
  CHECK(fixture.put({.slice = 1, .attempt = 1, .epoch = 3}) == StoreResult::accepted);
  CHECK(fixture.put({.slice = 1, .epoch = 2}) == StoreResult::stale_epoch);
  CHECK(fixture.put({.slice = 1, .attempt = 2, .epoch = 3}) == StoreResult::epoch_conflict);
  fixture.close();
  CHECK(fixture.store.stored().count == 2);
  REQUIRE(fixture.store.dead_copies().size() == 1);
  CHECK(fixture.store.dead_copies()[0] == DeadCopy{SliceId(1), Attempt(0), StoreEpoch(2), 0});
  const RunFileReader file = fixture.read(kFirst);
  CHECK(verify(file).sound());
  CHECK(file.live() == fixture.store.stored());
  CHECK(file.entries().size() == 3);
  CHECK(file.entries()[0].dead);
  CHECK(file.find(SliceId(1))->epoch == StoreEpoch(3));
  CHECK(fixture.store.counters().dead_copies == 1);
}

TEST_CASE("a copy that dies after its file was closed is in the last file's dead list") {
  RunStoreConfig config = small_config();
  config.file_records_max = 1;
  Fixture fixture(config);
  fixture.start();
  (void)fixture.put({.slice = 1});
  (void)fixture.put({.slice = 2});
  fixture.disk.run(fixture.store);
  CHECK(fixture.store.mark_dead(SliceId(1), Attempt(0), StoreEpoch(1)));
  CHECK(fixture.put({.slice = 1}) == StoreResult::stale_epoch);
  fixture.close();
  CHECK(fixture.store.stored().count == 1);
  std::vector<RunFileReader> files;
  files.push_back(fixture.read(kFirst));
  files.push_back(fixture.read(kNext));
  CHECK(files[0].live().count == 1);
  resolve_copies(files);
  CHECK(files[0].live().count == 0);
  CHECK(files[1].live() == fixture.store.stored());
  CHECK(verify(files[0]).sound());
}

TEST_CASE("a settled slice is forgotten, and the memory of slices is bounded") {
  RunStoreConfig config = small_config();
  config.unsettled_max = 3;
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t i = 1; i <= 3; ++i) CHECK(fixture.put({.slice = i}) == StoreResult::accepted);
  CHECK(fixture.put({.slice = 4}) == StoreResult::unsettled_full);
  CHECK(fixture.put({.slice = 3, .epoch = 2}) == StoreResult::accepted);
  const SliceId settled[] = {SliceId(1), SliceId(2)};
  fixture.store.settle(settled);
  CHECK(fixture.store.unsettled() == 1);
  CHECK(fixture.put({.slice = 2}) == StoreResult::duplicate);  // sent again after a lost connection
  CHECK(fixture.put({.slice = 4}) == StoreResult::accepted);
  fixture.close();
  CHECK(fixture.seen.stored.size() == 6);  // one of them twice
  CHECK(fixture.store.stored().count == 4);
}

TEST_CASE("the number of remembered settled slices is limited") {
  RunStoreConfig config = small_config();
  config.settled_max = 2;
  Fixture fixture(config);
  fixture.start();
  std::vector<SliceId> settled;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    CHECK(fixture.put({.slice = i}) == StoreResult::accepted);
    settled.emplace_back(i);
  }
  fixture.store.settle(settled);
  CHECK(fixture.store.unsettled() == 0);
  CHECK(fixture.put({.slice = 3}) == StoreResult::duplicate);
  CHECK(fixture.put({.slice = 2}) == StoreResult::duplicate);
  CHECK(fixture.put({.slice = 1}) == StoreResult::accepted);  // forgotten
  fixture.close();
}

TEST_CASE("a dead copy of a finished slice is forgotten, unless another copy still depends on it") {
  RunStoreConfig config = small_config();
  config.unsettled_max = 2;
  Fixture fixture(config);
  fixture.start();
  for (std::uint64_t slice = 1; slice <= 10; ++slice) {
    CAPTURE(slice);
    REQUIRE(fixture.put({.slice = slice, .epoch = 1}) == StoreResult::accepted);
    CHECK(fixture.store.mark_dead(SliceId(slice), Attempt(0), StoreEpoch(1)));
    CHECK(fixture.store.unsettled() == 1);
    fixture.store.forget_dead(SliceId(slice));
    CHECK(fixture.store.unsettled() == 0);
  }
  REQUIRE(fixture.put({.slice = 20, .epoch = 3}) == StoreResult::accepted);
  CHECK(fixture.store.mark_dead(SliceId(20), Attempt(0), StoreEpoch(2)));
  fixture.store.forget_dead(SliceId(20));
  CHECK(fixture.store.has_unsettled_copies());
  fixture.close();
  CHECK(fixture.store.stored().count == 1);
  CHECK(fixture.store.counters().dead_copies == 10);
}

TEST_CASE("a restarted writer recognises the slices that its predecessor stored") {
  Fixture fixture;
  fixture.store.remember(SliceId(5), Attempt(1), StoreEpoch(2), 0);
  fixture.store.remember(SliceId(6), Attempt(0), StoreEpoch(0), 0);
  fixture.start();
  CHECK(fixture.store.stored().count == 2);
  CHECK(fixture.store.unsettled_on_disk().size() == 2);
  CHECK(fixture.put({.slice = 5, .attempt = 1, .epoch = 2}) == StoreResult::duplicate);
  fixture.store.flush(fixture.now);
  CHECK(fixture.seen.stored.size() == 1);
  CHECK(fixture.put({.slice = 5, .attempt = 1, .epoch = 3}) == StoreResult::accepted);
  CHECK(fixture.store.dead_copies().size() == 1);
  CHECK(fixture.store.unsettled_on_disk().size() == 1);  // the new copy is not on disk yet
  CHECK(fixture.store.has_unsettled_copies());
  CHECK(fixture.store.mark_dead(SliceId(6), Attempt(0), StoreEpoch(0)));
  CHECK(fixture.store.has_unsettled_copies());
  fixture.store.settle(std::vector{SliceId(5)});
  CHECK(!fixture.store.has_unsettled_copies());
  fixture.close();
  CHECK(fixture.store.stored().count == 1);
  CHECK(fixture.store.stored().hash_sum == mix64(5));
}

TEST_CASE("records that are damaged, of another run or too long for the queue are refused and counted") {
  Fixture fixture;
  fixture.start();
  Buffer record = make_record({.slice = 1});
  CHECK(fixture.store.store(ConstBytes(record).first(50), {}, 0, fixture.now) == StoreResult::malformed);
  record.back() ^= std::byte{1};
  CHECK(fixture.store.store(record, {}, 0, fixture.now) == StoreResult::bad_checksum);
  CHECK(fixture.put({.slice = 1, .run = 8}) == StoreResult::wrong_run);
  CHECK(fixture.put({.slice = 1, .fragment_bytes = 600'000}) ==
        StoreResult::accepted);  // larger than the queue, so it is taken alone
  CHECK(fixture.put({.slice = 2}) == StoreResult::queue_full);
  fixture.pass(100 * kMillisecond);
  CHECK(fixture.put({.slice = 2}) == StoreResult::accepted);
  fixture.close();
  CHECK(fixture.put({.slice = 3}) == StoreResult::not_open);
  const StoreCounters counters = fixture.store.counters();
  for (const StoreResult refused : {StoreResult::malformed, StoreResult::bad_checksum, StoreResult::wrong_run,
                                    StoreResult::queue_full, StoreResult::not_open}) {
    CHECK(counters.results[static_cast<std::size_t>(refused)] == 1);
  }
  CHECK(counters.records == 2);
}
