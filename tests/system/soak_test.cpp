// Kills or stops processes of a farm at random moments: while it runs (WEIR_SOAK_FAULTS, 16), and while it
// drains (WEIR_SOAK_ENDINGS, 2); disks fill up and writers die on them (WEIR_SOAK_DISKS, 3); filters crash,
// hang and lie (WEIR_SOAK_FILTERED, 1000 slices). WEIR_SOAK_SEED (1) and WEIR_SOAK_STILL_S (2) apply to all
// of them.
#include "soak.hpp"

#include "plugins/misbehaviour.hpp"
#include "small_disk.hpp"
#include "weir_catch.hpp"

#include <cstdio>

namespace {

using namespace weir;
using namespace weir::system_test;
using test::SmallDisk;

constexpr int kFaultsARun = 20;
constexpr int kFillsARun = 5;

// `fast`: as many slices as the farm has room for, stored without their raw data; otherwise 2000 a second
// with all data.
std::string farm_text(bool fast) {
  return std::string("farm: soak\n") +
         "run: {restart: on-failure, restarts_max: 100000, drain_timeout_s: 40}\n"
         "source: {kind: dummy, distribution: exponential, size_bytes: 900}\n"
         "readout: {count: 2, sources_per_readout: 3, buffer_bytes: 64MiB}\n"
         "supervisor: {lease_ms: 1500, status_interval_ms: 200, in_flight_max: 2000}\n"
         "dcm: {count: 3, credits: 64, deadline_ms: 4000, grace_ms: 500, buffer_bytes: 64MiB}\n"
         "writer: {count: 2, sync_interval_ms: 50}\n"
         "network: {reconnect_ms: 50}\n" +
         (fast ? "trigger: {mode: max}\nfilter: {plugin: verify, parameters: {keep: none}}\n"
               : "trigger: {mode: rate, rate_hz: 2000}\nfilter: {plugin: verify}\n");
}

constexpr const char* kNames[] = {"supervisor", "readout-0", "readout-1", "dcm-0", "dcm-1",
                                  "dcm-2",      "writer-0",  "writer-1",  "dcm-0", "writer-0"};

Random random_from_environment() { return Random(from_environment("WEIR_SOAK_SEED", 1)); }

struct Still {
  pid_t pid = 0;
  std::chrono::steady_clock::time_point until;
};

class Tormentor {
 public:
  Tormentor(FarmRun& run, Random& random) : run_(run), random_(random) {}

  void hurt_one() {
    const auto never = [this] {
      wake_those_due(false);
      return false;
    };
    (void)wait_until(never, random_.between(0.1, 0.8));
    const std::string name = random_.one_of(kNames);
    const pid_t pid = run_.pid_of(name);
    if (pid == 0) return;  // is being started again
    const bool stop = random_.below(10) < 3;
    if (::kill(pid, stop ? SIGSTOP : SIGKILL) != 0) return;
    if (stop) {
      const Seconds still(from_environment("WEIR_SOAK_STILL_S", 2));
      still_.push_back({pid, std::chrono::steady_clock::now() +
                                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(still)});
    }
    readouts_hurt += name.starts_with("readout") ? 1 : 0;
    ++(stop ? stops : kills);
  }

  void wake_those_due(bool all) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(still_, [&](const Still& one) {
      if (!all && now < one.until) return false;
      ::kill(one.pid, SIGCONT);
      return true;
    });
  }

  int kills = 0;
  int stops = 0;
  int readouts_hurt = 0;

 private:
  FarmRun& run_;
  Random& random_;
  std::vector<Still> still_;
};

}  // namespace

TEST_CASE("whichever process is killed or freezes at random, no slice is lost, doubled or wrong") {
  const int faults = from_environment("WEIR_SOAK_FAULTS", 16);
  Random random = random_from_environment();
  int kills = 0;
  int stops = 0;
  std::uint64_t slices = 0;
  for (int round = 0; kills + stops < faults; ++round) {
    const bool fast = round % 2 == 0;
    CAPTURE(round, fast);
    const TemporaryFolder folder;
    const std::string farm = folder.write("farm.yaml", farm_text(fast));
    FarmRun run(folder, farm, {});
    REQUIRE(run.wait_for_data(20'000));
    Tormentor tormentor(run, random);
    for (int i = 0; i < kFaultsARun && kills + stops + tormentor.kills + tormentor.stops < faults; ++i)
      tormentor.hurt_one();
    tormentor.wake_those_due(true);
    run.process().send_signal(SIGINT);
    const FarmEnd end = run.finish(Seconds(180));
    CHECK(end.status == 3);
    CHECK(end.summary.count("filter.verify_mismatch") == 0);
    const DummyCheck check = check_all_stored(folder, end, run.out());
    if (tormentor.readouts_hurt == 0 && !fast) CHECK(check.missing == 0);
    kills += tormentor.kills;
    stops += tormentor.stops;
    slices += end.summary.count("stored");
    std::printf("soak: %d killed, %d stood still, %llu slices stored\n", kills, stops,
                static_cast<unsigned long long>(slices));
    std::fflush(stdout);
  }
}

TEST_CASE("random kills while the run drains lose, double or corrupt no slice") {
  const int endings = from_environment("WEIR_SOAK_ENDINGS", 2);
  Random random = random_from_environment();
  int hurt = 0;
  for (int round = 0; round < endings; ++round) {
    const bool fast = round % 2 == 0;
    CAPTURE(round, fast);
    const TemporaryFolder folder;
    // Writers that sync seldom make the drain long enough to be hit.
    FarmRun run(folder, folder.write("farm.yaml", farm_text(fast)), {"--set", "writer.sync_interval_ms=300"});
    REQUIRE(run.wait_for_data(200'000));
    run.process().send_signal(SIGINT);
    int kills = 0;
    for (std::size_t i = 1 + random.below(3); i > 0; --i) {
      (void)wait_until([] { return false; }, random.between(0, 0.15));
      const pid_t pid = run.pid_of(random.one_of(kNames));
      if (pid != 0 && ::kill(pid, SIGKILL) == 0) ++kills;
    }
    const FarmEnd end = run.finish(Seconds(180));
    // The death of a process that had finished its work goes unnoticed.
    CHECK((end.status == 3 || end.status == 0));
    if (kills == 0) CHECK(end.status == 0);
    (void)check_all_stored(folder, end, run.out());
    hurt += end.status == 3 ? 1 : 0;
    std::printf("soak: %d endings, %d of them with a fault, status %d after %d kill(s), %llu slices stored\n",
                round + 1, hurt, end.status, kills,
                static_cast<unsigned long long>(end.summary.count("stored")));
    std::fflush(stdout);
  }
}

TEST_CASE("random kills while disks fill up lose, double or corrupt no slice") {
  const int fills = from_environment("WEIR_SOAK_DISKS", 3);
  Random random = random_from_environment();
  for (int done = 0; done < fills;) {
    const TemporaryFolder folder;
    const SmallDisk disk(folder / "out", 1024);
    if (!disk.mounted()) return;
    FarmRun run(folder, folder.write("farm.yaml", farm_text(true)), {});
    REQUIRE(run.wait_for_data(20'000));
    int kills = 0;
    for (int i = 0; i < kFillsARun && done < fills; ++i, ++done) {
      (void)wait_until([] { return false; }, random.between(0.1, 1));
      disk.fill_up();
      constexpr const char* kVictims[] = {"writer-0", "writer-1", "supervisor", "dcm-0"};
      for (std::size_t left = random.below(3); left > 0; --left) {
        (void)wait_until([] { return false; }, random.between(0, 1));
        const pid_t pid = run.pid_of(random.one_of(kVictims));
        if (pid != 0 && ::kill(pid, SIGKILL) == 0) ++kills;
      }
      (void)wait_until([] { return false; }, random.between(0.2, 3));
      disk.make_room();
    }
    run.process().send_signal(SIGINT);
    const FarmEnd end = run.finish(Seconds(180));
    INFO(describe(end));
    // Slices that a writer did not acknowledge in time are given to another: a fault, too.
    CHECK((end.status == 3 || (end.status == 0 && kills == 0)));
    (void)check_all_stored(folder, end, run.out());
    std::printf("soak: %d full disks, %d killed meanwhile, %llu slices stored\n", done, kills,
                static_cast<unsigned long long>(end.summary.count("stored")));
    std::fflush(stdout);
  }
}

TEST_CASE("other slices are filtered and stored, whatever a filter does to its process") {
  const int slices = from_environment("WEIR_SOAK_FILTERED", 1000);
  const int seed = from_environment("WEIR_SOAK_SEED", 1);
  const TemporaryFolder folder;
  const std::string farm = folder.write("farm.yaml", farm_text(false));
  FarmRun run(folder, farm,
              {"--slices", std::to_string(slices), "--set",
               std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/misbehaves.so", "--set",
               "filter.parameters.seed=" + std::to_string(seed), "--set", "dcm.processing_units=2", "--set",
               "dcm.deadline_ms=20000"});  // on a busy machine workers start slowly
  const FarmEnd end = run.finish(Seconds(60 + slices / 5));
  INFO(describe(end));
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("triggered") == static_cast<std::uint64_t>(slices));
  CHECK(end.summary.count("rejected") == 0);
  CHECK(end.summary.count_all("discarded") == 0);
  std::uint64_t stored = 0;
  std::uint64_t poison = 0;
  StoredRun(run.out()).for_each_slice([&](const storage::SliceRecordView& slice) {
    const std::uint64_t id = slice.head().slice.value;
    const Misbehaviour what = misbehaviour_of(id, static_cast<std::uint64_t>(seed));
    CAPTURE(id, static_cast<int>(what));
    if (slice.head().decision == DecisionKind::poison) {
      CHECK(kills_or_hangs(what));
      ++poison;
    } else {
      CHECK(!kills_every_time(what));
      CHECK(slice.head().decision == (is_error(what) ? DecisionKind::no_filter : DecisionKind::filter));
    }
    ++stored;
  });
  CHECK(stored == end.summary.count("stored"));
  std::printf("soak: %llu slices stored, %llu of them as poison\n", static_cast<unsigned long long>(stored),
              static_cast<unsigned long long>(poison));
}

TEST_CASE("a slice that hangs in a filter beside one that kills is not lost, and the other one is poison") {
  constexpr std::uint64_t kHangs = 40;
  constexpr std::uint64_t kKills = 41;
  const TemporaryFolder folder;
  const std::string farm = folder.write("farm.yaml", farm_text(false));
  FarmRun run(
      folder, farm,
      {"--slices", "300", "--set", std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/misbehaves.so",
       "--set", "filter.parameters.hangs=" + std::to_string(kHangs), "--set",
       "filter.parameters.kills=" + std::to_string(kKills), "--set", "dcm.count=1", "--set",
       "dcm.processing_units=2", "--set", "dcm.deadline_ms=20000", "--set",
       "supervisor.lease_ms=4000"});  // it returns before it is taken away
  const FarmEnd end = run.finish(Seconds(200));
  INFO(describe(end));
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored") == 300);
  StoredRun(run.out()).for_each_slice([](const storage::SliceRecordView& slice) {
    CAPTURE(slice.head().slice.value);
    CHECK((slice.head().decision == DecisionKind::poison) == (slice.head().slice.value == kKills));
  });
}
