// Processes of a farm are killed, or stand still, at random moments. WEIR_SOAK_FAULTS (16), WEIR_SOAK_SEED
// (1) and WEIR_SOAK_STILL_S (2) in the environment make it longer: docs/reliability.md has figures.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr int kFaultsARun = 20;

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// `fast`: as many slices as there is room for, stored without their raw data; otherwise 2000 a second with
// all.
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

struct Still {
  pid_t pid = 0;
  std::chrono::steady_clock::time_point until;
};

class Tormentor {
 public:
  Tormentor(FarmRun& run, std::mt19937_64& random) : run_(run), random_(random) {}

  void hurt_one() {
    const auto never = [this] {
      wake_those_due(false);
      return false;
    };
    (void)wait_until(never, Seconds(0.1 + static_cast<double>(random_() % 700) / 1000));
    constexpr const char* kNames[] = {"supervisor", "readout-0", "readout-1", "dcm-0", "dcm-1",
                                      "dcm-2",      "writer-0",  "writer-1",  "dcm-0", "writer-0"};
    const std::string name = kNames[random_() % std::size(kNames)];
    const pid_t pid = run_.pid_of(name);
    if (pid == 0) return;  // is being started again
    const bool stop = random_() % 10 < 3;
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
  std::mt19937_64& random_;
  std::vector<Still> still_;
};

// Every file is sound, those that were not closed once they are recovered.
void check_files(const TemporaryFolder& folder, const std::string& out) {
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    std::string path = entry.path().string();
    if (path.ends_with(".part")) {
      const std::string whole = path.substr(0, path.size() - 5) + ".recovered";
      const CommandEnd recovered = run_command(folder, "weir", {"file", "recover", path, "--out", whole});
      INFO(recovered.out << recovered.err);
      CHECK(recovered.status == 0);
      path = whole;
    } else if (!path.ends_with(".weir")) {
      continue;
    }
    const CommandEnd verified = run_command(folder, "weir", {"file", "verify", path});
    INFO(path << "\n" << verified.out << verified.err);
    CHECK(verified.status == 0);
    if (path.ends_with(".recovered")) std::filesystem::remove(path);
  }
}

void check_end(const TemporaryFolder& folder, const FarmEnd& end, const std::string& out, bool fast,
               const Tormentor& tormentor) {
  CHECK_BALANCED(end, 3);
  INFO(describe(end));
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("rejected") == 0);
  CHECK(end.summary.count("filter.verify_mismatch") == 0);
  const std::uint64_t stored = end.summary.count("stored");
  CHECK(stored > 0);
  CHECK(end.summary.count("triggered") == stored);
  {
    const StoredRun run(out);
    CHECK(run.ids().size() == stored);
    const DummyCheck check = check_dummy_data(run);
    CHECK(check.wrong == "");
    CHECK(check.slices == stored);
    if (tormentor.readouts_hurt == 0 && !fast) CHECK(check.missing == 0);
  }
  check_files(folder, out);
}

}  // namespace

TEST_CASE("whoever is killed or stands still at random, no slice is lost, doubled or wrong") {
  const int faults = from_environment("WEIR_SOAK_FAULTS", 16);
  std::mt19937_64 random(static_cast<std::uint64_t>(from_environment("WEIR_SOAK_SEED", 1)));
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
    check_end(folder, end, run.out(), fast, tormentor);
    kills += tormentor.kills;
    stops += tormentor.stops;
    slices += end.summary.count("stored");
    std::printf("soak: %d killed, %d stood still, %llu slices stored\n", kills, stops,
                static_cast<unsigned long long>(slices));
    std::fflush(stdout);
  }
}
