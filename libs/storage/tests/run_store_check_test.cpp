#include "store_rig.hpp"
#include "weir_catch.hpp"

#include <set>
#include <string>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;

namespace {

constexpr const char* kFirst = "out/run-000007-writer-0-0000.weir";
constexpr const char* kSecondFile = "out/run-000007-writer-0-0001.weir";

RunStoreConfig four_a_file() {
  RunStoreConfig config = small_config();
  config.file_records_max = 4;
  return config;
}

void put(Rig& rig, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i <= to; ++i)
    REQUIRE(rig.put({.slice = i, .fragment_bytes = 1100}) == StoreResult::accepted);
}

// What a reader finds in the folder.
SliceSum on_disk(const Rig& rig) {
  std::vector<RunFileReader> files;
  for (const auto& [path, contents] : rig.disk.files()) {
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

std::vector<std::uint64_t> lost(const Rig& rig) {
  std::vector<std::uint64_t> slices;
  for (const LostCopies& copies : rig.seen.lost) {
    CHECK(copies.count == copies.slices.size());
    for (const SliceId slice : copies.slices) slices.push_back(slice.value);
  }
  return slices;
}

void finish(Rig& rig) {
  rig.close();
  for (int i = 0; i < 20 && rig.seen.finished == 0; ++i) rig.pass(kSecond);
  REQUIRE(rig.seen.finished == 1);
}

}  // namespace

TEST_CASE(
    "of a run that nobody disturbs each file is read back when it is closed, and looked at in the end") {
  Rig rig(four_a_file());
  rig.start();
  put(rig, 1, 10);
  finish(rig);
  CHECK(rig.seen.lost.empty());
  CHECK(rig.seen.closed.size() == 3);
  CHECK(rig.store.counters().files_compared == 3);
  CHECK(rig.store.counters().files_restored == 0);
  CHECK(rig.store.stored() == on_disk(rig));
}

TEST_CASE(
    "an open file that is cut is noticed at the next sync: what was on disk is lost by name, the rest is "
    "not") {
  Rig rig;
  rig.start();
  put(rig, 1, 5);
  rig.pass(100 * kMillisecond);
  REQUIRE(rig.seen.stored.size() == 5);
  const std::string part = std::string(kFirst) + ".part";
  const std::uint64_t third = rig.read("run-000007-writer-0-0000.weir.part").entries()[2].offset;
  const bool appended = GENERATE(false, true);  // between the cut and the sync
  const bool nothing_left = GENERATE(false, true);
  put(rig, 6, 7);
  if (appended) {
    rig.store.flush(rig.now);
    rig.disk.run(rig.store);
  }
  rig.disk.change(part, [&](auto& bytes) { bytes.resize(nothing_left ? 0 : third + 40); });
  rig.pass(100 * kMillisecond);
  CHECK(rig.seen.blocked == std::vector{ports::DiskError::changed});
  rig.pass();
  CHECK(rig.seen.resumed == 1);
  CHECK(rig.seen.stored.size() == 7);

  put(rig, 8, 9);  // in a new file
  rig.pass(100 * kMillisecond);
  const auto gone =
      nothing_left ? std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7} : std::vector<std::uint64_t>{3, 4, 5};
  if (!nothing_left) CHECK(lost(rig) == gone);
  CHECK(rig.store.stored().count == 9 - rig.store.counters().slices_lost);
  // Should one of them come again it is stored again.
  REQUIRE(rig.put({.slice = 3, .fragment_bytes = 1100}) == StoreResult::accepted);
  finish(rig);
  CHECK(rig.store.counters().files_restored == 1);
  CHECK(rig.disk.files().contains(part));  // never under the name of a whole file
  CHECK_FALSE(rig.disk.files().contains(kFirst));
  CHECK(rig.store.stored() == on_disk(rig));
}

TEST_CASE("an open file that is removed or replaced gets its name again, and nothing is lost") {
  Rig rig;
  rig.start();
  put(rig, 1, 5);
  rig.pass(100 * kMillisecond);
  const std::string part = std::string(kFirst) + ".part";
  const bool replaced = GENERATE(false, true);
  const auto disturb = [&] { replaced ? rig.disk.replace(part, text("mine")) : rig.disk.remove(part); };
  SECTION("while it is written") {
    disturb();
    put(rig, 6, 7);
    rig.pass(100 * kMillisecond);
    CHECK(rig.seen.blocked == std::vector{ports::DiskError::changed});
    rig.pass();
    CHECK(rig.seen.resumed == 1);
    put(rig, 8, 8);
  }
  SECTION("and nothing comes until it is closed") { disturb(); }
  SECTION("twice") {
    disturb();
    put(rig, 6, 6);
    rig.pass(100 * kMillisecond);
    rig.pass();
    rig.disk.remove(part);
    put(rig, 7, 7);
    rig.pass(100 * kMillisecond);
  }
  const std::uint64_t accepted = rig.store.counters().records;
  finish(rig);
  CHECK(rig.seen.lost.empty());
  CHECK(rig.store.counters().files_restored >= 1);
  CHECK(rig.store.stored().count == accepted);
  CHECK(rig.store.stored() == on_disk(rig));
  CHECK(rig.seen.closed.front().sound);
  if (replaced) CHECK(rig.disk.files().at(part + ".foreign").bytes == text("mine"));
}

TEST_CASE("a removed file for which there is no room any more waits for it") {
  Rig rig;
  rig.start();
  put(rig, 1, 5);
  rig.pass(100 * kMillisecond);
  rig.disk.remove(std::string(kFirst) + ".part");
  put(rig, 6, 7);
  rig.disk.fail_at = rig.disk.operations() + 2;  // an append, a sync that finds it, the restoring
  rig.disk.fail_with = ports::DiskError::no_space;
  rig.pass(100 * kMillisecond);
  for (int i = 0; i < 5; ++i) rig.pass(kSecond);
  CHECK(rig.seen.resumed == 1);
  finish(rig);
  CHECK(rig.seen.lost.empty());
  CHECK(rig.store.stored().count == 7);
  CHECK(rig.store.stored() == on_disk(rig));
}

TEST_CASE(
    "a closed file that is cut, removed or replaced in the run is lost by count, and what is left counts") {
  Rig rig(four_a_file());
  rig.start();
  put(rig, 1, 6);
  rig.pass(100 * kMillisecond);
  REQUIRE(rig.seen.closed.size() == 1);
  // Two of the first file die, one before and one after it is disturbed.
  REQUIRE(rig.put({.slice = 1, .attempt = 1, .epoch = 2}) == StoreResult::accepted);
  rig.pass(100 * kMillisecond);
  const std::uint64_t third = rig.read("run-000007-writer-0-0000.weir").entries()[2].offset;
  std::uint64_t left = 0;
  SECTION("cut") {
    rig.disk.change(kFirst, [&](auto& bytes) { bytes.resize(third + 40); });
    left = 1;
  }
  SECTION("removed") { rig.disk.remove(kFirst); }
  SECTION("replaced by something else") { rig.disk.replace(kFirst, text("mine")); }
  SECTION("written over") {
    rig.disk.change(kFirst, [&](auto& bytes) { bytes[third + 300] ^= std::byte{1}; });
    left = 2;
  }
  SECTION("replaced by its like") {
    rig.disk.replace(kFirst, Buffer(rig.disk.files().at(kFirst).bytes));
    left = 3;
  }
  finish(rig);
  CHECK(rig.store.counters().slices_lost == 3 - left);
  CHECK(rig.seen.lost.size() == (left < 3 ? 1 : 0));
  CHECK(rig.store.stored().count == 3 + left);
  CHECK(rig.store.stored() == on_disk(rig));
}

TEST_CASE("a file that is disturbed between its closing and its reading back is lost by name") {
  Rig rig(four_a_file());
  rig.start();
  put(rig, 1, 5);
  // Up to the publishing of the first file.
  rig.store.flush(rig.now);
  while (!rig.disk.files().contains(kFirst)) REQUIRE(rig.disk.step(rig.store));
  const auto& bytes = rig.disk.files().at(kFirst).bytes;
  const std::uint64_t fourth = rig.read("run-000007-writer-0-0000.weir").entries()[3].offset;
  std::vector<std::uint64_t> gone;
  SECTION("cut") {
    rig.disk.change(kFirst, [&](auto& there) { there.resize(fourth); });
    gone = {4};
  }
  SECTION("a hole where there was a record") {
    rig.disk.change(kFirst, [&](auto& there) {
      std::fill_n(there.begin() + static_cast<std::ptrdiff_t>(fourth), 500, std::byte{0});
    });
    gone = {4};
  }
  SECTION("cut in its index") {
    rig.disk.change(kFirst, [&](auto& there) { there.resize(bytes.size() - 150); });
  }
  SECTION("removed") {
    rig.disk.remove(kFirst);
    gone = {1, 2, 3, 4};
  }
  rig.disk.run(rig.store);
  CHECK(lost(rig) == gone);
  REQUIRE(rig.seen.closed.size() == 1);
  CHECK_FALSE(rig.seen.closed.front().sound);
  finish(rig);
  CHECK(lost(rig) == gone);
  CHECK(rig.store.stored().count == 5 - gone.size());
  CHECK(rig.store.stored() == on_disk(rig));
}

TEST_CASE("closed files may leave where somebody is told of them, and only then") {
  const bool may = GENERATE(false, true);
  RunStoreConfig config = four_a_file();
  config.files_leave = may;
  Rig rig(config);
  rig.start();
  put(rig, 1, 6);
  rig.pass(100 * kMillisecond);
  REQUIRE(rig.seen.closed.size() == 1);
  rig.disk.remove(kFirst);
  finish(rig);
  CHECK(rig.store.counters().files_left == (may ? 1 : 0));
  CHECK(rig.store.counters().slices_lost == (may ? 0 : 4));
  CHECK(rig.store.stored().count == (may ? 6 : 2));
  CHECK(rig.disk.files().contains(kSecondFile));
}

TEST_CASE("files of an earlier life are looked at in the end as well") {
  RunStoreConfig config = small_config();
  config.first_sequence = 1;
  Rig rig(config);
  rig.disk.replace("out/run-000007-writer-0-0000.weir.part", Buffer(1000));
  SliceSum live;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    rig.store.remember(SliceId(i), Attempt(0), StoreEpoch(1), 0);
    live.add(SliceId(i));
  }
  rig.store.remember({"out/run-000007-writer-0-0000.weir.part", 0, 1000, live});
  const bool gone = GENERATE(false, true);
  rig.start();
  put(rig, 4, 5);
  if (gone) rig.disk.remove("out/run-000007-writer-0-0000.weir.part");
  rig.close();
  CHECK(rig.seen.finished == 1);
  CHECK(rig.store.stored().count == (gone ? 2 : 5));
  CHECK(lost(rig) == (gone ? std::vector<std::uint64_t>{1, 2, 3} : std::vector<std::uint64_t>{}));
}

TEST_CASE(
    "a disk that fails while a file is read back is asked again, and what it never gives does not count") {
  Rig rig(four_a_file());
  rig.start();
  put(rig, 1, 5);
  rig.store.flush(rig.now);
  while (!rig.disk.files().contains(kFirst)) REQUIRE(rig.disk.step(rig.store));
  rig.disk.fail_at = rig.disk.operations();
  rig.disk.fail_with = ports::DiskError::io;
  bool always = false;
  SECTION("once") { rig.disk.step(rig.store); }
  SECTION("always") {
    always = true;
    for (int i = 0; i < 6; ++i) {
      rig.disk.fail_at = rig.disk.operations();
      while (rig.disk.operations() == *rig.disk.fail_at && rig.disk.step(rig.store)) {
      }
      rig.now += kSecond;
      rig.store.tick(rig.now);
    }
  }
  rig.disk.fail_at.reset();
  finish(rig);
  if (!always) CHECK(rig.seen.lost.empty());
  CHECK(rig.store.stored().count + rig.store.counters().slices_lost == 5);
}
