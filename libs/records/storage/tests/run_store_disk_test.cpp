#include "store_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/storage/disk_watch.hpp>
#include <weir/storage/grant_book.hpp>
#include <weir/storage/verify.hpp>

#include <functional>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

constexpr const char* kOnDisk = "run-000007-writer-0-0000.weir";

// Every slice of 1..count is in exactly one place of the published files, and sound.
void check_whole_run(const Fixture& fixture, std::uint64_t count) {
  SliceSum found;
  SliceSum expected;
  for (const ClosedFile& closed : fixture.seen.closed) {
    const RunFileReader file = fixture.read(closed.path.substr(4));
    const VerifyReport report = verify(file);
    for (const FileProblem& problem : report.problems) FAIL_CHECK(problem.text);
    CHECK(crc32c(file.bytes()) == closed.crc32c);
    found += file.live();
  }
  for (std::uint64_t i = 1; i <= count; ++i) expected.add(SliceId(i));
  CHECK(found == expected);
  CHECK(fixture.store.stored() == expected);
}

}  // namespace

TEST_CASE("an output folder that refuses the first file fails the run at once") {
  Fixture fixture;
  fixture.disk.fail_at = GENERATE(0, 1, 2);  // create, append, sync
  fixture.disk.fail_with = ports::DiskError::not_writable;
  fixture.start();
  CHECK(fixture.seen.failed == std::vector{ports::DiskError::not_writable});
  CHECK(fixture.seen.ready == 0);
  CHECK(fixture.put({}) == StoreResult::not_open);
}

TEST_CASE("a store that starts on a full disk reports it, waits for room, and is ready then") {
  Fixture fixture;
  fixture.disk.capacity = GENERATE(0, 20, 100);  // no header, part of it; part of the first record
  fixture.start();
  CHECK(fixture.seen.failed.empty());
  CHECK(fixture.seen.ready == 0);
  CHECK(fixture.seen.blocked == std::vector{ports::DiskError::no_space});
  CHECK(fixture.put({}) == StoreResult::not_open);
  for (int i = 0; i < 3; ++i) fixture.pass(kSecond);
  CHECK(fixture.seen.ready == 0);
  CHECK(fixture.seen.blocked.size() == 1);

  SECTION("until there is some") {
    fixture.disk.capacity = UINT64_MAX;
    fixture.pass(kSecond);
    CHECK(fixture.seen.ready == 1);
    CHECK(fixture.seen.resumed == 1);
    for (std::uint64_t i = 1; i <= 5; ++i) REQUIRE(fixture.put({.slice = i}) == StoreResult::accepted);
    fixture.pass(100 * kMillisecond);
    fixture.close();
    CHECK(fixture.seen.finished == 1);
    check_whole_run(fixture, 5);
  }
  SECTION("or the run ends") {
    fixture.close();
    CHECK(fixture.seen.finished == 0);
    fixture.disk.capacity = UINT64_MAX;
    fixture.pass(kSecond);
    CHECK(fixture.seen.finished == 1);
    check_whole_run(fixture, 0);
  }
}

TEST_CASE("a full disk blocks, acknowledges no more, and continues when there is room") {
  Fixture fixture;
  fixture.start();
  for (std::uint64_t i = 1; i <= 5; ++i) (void)fixture.put({.slice = i, .fragment_bytes = 1000});
  fixture.pass(100 * kMillisecond);
  REQUIRE(fixture.seen.stored.size() == 5);
  const std::uint64_t kept = fixture.disk.bytes_used();
  fixture.disk.capacity = kept + 3000;
  for (std::uint64_t i = 6; i <= 10; ++i) (void)fixture.put({.slice = i, .fragment_bytes = 1000});
  fixture.pass(100 * kMillisecond);
  CHECK(fixture.seen.blocked == std::vector{ports::DiskError::no_space});
  CHECK(fixture.store.blocked());
  CHECK(fixture.seen.stored.size() == 5);
  const std::uint64_t queued = fixture.store.bytes_queued();
  CHECK(queued > 0);

  SECTION("it is tried again at the interval, without a second report") {
    for (int i = 0; i < 3; ++i) fixture.pass(kSecond);
    CHECK(fixture.store.counters().retries == 3);
    CHECK(fixture.seen.blocked.size() == 1);
    CHECK(fixture.seen.stored.size() == 5);
  }
  SECTION("records accepted meanwhile wait too") {
    CHECK(fixture.put({.slice = 11}) == StoreResult::accepted);
  }
  SECTION("earlier acknowledged records stay") {
    const auto& part = fixture.disk.files().at(std::string("out/") + kOnDisk + ".part");
    const auto file = RunFileReader::from_bytes(ConstBytes(part.bytes).first(part.synced), "part");
    for (std::uint64_t i = 1; i <= 5; ++i) CHECK(file->find(SliceId(i)) != nullptr);
  }

  fixture.disk.capacity = UINT64_MAX;
  fixture.pass(kSecond);
  fixture.pass(100 * kMillisecond);
  CHECK(fixture.seen.resumed == 1);
  CHECK_FALSE(fixture.store.blocked());
  CHECK(fixture.store.bytes_queued() == 0);
  const std::uint64_t last = fixture.seen.stored.back().slice.value;
  CHECK(fixture.seen.stored.size() == last);
  fixture.close();
  CHECK(fixture.seen.finished == 1);
  check_whole_run(fixture, last);
}

TEST_CASE("a disk that is full at the end of the run publishes the file when there is room") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  fixture.pass(100 * kMillisecond);
  fixture.disk.capacity = fixture.disk.bytes_used() + 10;
  fixture.close();
  CHECK(fixture.seen.finished == 0);
  CHECK(fixture.store.blocked());
  fixture.pass(kSecond);
  CHECK(fixture.seen.finished == 0);
  fixture.disk.capacity = UINT64_MAX;
  fixture.pass(kSecond);
  CHECK(fixture.seen.finished == 1);
  CHECK(fixture.seen.resumed == 1);
  check_whole_run(fixture, 1);
}

TEST_CASE("copies that a full disk has not taken when every slice is settled are dead in the closed file") {
  Fixture fixture;
  fixture.start();
  (void)fixture.put({.slice = 1});
  fixture.pass(100 * kMillisecond);
  fixture.disk.capacity = fixture.disk.bytes_used() + 10;
  (void)fixture.put({.slice = 2});
  (void)fixture.put({.slice = 2});  // its DCM sent it again
  fixture.pass(100 * kMillisecond);
  REQUIRE(fixture.store.blocked());
  CHECK(fixture.store.has_unsettled_copies());
  REQUIRE(fixture.store.mark_unsynced_dead());
  fixture.store.settle(std::vector{SliceId(1)});
  CHECK_FALSE(fixture.store.has_unsettled_copies());
  fixture.disk.capacity = UINT64_MAX;
  fixture.pass(kSecond);
  fixture.close();
  REQUIRE(fixture.seen.finished == 1);
  CHECK(fixture.store.counters().dead_copies == 1);
  CHECK(fixture.read(kOnDisk).entries().size() == 2);
  check_whole_run(fixture, 1);
}

TEST_CASE("one error at any operation of a run loses nothing and doubles nothing") {
  RunStoreConfig config = small_config();
  config.file_records_max = 4;
  config.sync_bytes = 5000;
  const std::uint64_t operations = [&] {
    Fixture fixture(config);
    fixture.start();
    for (std::uint64_t i = 1; i <= 14; ++i) {
      (void)fixture.put({.slice = i, .fragment_bytes = 1100});
      if (i % 3 == 0) fixture.pass(50 * kMillisecond);
    }
    fixture.close();
    return fixture.disk.operations();
  }();
  REQUIRE(operations > 20);
  constexpr std::uint64_t kStartOperations = 3;
  for (std::uint64_t k = kStartOperations; k < operations; ++k) {
    CAPTURE(k);
    Fixture fixture(config);
    fixture.disk.fail_at = k;
    fixture.start();
    for (std::uint64_t i = 1; i <= 14; ++i) {
      REQUIRE(fixture.put({.slice = i, .fragment_bytes = 1100}) == StoreResult::accepted);
      if (i % 3 == 0) fixture.pass(50 * kMillisecond);
    }
    fixture.close();
    for (int i = 0; i < 5 && fixture.seen.finished == 0; ++i) fixture.pass(kSecond);
    REQUIRE(fixture.seen.finished == 1);
    const int refused = fixture.disk.looks_failed() == 0 ? 1 : 0;  // a check does not delay the run
    CHECK(fixture.seen.blocked.size() == static_cast<std::size_t>(refused));
    CHECK(fixture.seen.resumed == refused);
    CHECK(fixture.seen.lost.empty());
    CHECK(fixture.seen.stored.size() == 14);
    CHECK(fixture.store.bytes_queued() == 0);
    check_whole_run(fixture, 14);
  }
}

TEST_CASE("with a crash after any operation, every acknowledged slice is in the synced data") {
  RunStoreConfig config = small_config();
  config.file_records_max = 5;
  config.sync_bytes = 3000;
  for (std::uint64_t crash_at = 0; crash_at < 60; ++crash_at) {
    CAPTURE(crash_at);
    Fixture fixture(config);
    std::uint64_t steps = 0;
    const auto work = [&] {
      while (steps < crash_at && fixture.disk.step(fixture.store)) ++steps;
    };
    fixture.store.start(fixture.now, 0, {});
    work();
    for (std::uint64_t i = 1; i <= 14; ++i) {
      (void)fixture.put({.slice = i, .fragment_bytes = 1100});
      fixture.store.flush(fixture.now);
      work();
    }
    fixture.store.close(fixture.now, {});
    work();
    SliceSum acknowledged;
    for (const StoredSlice& slice : fixture.seen.stored) acknowledged.add(slice.slice);
    SliceSum found;
    for (const auto& [path, contents] : fixture.disk.files()) {
      const auto file = RunFileReader::from_bytes(ConstBytes(contents.bytes).first(contents.synced), path);
      if (!file) continue;
      for (const StoredSlice& slice : fixture.seen.stored) {
        const IndexEntry* entry = file->find(slice.slice);
        if (entry != nullptr && file->slice(*entry, Check::fragments)) found.add(slice.slice);
      }
    }
    CHECK(found == acknowledged);
  }
}

TEST_CASE("references to a file's records are written only when those are on disk") {
  const auto run = [](Fixture& fixture, const std::function<void()>& after_each_step) {
    fixture.start();
    (void)fixture.put({.slice = 1, .fragment_bytes = 1100});
    fixture.pass(100 * kMillisecond);
    (void)fixture.put({.slice = 1, .attempt = 1, .epoch = 2, .fragment_bytes = 1100});
    (void)fixture.put({.slice = 2, .fragment_bytes = 1100});
    fixture.store.close(fixture.now, {});
    while (fixture.disk.step(fixture.store)) after_each_step();
  };
  Fixture reference;
  run(reference, [] {});
  REQUIRE(reference.seen.finished == 1);
  const std::uint64_t tail = reference.read(kOnDisk).footer()->tail_offset;
  Fixture fixture;
  run(fixture, [&] {
    for (const auto& [path, file] : fixture.disk.files()) {
      if (file.bytes.size() > tail) CHECK(file.synced >= tail);
    }
  });
  CHECK(fixture.seen.finished == 1);
}

TEST_CASE("after one error at any operation all records are acknowledged, even if no more arrive") {
  RunStoreConfig config = small_config();
  config.file_records_max = 2;
  constexpr std::uint64_t kStartOperations = 3;
  std::uint64_t failed = 0;
  for (std::uint64_t k = kStartOperations; k < 30; ++k) {
    CAPTURE(k);
    Fixture fixture(config);
    fixture.disk.fail_at = k;
    fixture.start();
    for (std::uint64_t i = 1; i <= 5; ++i) (void)fixture.put({.slice = i});
    for (int i = 0; i < 8; ++i) fixture.pass(kSecond);
    CHECK(fixture.seen.stored.size() == 5);
    CHECK_FALSE(fixture.store.blocked());
    failed += fixture.seen.blocked.size();
  }
  CHECK(failed > 15);
}

TEST_CASE("while a disk stalls for 30 s the queue stays within its bound, and is written afterwards") {
  constexpr std::uint64_t kBound = 256U << 10;
  constexpr PeerId kPeer(1);
  RunStoreConfig config = small_config();
  config.queue_bytes_max = 2 * kBound;
  Fixture fixture(config);
  fixture.start();
  GrantBook grants(kBound, 4, 10'000);
  REQUIRE(grants.connect(kPeer));
  const std::uint64_t record = make_record({.slice = 1, .fragment_bytes = 3000}).size();
  std::uint64_t wanted = 0;
  std::uint64_t granted = 0;
  std::uint64_t sent = 0;
  std::uint64_t slice = 0;
  std::size_t released = 0;
  std::vector<Grant> out;
  const auto second_of_a_farm = [&](bool stalled) {
    for (int i = 0; i < 100; ++i) {
      fixture.now += 10 * kMillisecond;
      for (; wanted < sent + 100 * record; wanted += record) {
        REQUIRE(grants.ask(kPeer, wanted + record));
      }
      out.clear();
      grants.grant(out);
      if (!out.empty()) granted = out.back().granted_total;
      for (; sent + record <= granted; sent += record) {
        REQUIRE(grants.received(kPeer, record));
        REQUIRE(fixture.put({.slice = ++slice, .fragment_bytes = 3000}) == StoreResult::accepted);
      }
      fixture.store.tick(fixture.now);
      fixture.store.flush(fixture.now);
      if (!stalled) fixture.disk.run(fixture.store);
      for (; released < fixture.seen.stored.size(); ++released) grants.release(kPeer, record);
      REQUIRE(fixture.store.bytes_queued() <= kBound);
      REQUIRE(grants.charged_bytes() <= kBound);
    }
  };
  second_of_a_farm(false);
  const std::uint64_t before = slice;
  CHECK(before > 100);
  for (int i = 0; i < 30; ++i) second_of_a_farm(true);
  CHECK(slice <= before + kBound / record + 1);
  for (int i = 0; i < 3; ++i) second_of_a_farm(false);
  CHECK(slice > before + 100);
  fixture.pass(kSecond);
  fixture.close();
  CHECK(fixture.seen.stored.size() == slice);
  check_whole_run(fixture, slice);
}

TEST_CASE("a disk with pending work that does nothing for a second is stalled, until it continues") {
  DiskWatch watch;
  watch.look(false, 100, 10 * kSecond);
  watch.look(false, 100, 20 * kSecond);
  CHECK(watch.stalled() == 0);
  watch.look(true, 100, 20 * kSecond + 900 * kMillisecond);
  CHECK(watch.stalled() == 0);
  watch.look(true, 100, 50 * kSecond);
  CHECK(watch.stalled() == 30 * kSecond);
  watch.look(true, 200, 51 * kSecond);
  CHECK(watch.stalled() == 0);
}
