// Farms with two groups of DCMs: one selects and forwards, the other builds from the readouts or fetches
// built slices; also with deaths of DCMs of both groups at random (WEIR_SOAK_FORWARDED, 6000 slices;
// WEIR_SOAK_SEED).
#include "split_farm.hpp"

#include "soak.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::system_test;

namespace {

// Kills random DCMs until every slice is decided. Each is stored whole, so readouts had its fragments until
// the last decision.
void check_random_kills(Built built) {
  const int slices = from_environment("WEIR_SOAK_FORWARDED", 6000);
  Random random(from_environment("WEIR_SOAK_SEED", 1));
  const TemporaryFolder folder;
  FarmRun run(
      folder, half_forwarded(folder, built),
      {"--slices", std::to_string(slices), "--set", "source.size_bytes=100", "--set",
       "trigger.mode=" + std::string(slices > 20'000 ? "max" : "rate"), "--set", "run.restarts_max=100000"});
  REQUIRE(run.wait_for_data(200'000));
  constexpr const char* kDcms[] = {"near-0", "near-1", "far-0", "far-1"};
  int kills = 0;
  while (!run.process().wait(random.between(0.2, 1.2))) {
    const pid_t pid = run.pid_of(random.one_of(kDcms));
    if (pid != 0 && ::kill(pid, SIGKILL) == 0) ++kills;
  }
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  const std::uint64_t stored = end.summary.count("stored");
  CHECK(end.summary.count("triggered") == static_cast<std::uint64_t>(slices));
  CHECK(stored + end.summary.count("rejected") == static_cast<std::uint64_t>(slices));
  const StoredRun files(folder / "out");
  const std::set<std::uint64_t> ids = files.ids();
  CHECK(ids.size() == stored);
  const auto is_even = [](std::uint64_t id) { return id % 2 == 0; };
  CHECK(std::count_if(ids.begin(), ids.end(), is_even) == slices / 2);
  // The filters reject odd slices. One that was in the filters of two DCMs that were killed is stored
  // unfiltered, as poison.
  std::string wrongly_stored;
  files.for_each_slice([&](const storage::SliceRecordView& slice) {
    if (!is_even(slice.head().slice.value) && slice.head().decision != storage::DecisionKind::poison)
      wrongly_stored += " " + std::to_string(slice.head().slice.value);
  });
  CHECK(wrongly_stored == "");
  const DummyCheck check = check_dummy_data(files);
  CHECK(check.wrong == "");
  CHECK(check.fragments == stored * 8);
  const std::uint64_t again =
      end.summary.group("near").count("reassigned") + end.summary.group("far").count("reassigned");
  CHECK((end.summary.count("fetch.slices") > 0) == (built == Built::fetched));
  std::printf(
      "soak: %d slices, %d DCMs killed, %llu assigned again, %llu fetched, at most %llu in a readout\n",
      slices, kills, static_cast<unsigned long long>(again),
      static_cast<unsigned long long>(end.summary.count("fetch.slices")),
      static_cast<unsigned long long>(end.summary.count("readout_slices_peak")));
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("the split farm of configs stores forwarded slices whole") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"trigger.rate_hz=800"});
  arguments.insert(arguments.end(), {"--slices", "800"});
  FarmRun run(folder, config_file("rcnp-split-farm.yaml"), arguments);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  const Summary selection = end.summary.group("selection");
  const Summary building = end.summary.group("event-filter");
  CHECK(selection.count("arrived") == 800);
  CHECK(selection.count("forwarded") > 0);
  CHECK(selection.count("rejected") + selection.count("forwarded") == 800);
  CHECK(building.count("arrived") == selection.count("forwarded"));
  CHECK(building.count("stored") == building.count("arrived"));
  // 10 ms of CPU time, which no decision of the selection waits for.
  CHECK(building.count("decision_latency_us.p50") >= 10'000);
  CHECK(selection.count("decision_latency_us.count") == 800);
  CHECK(end.summary.count("readout_slices_peak") > 0);
  const StoredRun stored(folder / "out");
  const DummyCheck check = check_dummy_data(stored);
  CHECK(check.wrong == "");
  CHECK(check.fragments == building.count("stored") * 44);
}

TEST_CASE("a split farm with filters in workers forwards the same slices with the same bytes") {
  const TemporaryFolder folder;
  FarmRun run(folder, half_forwarded(folder, Built::from_readouts),
              {"--slices", "1000", "--set", "filter.isolation=worker"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_half_forwarded(folder, end, 1000);
}

TEST_CASE("a split farm loses no slice when DCMs of both groups and the supervisor die") {
  const Built built = GENERATE(Built::from_readouts, Built::fetched);
  CAPTURE(built);
  const TemporaryFolder folder;
  FarmRun run(folder, half_forwarded(folder, built), {"--slices", "4000"});
  REQUIRE(run.wait_for_data(200'000));
  REQUIRE(run.send_signal("near-1", SIGKILL));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("far-0", SIGKILL));
  REQUIRE(run.wait_for_data(800'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  REQUIRE(run.wait_for_data(1'200'000));
  REQUIRE(run.send_signal("near-0", SIGKILL));
  REQUIRE(run.wait_for_data(1'500'000));
  REQUIRE(run.send_signal("far-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_half_forwarded(folder, end, 4000);
  CHECK((end.summary.count("fetch.slices") > 0) == (built == Built::fetched));
}

TEST_CASE("forwarded slices survive DCMs of both groups that are killed at random") {
  check_random_kills(Built::from_readouts);
}

TEST_CASE("built slices survive the DCMs that keep and fetch them being killed at random") {
  check_random_kills(Built::fetched);
}
