// Every system call of a writer fails once, and is once the last one before the writer is killed or the power
// is lost.

#include "simulated_files.hpp"
#include "store_fixture.hpp"
#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include "writer_life.hpp"
#include <weir/storage/recover.hpp>
#include <weir/storage/verify.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

using namespace weir;
using namespace weir::storage;
using namespace weir::storage::test;
using weir::test::TemporaryFolder;

namespace {

using Fault = SimulatedFiles::Fault;
using Loss = SimulatedFiles::Loss;
using Publishing = SimulatedFiles::Publishing;

constexpr std::uint64_t kSlices = 30;
constexpr std::uint64_t kDeadSlice = 5;

RunStoreConfig config_in(const std::string& folder) {
  RunStoreConfig config = small_config();
  config.directory = folder;
  config.file_records_max = 6;
  config.sync_bytes = 5000;
  return config;
}

RecordPlan plan_of(std::uint64_t slice, std::uint16_t epoch = 1) {
  // Sizes that are copied, referred to, and larger than one append gathers.
  const std::uint32_t bytes = slice % 7 == 3 ? 3000 : slice % 7 == 5 ? 12'000 : 100;
  return {.slice = slice,
          .attempt = static_cast<std::uint16_t>(epoch - 1),
          .epoch = epoch,
          .fragment_bytes = bytes};
}

// Several files, group commit, later copies of slices on disk and not yet on disk, a copy marked dead,
// duplicates, settled slices, close. Ends early if the simulated process ends.
void work(WriterLife& life) {
  for (std::uint64_t i = 1; i <= kSlices && !life.over(); ++i) {
    (void)life.put(plan_of(i));
    if (i == 8) (void)life.put(plan_of(3, 2));
    if (i == 9) life.mark_dead(kDeadSlice, 1);
    if (i == 11) (void)life.put(plan_of(11, 2));
    if (i == 13) (void)life.put(plan_of(1));
    if (i == 14) (void)life.put(plan_of(13));
    if (i == 15) life.store().settle(std::vector{SliceId(1), SliceId(2), SliceId(4)});
    if (i == 16) (void)life.put(plan_of(3, 3));
    if (i % 3 != 0) life.pass(60 * kMillisecond);
  }
  if (!life.over()) (void)life.close();
}

std::string published_name(const std::string& part) {
  return part.substr(0, part.size() - kPartSuffix.size());
}

bool is_other_name(const std::string& one, const std::string& other) {
  std::error_code none;
  return std::filesystem::equivalent(one, other, none);
}

// Opens the run files in a folder, like any reader. A file that has two names is opened once.
std::vector<RunFileReader> open_all(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.insert(entry.path().string());
  std::vector<RunFileReader> files;
  for (const std::string& path : paths) {
    const bool twice = path.ends_with(kPartSuffix) && is_other_name(path, published_name(path));
    if (twice) continue;
    auto file = RunFileReader::open(path);
    if (file) files.push_back(std::move(*file));
  }
  resolve_copies(files);
  return files;
}

// Every acknowledged copy exists byte for byte, or a later copy does; no slice exists twice.
void check_acknowledged(const std::vector<RunFileReader>& files, const Book& book) {
  for (const FileProblem& problem : verify_copies(files)) FAIL(problem.text);
  for (const auto& [slice, epoch] : book.acknowledged) {
    CAPTURE(slice);
    const auto dead = book.dead.find(slice);
    if (dead != book.dead.end() && epoch <= dead->second) continue;
    const RunFileReader* where = nullptr;
    for (const RunFileReader& file : files) where = file.find(SliceId(slice)) != nullptr ? &file : where;
    REQUIRE(where != nullptr);
    const IndexEntry& entry = *where->find(SliceId(slice));
    REQUIRE(entry.epoch >= epoch);
    const auto view = where->slice(entry, Check::fragments);
    REQUIRE(view);
    REQUIRE(std::ranges::equal(view->bytes(), make_record(book.given.at({slice, entry.epoch.value}))));
  }
}

struct Scene {
  explicit Scene(Publishing publishing) : files(folder.path(), publishing) {}

  [[nodiscard]] EarlierLife earlier() {
    auto life = read_earlier_life(folder.path(), RunNumber(7), "writer-0", files);
    if (!life) FAIL(life.error().detail);
    return std::move(*life);
  }

  void check_recovery() {
    const TemporaryFolder recovered(TemporaryFolder::in_memory());
    std::vector<std::string> parts;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(kPartSuffix)) {
        parts.push_back(name);
      } else {
        std::filesystem::copy_file(entry.path(), recovered / name);
      }
    }
    for (const std::string& name : parts) {
      std::string from = folder / name;
      const std::string out = recovered / published_name(name);
      const bool twice = is_other_name(from, folder / published_name(name));
      if (twice) {
        from = recovered / name;
        std::filesystem::create_hard_link(out, from);
      }
      const auto report = recover(from, out);
      if (!report) FAIL(report.error().detail);
      REQUIRE(report->published == twice);
      REQUIRE(std::filesystem::exists(from) != twice);
      twice_named += twice ? 1 : 0;
    }
    const std::vector<RunFileReader> all = open_all(recovered.path());
    for (const RunFileReader& file : all) REQUIRE(verify(file).sound());
    check_acknowledged(all, book);
  }

  // After a crash, the files that a restarted writer finds would survive another crash.
  EarlierLife check_restart() {
    EarlierLife first = earlier();
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      REQUIRE(std::filesystem::hard_link_count(entry.path()) == 1);
    files.crash(Loss::all_unsynced);
    const EarlierLife second = earlier();
    REQUIRE(second.copies.size() == first.copies.size());
    for (std::size_t i = 0; i < first.copies.size(); ++i) {
      REQUIRE(second.copies[i].slice == first.copies[i].slice);
      REQUIRE(second.copies[i].epoch == first.copies[i].epoch);
    }
    check_acknowledged(open_all(folder.path()), book);
    return first;
  }

  // The next process receives everything again and ends well. Afterwards each slice is stored once.
  void finish_run(const EarlierLife& found) {
    SliceSum stored;
    {
      WriterLife life(files, config_in(folder.path()), found, book);
      REQUIRE_FALSE(life.over());
      for (std::uint64_t i = 1; i <= kSlices; ++i) {
        if (i == kDeadSlice) continue;
        const auto epoch = static_cast<std::uint16_t>(i == 3 ? 3 : i == 11 ? 2 : 1);
        const bool had = life.store().has_copy(SliceId(i));
        const StoreResult result = life.put(plan_of(i, epoch));
        REQUIRE_FALSE(is_refusal(result));
        const auto acknowledged = book.acknowledged.find(i);
        if (acknowledged == book.acknowledged.end()) continue;
        REQUIRE(had);
        if (acknowledged->second == StoreEpoch(epoch)) REQUIRE(result == StoreResult::duplicate);
      }
      life.mark_dead(kDeadSlice, 1);
      REQUIRE(life.close());
      stored = life.store().stored();
    }
    files.crash(Loss::all_unsynced);
    std::vector<RunFileReader> all = open_all(folder.path());
    check_acknowledged(all, book);
    SliceSum live;
    SliceSum expected;
    for (const RunFileReader& file : all) live += file.live();
    for (std::uint64_t i = 1; i <= kSlices; ++i) {
      if (i != kDeadSlice) expected.add(SliceId(i));
    }
    REQUIRE(live == expected);
    REQUIRE(stored == expected);
    REQUIRE(book.acknowledged.size() >= kSlices - 1);
  }

  TemporaryFolder folder{TemporaryFolder::in_memory()};
  SimulatedFiles files;
  Book book;
  int twice_named = 0;  // files that had both names after a crash
};

std::uint64_t calls_of_a_whole_life(Publishing publishing) {
  Scene scene(publishing);
  scene.files.plan({}, 1);
  WriterLife life(scene.files, config_in(scene.folder.path()), {}, scene.book);
  work(life);
  REQUIRE(life.store().finished());
  REQUIRE(life.seen().closed.size() >= 4);
  return scene.files.calls();
}

// Runs three processes one after another, each with some faults and an end at a random call, then one that
// ends well.
void live_dangerously(Publishing publishing, std::uint64_t seed, std::uint64_t calls) {
  CAPTURE(static_cast<int>(publishing), seed);
  std::mt19937_64 random(seed);
  Scene scene(publishing);
  EarlierLife found;
  for (int life_number = 0; life_number < 3; ++life_number) {
    const std::uint64_t end = random() % calls;
    SimulatedFiles::Plan plan;
    for (std::uint64_t faults = random() % 3; faults > 0; --faults) {
      plan[random() % (end + 1)] = random() % 2 == 0 ? Fault::io : Fault::short_then_full;
    }
    plan[end] = random() % 2 == 0 ? Fault::stop : Fault::stop_within;
    scene.files.plan(plan, seed);
    {
      WriterLife life(scene.files, config_in(scene.folder.path()), found, scene.book);
      work(life);
    }
    scene.files.crash(static_cast<Loss>(random() % 3));
    found = scene.check_restart();
    scene.check_recovery();
  }
  scene.finish_run(found);
}

void live_dangerously(std::uint64_t seeds) {
  for (const Publishing publishing : {Publishing::by_rename, Publishing::by_link, Publishing::by_neither}) {
    const std::uint64_t calls = calls_of_a_whole_life(publishing);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) live_dangerously(publishing, seed, calls);
  }
  std::printf("%llu random sequences of faults and three ends\n", static_cast<unsigned long long>(seeds));
}

// With so many random losses for each call.
void end_at_each_call(Publishing publishing, std::uint64_t budget) {
  const std::uint64_t calls = calls_of_a_whole_life(publishing);
  REQUIRE(calls > 100);
  struct End {
    Fault fault;
    Loss loss;
    std::uint64_t seeds;
  };
  const std::vector<End> ends{{Fault::stop, Loss::nothing, 1},
                              {Fault::stop, Loss::all_unsynced, 1},
                              {Fault::stop, Loss::any_part, 2 * budget},
                              {Fault::stop_within, Loss::nothing, 1},
                              {Fault::stop_within, Loss::any_part, budget}};
  std::uint64_t points = 0;
  std::uint64_t twice_named = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    for (const End& end : ends) {
      for (std::uint64_t seed = 1; seed <= end.seeds; ++seed) {
        CAPTURE(call, static_cast<int>(end.fault), static_cast<int>(end.loss), seed);
        Scene scene(publishing);
        scene.files.plan({{call, end.fault}}, call * 100 + seed);
        {
          WriterLife life(scene.files, config_in(scene.folder.path()), {}, scene.book);
          work(life);
          REQUIRE(scene.files.stopped());
        }
        scene.files.crash(end.loss);
        check_acknowledged(open_all(scene.folder.path()), scene.book);
        scene.check_recovery();
        scene.finish_run(scene.check_restart());
        twice_named += static_cast<std::uint64_t>(scene.twice_named);
        ++points;
      }
    }
  }
  CHECK((twice_named > 0) == (publishing == Publishing::by_link));
  std::printf("%llu crash points at %llu system calls\n", static_cast<unsigned long long>(points),
              static_cast<unsigned long long>(calls));
}

}  // namespace

TEST_CASE("a writer that ends at any system call loses nothing that it has acknowledged: names by rename") {
  end_at_each_call(Publishing::by_rename, 1);
}
TEST_CASE("a writer that ends at any system call loses nothing that it has acknowledged: names by link") {
  end_at_each_call(Publishing::by_link, 1);
}
TEST_CASE("a writer that ends at any system call loses nothing that it has acknowledged: placeholders") {
  end_at_each_call(Publishing::by_neither, 1);
}

TEST_CASE("any system call that fails once costs nothing, and nothing is acknowledged that is not on disk") {
  const Publishing publishing = GENERATE(Publishing::by_rename, Publishing::by_link, Publishing::by_neither);
  const std::uint64_t calls = calls_of_a_whole_life(publishing);
  std::uint64_t points = 0;
  for (std::uint64_t call = 0; call < calls; ++call) {
    for (const Fault fault : {Fault::no_space, Fault::io, Fault::short_write, Fault::short_then_full}) {
      CAPTURE(call, static_cast<int>(fault));
      Scene scene(publishing);
      scene.files.plan({{call, fault}}, call);
      bool begun = false;
      {
        WriterLife life(scene.files, config_in(scene.folder.path()), {}, scene.book);
        work(life);
        begun = life.seen().failed.empty();
        // A fault in the first file fails the run before any slice is acknowledged.
        if (begun) REQUIRE(life.store().finished());
        REQUIRE(life.seen().blocked.size() <= 1);
        REQUIRE(life.seen().resumed == static_cast<int>(life.seen().blocked.size()));
        if (begun) REQUIRE(life.store().bytes_queued() == 0);
      }
      REQUIRE((begun || scene.book.acknowledged.empty()));
      scene.files.crash(Loss::all_unsynced);
      const std::vector<RunFileReader> all = open_all(scene.folder.path());
      check_acknowledged(all, scene.book);
      if (begun) REQUIRE(scene.book.acknowledged.size() == kSlices);
      for (const RunFileReader& file : all)
        REQUIRE((!begun || (file.closed() && file.path().ends_with(kFileSuffix))));
      ++points;
    }
  }
  std::printf("%llu faults at %llu system calls\n", static_cast<unsigned long long>(points),
              static_cast<unsigned long long>(calls));
}

TEST_CASE(
    "a recovery that fails or ends at any system call leaves the original alone, and a whole new file or "
    "none") {
  const Publishing publishing = GENERATE(Publishing::by_rename, Publishing::by_link, Publishing::by_neither);
  const TemporaryFolder from(TemporaryFolder::in_memory());
  const std::string original = from / "run-000007-writer-0-0000.weir.part";
  Fixture fixture;
  fixture.start();
  for (std::uint64_t i = 1; i <= 9; ++i) (void)fixture.put(plan_of(i));
  fixture.pass(kSecond);
  const Buffer bytes = fixture.disk.files().begin()->second.bytes;
  std::ofstream(original, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()) - 100);
  const auto size = std::filesystem::file_size(original);
  std::uint64_t points = 0;
  for (std::uint64_t call = 0; call < 30; ++call) {
    for (const Fault fault :
         {Fault::no_space, Fault::io, Fault::short_write, Fault::stop, Fault::stop_within}) {
      CAPTURE(call, static_cast<int>(fault));
      const TemporaryFolder folder(TemporaryFolder::in_memory());
      SimulatedFiles files(folder.path(), publishing);
      files.plan({{call, fault}}, call);
      const std::string out = folder / "new.weir";
      const auto report = recover(original, out, files);
      const bool stopped = files.stopped();
      points += files.calls() > call ? 1 : 0;
      if (!report && !stopped) REQUIRE(std::filesystem::is_empty(folder.path()));
      files.crash(Loss::any_part);
      if (report) REQUIRE(std::filesystem::exists(out));
      const bool placeholder = publishing == Publishing::by_neither && std::filesystem::exists(out) &&
                               std::filesystem::is_empty(out);
      if (placeholder) REQUIRE_FALSE(report);
      if (std::filesystem::exists(out) && !placeholder) {
        const auto file = RunFileReader::open(out);
        REQUIRE(file);
        REQUIRE(verify(*file).sound());
        REQUIRE(file->live().count == 8);
      }
      REQUIRE(std::filesystem::file_size(original) == size);
    }
  }
  REQUIRE(points > 30);
  std::printf("%llu faults and ends of a recovery\n", static_cast<unsigned long long>(points));
}

TEST_CASE("faults, an end, a restart and another end, at random calls, lose nothing that was acknowledged") {
  live_dangerously(100);
}

// ./storage_crash_points_test "[nightly]": half an hour.
TEST_CASE("through the night: more random losses at each call", "[.][nightly]") {
  end_at_each_call(GENERATE(Publishing::by_rename, Publishing::by_link, Publishing::by_neither), 4);
}
TEST_CASE("through the night: more random faults and ends", "[.][nightly]") { live_dangerously(10'000); }
