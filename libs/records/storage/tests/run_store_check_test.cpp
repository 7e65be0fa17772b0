#include "store_fixture.hpp"
#include "weir_catch.hpp"

#include <set>
#include <string>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

constexpr const char* kChecked = "out/run-000007-writer-0-0000.weir";
constexpr const char* kSecondFile = "out/run-000007-writer-0-0001.weir";

RunStoreConfig four_a_file() {
  RunStoreConfig config = small_config();
  config.file_records_max = 4;
  return config;
}

void put(Fixture& fixture, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i <= to; ++i)
    REQUIRE(fixture.put({.slice = i, .fragment_bytes = 1100}) == StoreResult::accepted);
}

// Returns the sum that a reader finds in the folder.
SliceSum on_disk(const Fixture& fixture) {
  std::vector<RunFileReader> files;
  for (const auto& [path, contents] : fixture.disk.files()) {
    auto file = RunFileReader::from_bytes(contents.bytes, path);
    if (!file) continue;
    for (std::size_t i = 0; i < file->entries().size(); ++i) {
      if (!file->slice(file->entries()[i], Check::fragments)) file->mark_dead(i);
    }
    files.push_back(std::move(*file));
  }
  resolve_copies(files);
  SliceSum live;
  for (const RunFileReader& file : files) live += file.live();
  return live;
}

std::vector<std::uint64_t> lost(const Fixture& fixture) {
  std::vector<std::uint64_t> slices;
  for (const LostCopies& copies : fixture.seen.lost) {
    CHECK(copies.count == copies.slices.size());
    for (const SliceId slice : copies.slices) slices.push_back(slice.value);
  }
  return slices;
}

void finish(Fixture& fixture) {
  fixture.close();
  for (int i = 0; i < 20 && fixture.seen.finished == 0; ++i) fixture.pass(kSecond);
  REQUIRE(fixture.seen.finished == 1);
}

}  // namespace

TEST_CASE("in an undisturbed run each file is read back when it is closed, and checked at the end") {
  Fixture fixture(four_a_file());
  fixture.start();
  put(fixture, 1, 10);
  finish(fixture);
  CHECK(fixture.seen.lost.empty());
  CHECK(fixture.seen.closed.size() == 3);
  CHECK(fixture.store.counters().files_compared == 3);
  CHECK(fixture.store.counters().files_restored == 0);
  CHECK(fixture.store.stored() == on_disk(fixture));
}

TEST_CASE(
    "an open file that is cut is noticed at the next sync: data on disk are lost by name, the rest is "
    "not") {
  Fixture fixture;
  fixture.start();
  put(fixture, 1, 5);
  fixture.pass(100 * kMillisecond);
  REQUIRE(fixture.seen.stored.size() == 5);
  const std::string part = std::string(kChecked) + ".part";
  const std::uint64_t third = fixture.read("run-000007-writer-0-0000.weir.part").entries()[2].offset;
  const bool appended = GENERATE(false, true);  // between the cut and the sync
  const bool nothing_left = GENERATE(false, true);
  put(fixture, 6, 7);
  if (appended) {
    fixture.store.flush(fixture.now);
    fixture.disk.run(fixture.store);
  }
  fixture.disk.change(part, [&](auto& bytes) { bytes.resize(nothing_left ? 0 : third + 40); });
  fixture.pass(100 * kMillisecond);
  CHECK(fixture.seen.blocked == std::vector{ports::DiskError::changed});
  fixture.pass();
  CHECK(fixture.seen.resumed == 1);
  CHECK(fixture.seen.stored.size() == 7);

  put(fixture, 8, 9);  // in a new file
  fixture.pass(100 * kMillisecond);
  const auto gone =
      nothing_left ? std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7} : std::vector<std::uint64_t>{3, 4, 5};
  if (!nothing_left) CHECK(lost(fixture) == gone);
  CHECK(fixture.store.stored().count == 9 - fixture.store.counters().slices_lost);
  // If one of them is sent again, it is stored again.
  REQUIRE(fixture.put({.slice = 3, .fragment_bytes = 1100}) == StoreResult::accepted);
  finish(fixture);
  CHECK(fixture.store.counters().files_restored == 1);
  CHECK(fixture.disk.files().contains(part));  // never under the name of a complete file
  CHECK_FALSE(fixture.disk.files().contains(kChecked));
  CHECK(fixture.store.stored() == on_disk(fixture));
}

TEST_CASE("an open file that is removed or replaced gets its name again, and nothing is lost") {
  Fixture fixture;
  fixture.start();
  put(fixture, 1, 5);
  fixture.pass(100 * kMillisecond);
  const std::string part = std::string(kChecked) + ".part";
  const bool replaced = GENERATE(false, true);
  const auto disturb = [&] {
    replaced ? fixture.disk.replace(part, text("mine")) : fixture.disk.remove(part);
  };
  SECTION("while it is written") {
    disturb();
    put(fixture, 6, 7);
    fixture.pass(100 * kMillisecond);
    CHECK(fixture.seen.blocked == std::vector{ports::DiskError::changed});
    fixture.pass();
    CHECK(fixture.seen.resumed == 1);
    put(fixture, 8, 8);
  }
  SECTION("and nothing comes until it is closed") { disturb(); }
  SECTION("twice") {
    disturb();
    put(fixture, 6, 6);
    fixture.pass(100 * kMillisecond);
    fixture.pass();
    fixture.disk.remove(part);
    put(fixture, 7, 7);
    fixture.pass(100 * kMillisecond);
  }
  const std::uint64_t accepted = fixture.store.counters().records;
  finish(fixture);
  CHECK(fixture.seen.lost.empty());
  CHECK(fixture.store.counters().files_restored >= 1);
  CHECK(fixture.store.stored().count == accepted);
  CHECK(fixture.store.stored() == on_disk(fixture));
  CHECK(fixture.seen.closed.front().sound);
  if (replaced) CHECK(fixture.disk.files().at(part + ".foreign").bytes == text("mine"));
}

TEST_CASE("a removed file is written again once the disk has room") {
  Fixture fixture;
  fixture.start();
  put(fixture, 1, 5);
  fixture.pass(100 * kMillisecond);
  fixture.disk.remove(std::string(kChecked) + ".part");
  put(fixture, 6, 7);
  fixture.disk.fail_at = fixture.disk.operations() + 2;  // an append, a sync that notices, the restoring
  fixture.disk.fail_with = ports::DiskError::no_space;
  fixture.pass(100 * kMillisecond);
  for (int i = 0; i < 5; ++i) fixture.pass(kSecond);
  CHECK(fixture.seen.resumed == 1);
  finish(fixture);
  CHECK(fixture.seen.lost.empty());
  CHECK(fixture.store.stored().count == 7);
  CHECK(fixture.store.stored() == on_disk(fixture));
}

TEST_CASE(
    "a closed file that is cut, removed or replaced in the run is lost by count, and the rest still counts") {
  Fixture fixture(four_a_file());
  fixture.start();
  put(fixture, 1, 6);
  fixture.pass(100 * kMillisecond);
  REQUIRE(fixture.seen.closed.size() == 1);
  // Two copies in the first file die, one before and one after it is disturbed.
  REQUIRE(fixture.put({.slice = 1, .attempt = 1, .epoch = 2}) == StoreResult::accepted);
  fixture.pass(100 * kMillisecond);
  const std::uint64_t third = fixture.read("run-000007-writer-0-0000.weir").entries()[2].offset;
  std::uint64_t left = 0;
  SECTION("cut") {
    fixture.disk.change(kChecked, [&](auto& bytes) { bytes.resize(third + 40); });
    left = 1;
  }
  SECTION("removed") { fixture.disk.remove(kChecked); }
  SECTION("replaced by something else") { fixture.disk.replace(kChecked, text("mine")); }
  SECTION("written over") {
    fixture.disk.change(kChecked, [&](auto& bytes) { bytes[third + 300] ^= std::byte{1}; });
    left = 2;
  }
  SECTION("replaced by its like") {
    fixture.disk.replace(kChecked, Buffer(fixture.disk.files().at(kChecked).bytes));
    left = 3;
  }
  finish(fixture);
  CHECK(fixture.store.counters().slices_lost == 3 - left);
  CHECK(fixture.seen.lost.size() == (left < 3 ? 1 : 0));
  CHECK(fixture.store.stored().count == 3 + left);
  CHECK(fixture.store.stored() == on_disk(fixture));
}

TEST_CASE("a file that is disturbed between its closing and its reading back is lost by name") {
  Fixture fixture(four_a_file());
  fixture.start();
  put(fixture, 1, 5);
  // Until the first file is published.
  fixture.store.flush(fixture.now);
  while (!fixture.disk.files().contains(kChecked)) REQUIRE(fixture.disk.step(fixture.store));
  const auto& bytes = fixture.disk.files().at(kChecked).bytes;
  const std::uint64_t fourth = fixture.read("run-000007-writer-0-0000.weir").entries()[3].offset;
  std::vector<std::uint64_t> gone;
  SECTION("cut") {
    fixture.disk.change(kChecked, [&](auto& there) { there.resize(fourth); });
    gone = {4};
  }
  SECTION("a hole where there was a record") {
    fixture.disk.change(kChecked, [&](auto& there) {
      std::fill_n(there.begin() + static_cast<std::ptrdiff_t>(fourth), 500, std::byte{0});
    });
    gone = {4};
  }
  SECTION("cut in its index") {
    fixture.disk.change(kChecked, [&](auto& there) { there.resize(bytes.size() - 150); });
  }
  SECTION("removed") {
    fixture.disk.remove(kChecked);
    gone = {1, 2, 3, 4};
  }
  fixture.disk.run(fixture.store);
  CHECK(lost(fixture) == gone);
  REQUIRE(fixture.seen.closed.size() == 1);
  CHECK_FALSE(fixture.seen.closed.front().sound);
  finish(fixture);
  CHECK(lost(fixture) == gone);
  CHECK(fixture.store.stored().count == 5 - gone.size());
  CHECK(fixture.store.stored() == on_disk(fixture));
}

TEST_CASE("closed files may be moved away only if writer.on_close is set") {
  const bool may = GENERATE(false, true);
  RunStoreConfig config = four_a_file();
  config.files_leave = may;
  Fixture fixture(config);
  fixture.start();
  put(fixture, 1, 6);
  fixture.pass(100 * kMillisecond);
  REQUIRE(fixture.seen.closed.size() == 1);
  fixture.disk.remove(kChecked);
  finish(fixture);
  CHECK(fixture.store.counters().files_left == (may ? 1 : 0));
  CHECK(fixture.store.counters().slices_lost == (may ? 0 : 4));
  CHECK(fixture.store.stored().count == (may ? 6 : 2));
  CHECK(fixture.disk.files().contains(kSecondFile));
}

TEST_CASE("a store that has finished can check its files again, and finds those that vanished since") {
  const bool may = GENERATE(false, true);
  RunStoreConfig config = four_a_file();
  config.files_leave = may;
  Fixture fixture(config);
  fixture.start();
  put(fixture, 1, 6);
  finish(fixture);
  REQUIRE(fixture.store.finished());
  CHECK(fixture.store.stored().count == 6);
  const bool removed = GENERATE(false, true);
  if (removed) fixture.disk.remove(kChecked);
  fixture.store.check_again(fixture.now);
  CHECK_FALSE(fixture.store.finished());
  fixture.disk.run(fixture.store);
  CHECK(fixture.store.finished());
  CHECK(fixture.store.counters().slices_lost == (removed && !may ? 4 : 0));
  CHECK(fixture.store.stored().count == (removed && !may ? 2 : 6));
}

TEST_CASE("files of an earlier life are looked at in the end as well") {
  RunStoreConfig config = small_config();
  config.first_sequence = 1;
  Fixture fixture(config);
  fixture.disk.replace("out/run-000007-writer-0-0000.weir.part", Buffer(1000));
  SliceSum live;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    fixture.store.remember(SliceId(i), Attempt(0), StoreEpoch(1), 0);
    live.add(SliceId(i));
  }
  fixture.store.remember({"out/run-000007-writer-0-0000.weir.part", 0, 1000, live});
  const bool gone = GENERATE(false, true);
  fixture.start();
  put(fixture, 4, 5);
  if (gone) fixture.disk.remove("out/run-000007-writer-0-0000.weir.part");
  fixture.close();
  CHECK(fixture.seen.finished == 1);
  CHECK(fixture.store.stored().count == (gone ? 2 : 5));
  CHECK(lost(fixture) == (gone ? std::vector<std::uint64_t>{1, 2, 3} : std::vector<std::uint64_t>{}));
}

TEST_CASE("reading back is retried after a disk error, and unreadable data do not count") {
  Fixture fixture(four_a_file());
  fixture.start();
  put(fixture, 1, 5);
  fixture.store.flush(fixture.now);
  while (!fixture.disk.files().contains(kChecked)) REQUIRE(fixture.disk.step(fixture.store));
  fixture.disk.fail_at = fixture.disk.operations();
  fixture.disk.fail_with = ports::DiskError::io;
  bool always = false;
  SECTION("once") { fixture.disk.step(fixture.store); }
  SECTION("always") {
    always = true;
    for (int i = 0; i < 6; ++i) {
      fixture.disk.fail_at = fixture.disk.operations();
      while (fixture.disk.operations() == *fixture.disk.fail_at && fixture.disk.step(fixture.store)) {
      }
      fixture.now += kSecond;
      fixture.store.tick(fixture.now);
    }
  }
  fixture.disk.fail_at.reset();
  finish(fixture);
  if (!always) CHECK(fixture.seen.lost.empty());
  CHECK(fixture.store.stored().count + fixture.store.counters().slices_lost == 5);
}
