#include "disk_loop.hpp"
#include "forwarded_calls.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/file_command.hpp>
#include <weir/storage/folder.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <thread>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using Catch::Matchers::ContainsSubstring;
using weir::test::TemporaryFolder;

namespace {

struct Events : ports::DiskHandler {
  std::vector<ports::DiskEvent> seen;
  void on_disk_event(const ports::DiskEvent& event) override { seen.push_back(event); }
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

constexpr ports::FileId kFile(3);

}  // namespace

TEST_CASE("a file grows by pieces, is cut, and is published under its name") {
  const TemporaryFolder folder;
  Loop loop;
  Events events;
  auto owner = std::make_shared<const Buffer>(text("one two three"));
  const ConstBytes all(*owner);
  loop.disk.create(kFile, folder / "a.part", 1);
  std::vector<ConstBytes> pieces;
  for (int i = 0; i < 3000; ++i) pieces.push_back(all.first(3));
  loop.disk.append(kFile, pieces, owner, 2);
  loop.disk.truncate(kFile, 3, 3);
  loop.disk.append(kFile, {all.subspan(3, 4), {}, all.subspan(7)}, owner, 4);
  loop.disk.sync(kFile, 5);
  loop.disk.publish(kFile, folder / "a", 6);
  loop.wait_for([&] { return events.seen.size() == 6; }, events);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(events.seen[i].token == i + 1);
    CHECK(events.seen[i].error == ports::DiskError::none);
    CHECK(events.seen[i].detail.empty());
  }
  CHECK(contents(folder / "a") == "one two three");
  CHECK_FALSE(std::filesystem::exists(folder / "a.part"));
}

TEST_CASE("the disk reports faults with their path") {
  const TemporaryFolder folder;
  Loop loop;
  Events events;
  std::ofstream(folder / "taken") << "mine";
  loop.disk.create(ports::FileId(1), folder / "taken", 1);
  loop.disk.create(ports::FileId(2), folder / "no/such/folder", 2);
  loop.disk.append(ports::FileId(2), {}, {}, 3);
  loop.disk.create(ports::FileId(4), folder / "b.part", 4);
  loop.disk.publish(ports::FileId(4), folder / "taken", 5);
  loop.disk.sync(ports::FileId(4), 6);
  loop.disk.truncate(ports::FileId(4), 0, 7);
  loop.disk.publish(ports::FileId(4), folder / "b", 8);
  loop.wait_for([&] { return events.seen.size() == 8; }, events);
  CHECK(events.seen[0].error == ports::DiskError::exists);
  CHECK_THAT(events.seen[0].detail, ContainsSubstring(folder / "taken"));
  CHECK(events.seen[1].error == ports::DiskError::not_found);
  CHECK(events.seen[2].error == ports::DiskError::not_found);
  CHECK(events.seen[4].error == ports::DiskError::exists);
  CHECK(events.seen[5].error == ports::DiskError::exists);
  CHECK(events.seen[7].error == ports::DiskError::none);
  CHECK(contents(folder / "taken") == "mine");
}

TEST_CASE("a file system without a rename that replaces nothing publishes by a second name") {
  struct LikeNfs : ForwardedCalls {
    int rename_noreplace(const std::string&, const std::string&) override {
      errno = EINVAL;
      return -1;
    }
  };
  const TemporaryFolder folder;
  LikeNfs calls;
  Loop loop(calls);
  Events events;
  std::ofstream(folder / "taken") << "mine";
  loop.disk.create(kFile, folder / "a.part", 1);
  loop.disk.publish(kFile, folder / "taken", 2);
  loop.disk.truncate(kFile, 0, 3);
  loop.disk.publish(kFile, folder / "a", 4);
  loop.wait_for([&] { return events.seen.size() == 4; }, events);
  CHECK(events.seen[1].error == ports::DiskError::exists);
  CHECK(events.seen[3].error == ports::DiskError::none);
  CHECK(std::filesystem::exists(folder / "a"));
  CHECK_FALSE(std::filesystem::exists(folder / "a.part"));
  CHECK(contents(folder / "taken") == "mine");
}

TEST_CASE("a file system with neither exclusive renames nor hard links publishes, and replaces nothing") {
  struct LikeFuse : ForwardedCalls {
    int refusals = 1;
    int rename_noreplace(const std::string&, const std::string&) override { return refuse(EINVAL); }
    int link(const std::string&, const std::string&) override { return refuse(EPERM); }
    int rename(const std::string& from, const std::string& to) override {
      if (refusals-- > 0) return refuse(EIO);
      return ForwardedCalls::rename(from, to);
    }
    int unlink(const std::string&) override { return refuse(EIO); }
    static int refuse(int error) {
      errno = error;
      return -1;
    }
  };
  const TemporaryFolder folder;
  LikeFuse calls;
  Loop loop(calls);
  Events events;
  std::ofstream(folder / "taken") << "mine";
  const auto owner = std::make_shared<Buffer>(text("bytes"));
  loop.disk.create(kFile, folder / "a.part", 1);
  loop.disk.publish(kFile, folder / "taken", 2);
  loop.disk.truncate(kFile, 0, 3);
  loop.disk.append(kFile, {*owner}, owner, 4);
  loop.disk.publish(kFile, folder / "a", 5);
  loop.disk.truncate(kFile, owner->size(), 6);
  loop.disk.publish(kFile, folder / "a", 7);
  loop.wait_for([&] { return events.seen.size() == 7; }, events);
  CHECK(events.seen[1].error == ports::DiskError::exists);
  CHECK(events.seen[4].error == ports::DiskError::io);
  CHECK(events.seen[6].error == ports::DiskError::none);
  CHECK(contents(folder / "a") == "bytes");
  CHECK_FALSE(std::filesystem::exists(folder / "a.part"));
  CHECK(contents(folder / "taken") == "mine");
}

TEST_CASE("a file beyond the limit of file sizes is an error of the disk that names the limit") {
  struct Limited : ForwardedCalls {
    ssize_t pwritev(int, const iovec*, int, off_t) override {
      errno = EFBIG;
      return -1;
    }
  };
  const TemporaryFolder folder;
  Limited calls;
  Loop loop(calls);
  Events events;
  const auto owner = std::make_shared<Buffer>(text("bytes"));
  loop.disk.create(kFile, folder / "a.part", 1);
  loop.disk.append(kFile, {*owner}, owner, 2);
  loop.wait_for([&] { return events.seen.size() == 2; }, events);
  CHECK(events.seen[1].error == ports::DiskError::io);
  CHECK_THAT(events.seen[1].detail, ContainsSubstring("writer.file_bytes_max"));
}

namespace {

// Folders seem to be on another device once `unmounted` is set.
class OtherDevice final : public ForwardedCalls {
 public:
  int stat_path(const std::string& path, struct stat& out) override {
    const int result = ForwardedCalls::stat_path(path, out);
    if (unmounted && S_ISDIR(out.st_mode)) ++out.st_dev;
    return result;
  }
  std::atomic<bool> unmounted = false;
};

}  // namespace

TEST_CASE("a file of an unmounted disk is not copied to the file system below") {
  const TemporaryFolder folder;
  OtherDevice calls;
  Loop loop(calls);
  Events events;
  const auto owner = std::make_shared<Buffer>(text("bytes"));
  loop.disk.create(kFile, folder / "a.part", 1);
  loop.disk.append(kFile, {*owner}, owner, 2);
  loop.wait_for([&] { return events.seen.size() == 2; }, events);
  std::filesystem::rename(folder / "a.part", folder / "disk");
  calls.unmounted = true;
  loop.disk.sync(kFile, 3);
  loop.disk.restore(kFile, 4);
  loop.wait_for([&] { return events.seen.size() == 4; }, events);
  CHECK(events.seen[2].error == ports::DiskError::changed);
  CHECK_THAT(events.seen[2].detail, ContainsSubstring("its disk was unmounted: mount it again"));
  CHECK(events.seen[3].error == ports::DiskError::not_found);
  CHECK_FALSE(std::filesystem::exists(folder / "a.part"));
  calls.unmounted = false;
  std::filesystem::rename(folder / "disk", folder / "a.part");
  loop.disk.restore(kFile, 5);
  loop.disk.truncate(kFile, owner->size(), 6);
  loop.disk.publish(kFile, folder / "a", 7);
  loop.wait_for([&] { return events.seen.size() == 7; }, events);
  CHECK(events.seen[6].error == ports::DiskError::none);
}

TEST_CASE("a renamed folder is named in the error, and its file is published once the folder is back") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "out");
  Loop loop;
  Events events;
  const auto owner = std::make_shared<Buffer>(text("bytes"));
  loop.disk.create(kFile, folder / "out/a.part", 1);
  loop.disk.append(kFile, {*owner}, owner, 2);
  loop.wait_for([&] { return events.seen.size() == 2; }, events);
  std::filesystem::rename(folder / "out", folder / "elsewhere");
  loop.disk.sync(kFile, 3);
  loop.disk.restore(kFile, 4);
  loop.wait_for([&] { return events.seen.size() == 4; }, events);
  CHECK(events.seen[2].error == ports::DiskError::changed);
  CHECK_THAT(events.seen[2].detail,
             ContainsSubstring("its folder was renamed or removed, or its disk unmounted: bring it back"));
  CHECK(events.seen[3].error == ports::DiskError::not_found);
  std::filesystem::rename(folder / "elsewhere", folder / "out");
  loop.disk.restore(kFile, 5);
  loop.disk.truncate(kFile, owner->size(), 6);
  loop.disk.publish(kFile, folder / "out/a", 7);
  loop.wait_for([&] { return events.seen.size() == 7; }, events);
  for (const std::size_t i : {4U, 5U, 6U}) CHECK(events.seen[i].error == ports::DiskError::none);
  CHECK(contents(folder / "out/a") == "bytes");
}

TEST_CASE("a file has the mode that the umask leaves") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(S_IWOTH);
  Loop loop;
  Events events;
  loop.disk.create(kFile, folder / "a.part", 1);
  loop.wait_for([&] { return events.seen.size() == 1; }, events);
  ::umask(before);
  struct stat status = {};
  REQUIRE(::stat((folder / "a.part").c_str(), &status) == 0);
  CHECK((status.st_mode & ALLPERMS) == (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH));
}

TEST_CASE("a growing file is written to the device before its sync, by four megabytes at a time") {
  struct Noted : ForwardedCalls {
    void start_writeback(int, off_t offset, off_t bytes) override { ranges.emplace_back(offset, bytes); }
    std::vector<std::pair<off_t, off_t>> ranges;
  };
  constexpr off_t kMiB = 1 << 20;
  const TemporaryFolder folder;
  Noted calls;
  {
    Loop loop(calls);
    const auto owner = std::make_shared<Buffer>(kMiB);
    loop.disk.create(kFile, folder / "a.part", 1);
    const auto grow = [&](int mebibytes) {
      for (int i = 0; i < mebibytes; ++i) loop.disk.append(kFile, {*owner}, owner, 2);
    };
    grow(9);
    loop.disk.sync(kFile, 3);
    grow(3);
    loop.disk.sync(kFile, 4);
    grow(2);
    loop.disk.truncate(kFile, 12 * kMiB, 5);
    grow(4);
  }
  CHECK(calls.ranges ==
        std::vector<std::pair<off_t, off_t>>{{0, 4 * kMiB}, {4 * kMiB, 4 * kMiB}, {12 * kMiB, 4 * kMiB}});
}

TEST_CASE("a device that accepts no data without an error counts as full") {
  struct TakesNothing : ForwardedCalls {
    ssize_t pwritev(int, const iovec*, int, off_t) override { return 0; }
  };
  const TemporaryFolder folder;
  TakesNothing calls;
  Loop loop(calls);
  Events events;
  loop.disk.create(kFile, folder / "a.part", 1);
  const auto owner = std::make_shared<Buffer>(text("bytes"));
  loop.disk.append(kFile, {*owner}, owner, 2);
  loop.wait_for([&] { return events.seen.size() == 2; }, events);
  CHECK(events.seen[1].error == ports::DiskError::no_space);
}

TEST_CASE("the output folder is made with all above it, and their names are put on disk") {
  struct Noted : ForwardedCalls {
    std::vector<std::string> opened;
    int error = 0;
    int open_directory(const std::string& path) override {
      opened.push_back(path);
      return ForwardedCalls::open_directory(path);
    }
    int fsync(int descriptor) override {
      errno = error;
      return error == 0 ? ForwardedCalls::fsync(descriptor) : -1;
    }
  };
  const TemporaryFolder folder;
  Noted calls;
  CHECK_FALSE(make_folder(folder / "a/b/", calls));
  CHECK(std::filesystem::is_directory(folder / "a/b"));
  REQUIRE(calls.opened.size() >= 3);
  CHECK(calls.opened[0] == folder / "a");
  CHECK(calls.opened[1] == folder.path());
  CHECK_FALSE(make_folder(folder / "a/b"));
  calls.error = EIO;
  const auto refused = make_folder(folder / "c", calls);
  REQUIRE(refused);
  CHECK_THAT(refused->detail, ContainsSubstring(folder.path().string() + ": cannot sync the folder"));
  std::ofstream(folder / "file") << "mine";
  CHECK_THAT(make_folder(folder / "file")->detail, ContainsSubstring("cannot make the folder"));
}

TEST_CASE("a full device blocks the store with its reason") {
  Loop loop;
  Recorder seen;
  RunStoreConfig config = small_config();
  config.directory = "/dev/full/nothing";
  RunStore store(config, loop.disk, seen);
  store.start(0, 0, {});
  loop.wait_for([&] { return !seen.failed.empty(); }, store);
  CHECK(seen.ready == 0);
}

TEST_CASE("a run on a real disk is read back whole, and its files are counted on from the highest number") {
  const TemporaryFolder folder;
  Recorder seen;
  constexpr std::uint64_t kSlices = 2000;
  {
    Loop loop;
    RunStoreConfig config = small_config();
    config.directory = folder.path();
    config.file_records_max = 700;
    config.queue_bytes_max = 64U << 20;
    RunStore store(config, loop.disk, seen);
    store.start(0, 0, text("begin"));
    loop.wait_for([&] { return seen.ready == 1; }, store);
    for (std::uint64_t i = 1; i <= kSlices; ++i) {
      auto record = std::make_shared<const Buffer>(
          make_record({.slice = i, .fragment_bytes = i % 5 == 0 ? 9000U : 64U}));
      REQUIRE(store.store(*record, record, 0, static_cast<TimeNs>(i)) == StoreResult::accepted);
      store.flush(static_cast<TimeNs>(i));
      loop.disk.deliver(store);
    }
    store.close(kSlices, text("end"));
    loop.wait_for([&] { return seen.finished == 1; }, store);
  }
  REQUIRE(seen.stored.size() == kSlices);
  REQUIRE(seen.closed.size() == 3);
  SliceSum found;
  FileCommand command;
  command.verb = FileVerb::verify;
  for (const ClosedFile& closed : seen.closed) {
    const auto file = RunFileReader::open(closed.path);
    REQUIRE(file);
    CHECK(verify(*file).sound());
    CHECK(crc32c(file->bytes()) == closed.crc32c);
    found += file->live();
    command.paths.push_back(closed.path);
  }
  CHECK(found.count == kSlices);
  std::ostringstream out;
  std::ostringstream err;
  CHECK(run_file_command(command, out, err) == kFileCommandFine);
  const auto earlier = read_earlier_life(folder.path(), RunNumber(7), "writer-0");
  REQUIRE(earlier);
  CHECK(earlier->next_sequence == 3);
  CHECK(earlier->copies.size() == kSlices);
  REQUIRE(earlier->files.size() == 3);
  CHECK(earlier->files[1].closed);
  CHECK(earlier->files[1].crc32c == seen.closed[1].crc32c);
  CHECK(read_earlier_life(folder.path(), RunNumber(8), "writer-0")->next_sequence == 0);
  CHECK_FALSE(read_earlier_life(folder / "nowhere", RunNumber(8), "writer-0"));
}

TEST_CASE("syncs of 30 ms make larger batches, and every record is acknowledged after its sync") {
  struct SlowSync : ForwardedCalls {
    std::atomic<int> syncs{0};
    std::atomic<off_t> written{0};
    std::atomic<off_t> durable{0};
    ssize_t pwritev(int descriptor, const iovec* pieces, int count, off_t offset) override {
      const ssize_t n = ForwardedCalls::pwritev(descriptor, pieces, count, offset);
      if (n > 0) written = std::max<off_t>(written, offset + n);
      return n;
    }
    int fdatasync(int descriptor) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      const off_t end = written;
      const int status = ForwardedCalls::fdatasync(descriptor);
      ++syncs;
      durable = end;
      return status;
    }
  } calls;
  const TemporaryFolder folder;
  Recorder seen;
  constexpr std::uint64_t kSlices = 600;
  constexpr std::uint64_t kSyncEvery = 20;
  Loop loop(calls);
  RunStoreConfig config = small_config();
  config.directory = folder.path();
  config.sync_records = kSyncEvery;
  config.queue_bytes_max = 64U << 20;
  RunStore store(config, loop.disk, seen);
  store.start(0, 0, {});
  loop.wait_for([&] { return seen.ready == 1; }, store);
  const int begun = calls.syncs;
  for (std::uint64_t i = 1; i <= kSlices; ++i) {
    auto record = std::make_shared<const Buffer>(make_record({.slice = i, .fragment_bytes = 3000}));
    REQUIRE(store.store(*record, record, 0, static_cast<TimeNs>(i)) == StoreResult::accepted);
    store.flush(static_cast<TimeNs>(i));
    loop.disk.deliver(store);
    CHECK(static_cast<off_t>(seen.stored.size() * 6000) <= calls.durable);
  }
  store.close(kSlices, {});
  loop.wait_for([&] { return seen.finished == 1; }, store);
  CHECK(seen.stored.size() == kSlices);
  CHECK(seen.blocked.empty());
  CHECK(calls.syncs - begun < static_cast<int>(kSlices / kSyncEvery));
  REQUIRE(seen.closed.size() == 1);
  CHECK(verify(*RunFileReader::open(seen.closed.front().path)).sound());
}
