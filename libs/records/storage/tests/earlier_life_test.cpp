#include "disk_loop.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/recover.hpp>

#include <filesystem>
#include <fstream>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using weir::test::TemporaryFolder;

namespace {

constexpr std::uint64_t kFirstLife = 10;  // slices 1 to 10; 1 to 6 are in a closed file

RunStoreConfig config_in(const TemporaryFolder& folder) {
  RunStoreConfig config = small_config();
  config.directory = folder.path();
  config.file_records_max = 6;
  config.sync_interval = 0;
  return config;
}

StoreResult put(RunStore& store, const RecordPlan& plan) {
  const auto record = std::make_shared<const Buffer>(make_record(plan));
  const StoreResult result = store.store(*record, record, 0, 0);
  store.flush(0);
  store.tick(0);
  return result;
}

// Ends like a killed process: one file remains open.
void live_and_die(const TemporaryFolder& folder) {
  Loop loop;
  Recorder seen;
  RunStore store(config_in(folder), loop.disk, seen);
  store.start(0, 0, text("begin"));
  loop.wait_for([&] { return seen.ready == 1; }, store);
  for (std::uint64_t i = 1; i <= kFirstLife; ++i) REQUIRE(put(store, {.slice = i}) == StoreResult::accepted);
  loop.wait_for([&] { return seen.stored.size() == kFirstLife && seen.closed.size() == 1; }, store);
}

std::string part_of(const TemporaryFolder& folder) { return folder / "run-000007-writer-0-0001.weir.part"; }

}  // namespace

TEST_CASE("a writer that was killed finds every acknowledged slice, stores none twice, and counts all") {
  const TemporaryFolder folder;
  live_and_die(folder);
  std::ofstream(part_of(folder), std::ios::app | std::ios::binary) << "half a reco";

  auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  CHECK(life->next_sequence == 2);
  CHECK(life->copies.size() == kFirstLife);
  REQUIRE(life->files.size() == 2);
  CHECK(life->files[0].closed);
  CHECK_FALSE(life->files[1].closed);
  CHECK(life->files[1].live.count == 4);
  CHECK(life->files[1].note == "11 bytes of no sound record skipped");

  Loop loop;
  Recorder seen;
  RunStoreConfig config = config_in(folder);
  config.first_sequence = life->next_sequence;
  RunStore store(config, loop.disk, seen);
  for (const EarlierLife::Copy& copy : life->copies) {
    store.remember(copy.slice, copy.attempt, copy.epoch, copy.sequence);
  }
  store.start(0, 0, text("begin"));
  loop.wait_for([&] { return seen.ready == 1; }, store);
  CHECK(put(store, {.slice = 8}) == StoreResult::duplicate);
  CHECK(put(store, {.slice = 3, .epoch = 2}) == StoreResult::accepted);
  CHECK(put(store, {.slice = 11}) == StoreResult::accepted);
  store.close(0, text("end"));
  loop.wait_for([&] { return seen.finished == 1; }, store);
  CHECK(seen.stored.size() == 3);

  // Counts like any reader of the folder.
  const auto all = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(all);
  SliceSum live;
  for (const EarlierLife::File& file : all->files) live += file.live;
  CHECK(live.count == kFirstLife + 1);
  CHECK(store.stored().count == live.count);
  CHECK(all->dead == 1);
  CHECK(store.stored().hash_sum == live.hash_sum);
}

TEST_CASE("a damaged record of an unclosed file is not counted, those around it are") {
  const TemporaryFolder folder;
  live_and_die(folder);
  std::fstream part(part_of(folder), std::ios::in | std::ios::out | std::ios::binary);
  part.seekg(0, std::ios::end);
  const auto size = static_cast<std::int64_t>(part.tellg());
  part.seekp(size - 300);  // in the payload of the last record or of the one before
  part.put('\x7f').put('\x7e').put('\x7f');
  part.close();
  const auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  CHECK(life->copies.size() == kFirstLife - 1);
  CHECK(life->files[1].note.find("skipped") != std::string::npos);
}

TEST_CASE("a copy that the crash tore does not hide the older one that was acknowledged") {
  const TemporaryFolder folder;
  {
    Loop loop;
    Recorder seen;
    RunStore store(config_in(folder), loop.disk, seen);
    store.start(0, 0, text("begin"));
    loop.wait_for([&] { return seen.ready == 1; }, store);
    REQUIRE(put(store, {.slice = 1}) == StoreResult::accepted);
    REQUIRE(put(store, {.slice = 1, .attempt = 1, .epoch = 2}) == StoreResult::accepted);
    loop.wait_for([&] { return seen.stored.size() == 2; }, store);
  }
  const std::string path = folder / "run-000007-writer-0-0000.weir.part";
  const auto size = std::filesystem::file_size(path);
  std::fstream part(path, std::ios::in | std::ios::out | std::ios::binary);
  part.seekp(static_cast<std::streamoff>(size) - 20);  // in a fragment of the second copy
  part.put('\x7f').put('\x7e').put('\x7f');
  part.close();
  const auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  REQUIRE(life->copies.size() == 1);
  CHECK(life->copies[0].epoch == StoreEpoch(1));
}

TEST_CASE("the index of a file that has not got its name is not believed") {
  const TemporaryFolder folder;
  live_and_die(folder);
  const std::string closed = folder / "run-000007-writer-0-0000.weir";
  std::uint64_t fragment = 0;
  {
    const auto file = RunFileReader::open(closed);
    const auto bytes = file->slice(*file->find(SliceId(2)))->fragment(0).bytes;
    fragment = static_cast<std::uint64_t>(bytes.data() - file->bytes().data());
  }
  // Footer and index reached the disk, but a record before them did not.
  std::filesystem::rename(closed, closed + ".part");
  std::fstream part(closed + ".part", std::ios::in | std::ios::out | std::ios::binary);
  part.seekp(static_cast<std::streamoff>(fragment));
  part.put('\x7f').put('\x7e').put('\x7f');
  part.close();
  const auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  CHECK(life->copies.size() == kFirstLife - 1);
}

TEST_CASE("of a file that was recovered beside itself the original is read") {
  const TemporaryFolder folder;
  live_and_die(folder);
  const std::string name = folder / "run-000007-writer-0-0001.weir";
  REQUIRE(recover(name + ".part", name));
  const auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  CHECK(life->copies.size() == kFirstLife);
  REQUIRE(life->files.size() == 2);
  CHECK(life->files[1].path == name + ".part");
}

TEST_CASE("an unclosed file without a header is empty; one with records, or a closed one, is an error") {
  const TemporaryFolder folder;
  std::ofstream(folder / "run-000007-writer-0-0000.weir.part") << "WE";
  const auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(life);
  CHECK(life->next_sequence == 1);
  CHECK(life->copies.empty());

  const TemporaryFolder other;
  live_and_die(other);
  std::fstream part(part_of(other), std::ios::in | std::ios::out | std::ios::binary);
  part.seekp(20);
  part.put('\x7f').put('\x7e');
  part.close();
  const auto damaged = read_earlier_life(other.path(), RunNumber(7), "writer-0");
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().detail.find("weir file recover") != std::string::npos);

  std::filesystem::rename(folder / "run-000007-writer-0-0000.weir.part",
                          folder / "run-000007-writer-0-0000.weir");
  const auto refused = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().detail.find("run-000007-writer-0-0000.weir") != std::string::npos);
}
