// The burst saver: alerts of an operator, with real processes, also with deaths at random (WEIR_SOAK_BURSTS,
// 4 kills; WEIR_SOAK_SEED).
#include "controlled_farm.hpp"
#include "farm_run.hpp"
#include "python_here.hpp"
#include "small_disk.hpp"
#include "soak.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

using namespace weir::system_test;
using Catch::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr Seconds kPatience{90};

const std::vector<std::string> kNodes = {"supervisor", "writer-0",  "dcm-0",
                                         "dcm-1",      "readout-0", "readout-1"};

// Nearly every slice is rejected, so that what an alert saves is nowhere else.
std::string farm_with(const std::string& burst) {
  return "farm: alerted\n"
         "trigger: {mode: rate, rate_hz: 300}\n"
         "source: {kind: dummy, size_bytes: 4000}\n"
         "supervisor: {lease_ms: 60000}\n"
         "readout: {count: 2, sources_per_readout: 2}\n"
         "dcm: {count: 2, deadline_ms: 20000, grace_ms: 20000}\n"
         "filter: {plugin: prescale, parameters: {n: 1000}}\n"
         "writer: {count: 1}\n"
         "burst: {" +
         burst + "}\n";
}

std::uint64_t counter(const ControlledFarm& farm, const std::string& node, const char* name) {
  const boost::json::value view = farm.status();
  for (const boost::json::value& one : view.at("nodes").as_array()) {
    if (one.at("name").as_string() != node) continue;
    const boost::json::object& counters = one.at("report").at("counters").as_object();
    const auto found = counters.find(name);
    if (found == counters.end()) return 0;
    const boost::json::value& count = found->value();
    return count.is_string() ? std::stoull(std::string(count.as_string())) : count.to_number<std::uint64_t>();
  }
  return 0;
}

bool wait_for(const ControlledFarm& farm, const char* name, std::uint64_t least) {
  return wait_until([&] { return counter(farm, "supervisor", name) >= least; }, kPatience);
}

std::string folder_of(const ControlledFarm& farm, int alert) {
  return farm.out() + "/run-000001-burst-" + std::to_string(alert);
}

// All bytes are those of the source's formula. A writer that was killed leaves a file that is not closed.
void check_data(const StoredRun& run, bool writer_killed = false) {
  const std::string problems = run.problems();
  const bool not_closed = problems.find(".part is not closed") != problems.npos &&
                          std::count(problems.begin(), problems.end(), '\n') <= 1;
  CHECK((problems.empty() || (writer_killed && not_closed)));
  const DummyCheck data = check_dummy_data(run);
  CHECK(data.wrong.empty());
  CHECK(data.missing == 0);
  CHECK(data.fragments == 4 * data.slices);
}

void check_account(const boost::json::value& burst) {
  const auto count = [&](const char* key) { return burst.at(key).to_number<std::uint64_t>(); };
  CHECK(count("asked") == count("saved") + count("too_old") + count("no_room") + count("disk_slow") +
                              count("disk_failed") + count("refused") + count("lost"));
}

}  // namespace

TEST_CASE(
    "an alert stores every slice of its window, and overlapping alerts store both, though the run ends") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, farm_with("buffer_bytes: 256MiB, save_bytes_per_s: 10MB"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 600));
  farm.must({"burst", "--before", "100", "--after", "100", "--reason", "first"});
  farm.must({"burst", "--before", "1", "--after", "100"});
  REQUIRE(wait_for(farm, "burst.alerts", 2));
  const std::uint64_t before = counter(farm, "supervisor", "triggered");
  REQUIRE(wait_for(farm, "triggered", before + 300));
  farm.stop_good();

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  CHECK(summary.count("vetoed") == 0);
  const boost::json::array& bursts = summary.json().at("bursts").as_array();
  REQUIRE(bursts.size() == 2);
  for (const boost::json::value& burst : bursts) {
    check_account(burst);
    CHECK(burst.at("saved") == burst.at("asked"));
  }
  const StoredRun first(folder_of(farm, 1));
  const StoredRun second(folder_of(farm, 2));
  check_data(first);
  check_data(second);
  const std::set<std::uint64_t> all = first.ids();
  CHECK(all.size() == summary.count("triggered"));
  const std::set<std::uint64_t> late = second.ids();
  CHECK(late.size() >= 300);
  CHECK(std::includes(all.begin(), all.end(), late.begin(), late.end()));
  CHECK(*late.rbegin() - *late.begin() + 1 == late.size());  // without a gap
  // A slice keeps its outcome.
  CHECK(summary.count("rejected") + summary.count("stored") == summary.count("triggered"));
}

TEST_CASE("files of an alert that vanish before the run's end are named, and unbalance its ledger") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, farm_with("buffer_bytes: 256MiB"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 600));
  farm.must({"burst", "--before", "1", "--after", "0"});
  const fs::path alert = folder_of(farm, 1);
  const auto closed = [&] {
    std::error_code none;
    const fs::directory_iterator files(alert, none);
    return !none && begin(files) != end(files) && std::all_of(begin(files), end(files), [](const auto& file) {
      return file.path().extension() == ".weir";
    });
  };
  REQUIRE(wait_until(closed, Seconds(30)));
  // By then the writer has read the files back.
  REQUIRE(wait_for(farm, "triggered", counter(farm, "supervisor", "triggered") + 600));
  fs::rename(alert, fs::path(folder.path()) / "taken-away");
  (void)farm.ctl({"stop"});

  const Summary summary(farm.record(1));
  CHECK_FALSE(summary.balanced());
  CHECK_THAT(summary.imbalance(), ContainsSubstring("bursts: saved = live on disk"));
  CHECK(summary.count("exit_status") == 1);
  const std::string faults = boost::json::serialize(summary.json().at("faults"));
  CHECK_THAT(faults, ContainsSubstring("burst 1: ") && ContainsSubstring("it is gone: ") &&
                         ContainsSubstring("vanished from disk"));
}

TEST_CASE("a DCM that is killed while it saves loses only its own part, as the account shows") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, farm_with("buffer_bytes: 256MiB, save_bytes_per_s: 1MB"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 900));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 50));
  farm.kill_node("dcm-0");
  farm.start_node("dcm-0");
  REQUIRE(wait_for(farm, "burst.saved", 200));
  farm.stop_with_faults("dcm-0");

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("lost").to_number<std::uint64_t>() > 0);
  const StoredRun saved(folder_of(farm, 1));
  check_data(saved);
  CHECK(saved.ids().size() == burst.at("saved").to_number<std::uint64_t>());
}

TEST_CASE("a writer that is killed while it stores an alert loses nothing, and stores nothing twice") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, farm_with("buffer_bytes: 256MiB, save_bytes_per_s: 2MB"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 900));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 50));
  farm.kill_node("writer-0");
  farm.start_node("writer-0");
  farm.stop_with_faults("writer-0");

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("saved") == burst.at("asked"));
  const StoredRun saved(folder_of(farm, 1));
  check_data(saved, true);
  CHECK(saved.ids().size() == burst.at("asked").to_number<std::uint64_t>());
}

// The second one asks for slices from before the supervisor's death.
TEST_CASE(
    "a supervisor that is killed while an alert is saved continues it, and numbers the next one after it") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, farm_with("buffer_bytes: 256MiB, save_bytes_per_s: 8MB"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 600));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 50));
  const std::uint64_t triggered = counter(farm, "supervisor", "triggered");
  farm.kill_node("supervisor");
  farm.start_node("supervisor");
  REQUIRE(wait_for(farm, "triggered", triggered + 300));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.alerts", 2));
  farm.stop_with_faults("supervisor");

  const Summary summary(farm.record(1));
  INFO(summary.imbalance() << farm.logs());
  CHECK(summary.balanced());
  const boost::json::array& bursts = summary.json().at("bursts").as_array();
  REQUIRE(bursts.size() == 2);
  for (int i = 0; i < 2; ++i) {
    const boost::json::value& burst = bursts.at(static_cast<std::size_t>(i));
    CHECK(burst.at("number").to_number<int>() == i + 1);
    CHECK(burst.at("asked").to_number<std::uint64_t>() >= (i == 0 ? 500 : triggered));
    CHECK(burst.at("saved").to_number<std::uint64_t>() >= burst.at("asked").to_number<std::uint64_t>());
    CHECK(burst.at("lost").to_number<std::uint64_t>() == 0);
    const StoredRun saved(folder_of(farm, i + 1));
    check_data(saved);
    // A slice that was in flight and is assigned again may be in the rings of both of its DCMs.
    constexpr std::uint64_t kInFlight = 16;
    const auto records = burst.at("saved").to_number<std::uint64_t>();
    CHECK(saved.ids().size() <= records);
    CHECK(saved.ids().size() + kInFlight >= records);
  }
}

TEST_CASE("kill -9 at random moments of saving leaves whole files, and an account that adds up") {
  const int kills = from_environment("WEIR_SOAK_BURSTS", 4);
  Random random(from_environment("WEIR_SOAK_SEED", 1));
  const std::vector<std::string> mortal = {"writer-0", "dcm-0", "dcm-1"};
  for (int done = 0; done < kills;) {
    const TemporaryFolder folder;
    const std::string disk = ", disk_bytes: 128MiB, folder: '" + (folder / "ring") + "'";
    const bool on_disk = done / 2 % 2 == 1;  // every second farm
    ControlledFarm farm(folder,
                        farm_with((on_disk ? "buffer_bytes: 2MB" + disk : "buffer_bytes: 256MiB") +
                                  ", save_bytes_per_s: 3MB"),
                        kNodes);
    farm.begin_run();
    REQUIRE(wait_for(farm, "triggered", 900));
    farm.must({"burst", "--before", "100", "--after", "100"});
    farm.must({"burst", "--before", "2", "--after", "100"});
    REQUIRE(wait_for(farm, "burst.saved", 1));
    for (int i = 0; i < 2 && done < kills; ++i, ++done) {
      (void)wait_until([] { return false; }, random.between(0.01, 1.5));
      const std::string& node = random.one_of(mortal);
      farm.kill_node(node);
      farm.start_node(node);
    }
    const std::uint64_t saved_before = counter(farm, "supervisor", "burst.saved");
    REQUIRE(wait_for(farm, "burst.saved", saved_before + 100));
    farm.stop_with_faults("was lost");

    const Summary summary(farm.record(1));
    INFO(summary.imbalance());
    CHECK(summary.balanced());
    for (int alert = 1; alert <= 2; ++alert) {
      const boost::json::value& burst = summary.json().at("bursts").at(static_cast<std::size_t>(alert - 1));
      check_account(burst);
      const StoredRun saved(folder_of(farm, alert));
      const DummyCheck data = check_dummy_data(saved);
      CHECK(data.wrong.empty());
      CHECK(data.missing == 0);
      CHECK(saved.ids().size() == data.slices);  // none twice
      CHECK(saved.ids().size() >= burst.at("saved").to_number<std::uint64_t>());
    }
  }
}

TEST_CASE(
    "overwritten slices are too_old, slices beyond the limit no_room, and a farm without a saver refuses") {
  const TemporaryFolder folder;
  const ControlledFarm farm(folder, farm_with("buffer_bytes: 4MB, frozen_share: 0.3"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 1200));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 1));
  farm.stop_good();
  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("too_old").to_number<std::uint64_t>() > 0);
  CHECK(burst.at("no_room").to_number<std::uint64_t>() > 0);
  check_data(StoredRun(folder_of(farm, 1)));

  const TemporaryFolder without;
  const ControlledFarm plain(without, farm_with("buffer_bytes: 0"), kNodes);
  plain.make_ready();
  const CommandEnd refused = plain.ctl({"burst", "--before", "40", "--after", "-20"});
  CHECK(refused.status == 1);
  CHECK(refused.err.find("burst.buffer_bytes is 0") != std::string::npos);
}

TEST_CASE("a ring on disk saves what memory has lost, and leaves nothing on disk after kill -9") {
  const TemporaryFolder folder;
  const std::string ring = folder / "ring";
  ControlledFarm farm(
      folder,
      farm_with("buffer_bytes: 2MB, disk_bytes: 128MiB, save_bytes_per_s: 8MB, folder: '" + ring + "'"),
      kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 1200));  // 20 MB, of which each DCM's memory holds 2
  farm.must({"burst", "--before", "100", "--after", "1"});
  REQUIRE(wait_for(farm, "burst.alerts", 1));
  REQUIRE(wait_for(farm, "burst.saved", 100));
  farm.stop_good();

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("saved") == burst.at("asked"));
  const StoredRun saved(folder_of(farm, 1));
  check_data(saved);
  const std::set<std::uint64_t> ids = saved.ids();
  CHECK(ids.size() >= 1200);
  CHECK(*ids.begin() == 0);
  CHECK(*ids.rbegin() + 1 == ids.size());
  farm.kill_node("dcm-0");
  CHECK(std::filesystem::is_empty(ring));  // the files have no names: the system frees them
}

TEST_CASE("a DCM with a ring on disk that is killed while it saves loses only its own part") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder,
                      farm_with("buffer_bytes: 1MB, disk_bytes: 64MiB, save_bytes_per_s: 1MB, folder: '" +
                                (folder / "ring") + "'"),
                      kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 900));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 50));
  farm.kill_node("dcm-0");
  farm.start_node("dcm-0");
  REQUIRE(wait_for(farm, "burst.saved", 200));
  farm.stop_with_faults("dcm-0");

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("lost").to_number<std::uint64_t>() > 0);
  CHECK(burst.at("too_old").to_number<std::uint64_t>() == 0);
  const StoredRun saved(folder_of(farm, 1));
  check_data(saved);
  CHECK(saved.ids().size() >= burst.at("saved").to_number<std::uint64_t>());
}

TEST_CASE("a full disk costs the ring its part, with its reason, and the run nothing") {
  const TemporaryFolder folder;
  const weir::test::SmallDisk disk(folder / "ring", 16);
  if (!disk.mounted()) return;
  disk.fill_up();  // after the farm was checked, as another program does
  ControlledFarm farm(
      folder, farm_with("buffer_bytes: 1MB, disk_bytes: 6MiB, folder: '" + (folder / "ring") + "'"), kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 900));
  farm.must({"burst", "--before", "100", "--after", "0"});
  REQUIRE(wait_for(farm, "burst.saved", 20));
  CHECK(farm.ctl({"status"}).out.find("warning: burst ring: dcm-") != std::string::npos);
  disk.make_room();
  REQUIRE(
      wait_until([&] { return counter(farm, "dcm-0", "burst.disk_bytes_written") > 1'000'000; }, kPatience));
  farm.stop_with_faults("not taken or not returned by the rings' disks");

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  CHECK(summary.count("vetoed") == 0);
  CHECK(summary.count("rejected") + summary.count("stored") == summary.count("triggered"));
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  check_account(burst);
  CHECK(burst.at("disk_failed").to_number<std::uint64_t>() > 0);
  CHECK(burst.at("saved").to_number<std::uint64_t>() > 0);
  check_data(StoredRun(folder_of(farm, 1)));
  CHECK(farm.logs().find("burst ring has only its memory until the disk works") != std::string::npos);
}

TEST_CASE("an alert by HTTP needs the operator's token, and is saved and shown like one from a terminal") {
  const TemporaryFolder folder;
  ControlledFarm farm(folder, farm_with("buffer_bytes: 64MiB"), kNodes, ", page: '127.0.0.1:0'");
  const std::string said = farm.run_control().out();
  const std::size_t at = said.find("http://");
  REQUIRE(at != said.npos);
  const std::string url = said.substr(at, said.find('/', at + 7) - at) + "/api/burst";
  std::string token;
  std::ifstream(farm.out() + "/page-token") >> token;
  const std::string alert = R"({"before_s": 100, "after_s": 0, "reason": "GCN 1234"})";

  CHECK(weir::http::post(url, alert, token).value().status == 409);  // no run
  farm.begin_run();
  REQUIRE(wait_for(farm, "triggered", 300));
  CHECK(weir::http::post(url, alert, "not-the-token").value().status == 401);
  CHECK(weir::http::post(url, "{\"before\": 1}", token).value().status == 400);
  CHECK(weir::http::post(url, alert, token).value().status == 202);
  REQUIRE(wait_for(farm, "burst.saved", 200));
  CHECK(farm.ctl({"status"}).out.find("bursts: 1 alert, ") != std::string::npos);
  farm.stop_good();

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  const boost::json::value& burst = summary.json().at("bursts").at(0);
  CHECK(burst.at("reason").as_string() == "GCN 1234");
  CHECK(burst.at("saved") == burst.at("asked"));
}

TEST_CASE("an alert of a filter stores the slices around its own, once, wherever the filter runs") {
  const std::string binary = std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/alerts.so";
  const std::string python = std::string(WEIR_TEST_SOURCE_DIR) + "/plugins/alerts.py";
  const std::vector<std::string> filters{binary, binary + ", isolation: worker", python};
  const std::string& filter = filters[GENERATE(0U, 1U, 2U)];
  CAPTURE(filter);
  if (filter == python && !has_python()) return;
  const TemporaryFolder folder;
  std::string farm_file = farm_with("buffer_bytes: 256MiB");
  const std::string rejecting = "filter: {plugin: prescale, parameters: {n: 1000}}";
  farm_file.replace(farm_file.find(rejecting), rejecting.size(),
                    "filter: {plugin: " + filter + ", parameters: {from: 600}}");
  const ControlledFarm farm(folder, farm_file, kNodes);
  farm.begin_run();
  REQUIRE(wait_for(farm, "burst.saved", 600));
  CHECK(farm.ctl({"status"}).out.find("bursts: 1 alert, ") != std::string::npos);
  farm.stop_good();

  const Summary summary(farm.record(1));
  INFO(summary.imbalance());
  CHECK(summary.balanced());
  CHECK(summary.count("rejected") == summary.count("triggered"));
  const boost::json::array& bursts = summary.json().at("bursts").as_array();
  REQUIRE_FALSE(bursts.empty());
  // One per 10 s, though the filter gave one with each slice.
  CHECK(static_cast<double>(bursts.size()) <= 1 + summary.json().at("duration_s").to_number<double>() / 10);
  check_account(bursts[0]);
  CHECK(bursts[0].at("saved") == bursts[0].at("asked"));
  const std::string reason(bursts[0].at("reason").as_string());
  CHECK(reason.find("filter of dcm-") == 0);
  const std::size_t named = reason.find(": slice ");
  REQUIRE(named != reason.npos);
  const std::uint64_t slice = std::stoull(reason.substr(named + 8));
  CHECK(slice >= 600);
  const StoredRun saved(folder_of(farm, 1));
  check_data(saved);
  const std::set<std::uint64_t> ids = saved.ids();
  CHECK(ids.contains(slice));
  CHECK(ids.contains(slice - 500));
  CHECK(*ids.begin() == 0);
  CHECK(*ids.rbegin() > slice);
}
