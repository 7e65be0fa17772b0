// Farms in two planes of weir-switch, which die and come back, with all other features of a farm: filters of
// several steps, in workers, in Python and batches, groups that forward and fetch, alerts, runs in a row.
// Decisions, histograms and stored bytes are those of `weir filter try`. Needs root. Of farms with random
// features and faults, [random], WEIR_SOAK_SWITCHED is the number (1) and WEIR_SOAK_SEED the first seed.
#include "switched_planes.hpp"

#include "needs_root.hpp"
#include "own_space.hpp"
#include "python_here.hpp"
#include "soak.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kPlaneA = 0;
constexpr std::size_t kPlaneB = 1;
constexpr std::uint64_t kMoreSlices = 60;

const std::string kSourceGroups =
    "  groups:\n"
    "    - {name: first, ranges: ['1-2']}\n"
    "    - {name: second, ranges: ['3-5']}\n"
    "    - {name: third, ranges: ['6-8']}\n";
const std::string kDataOfSources =
    "trigger: {mode: rate, rate_hz: 150}\n"
    "source:\n  distribution: uniform\n  size_bytes_min: 0\n  size_bytes_max: 3000\n" +
    kSourceGroups;
// No deadline ends while a DCM moves.
const std::string kPatientDcm = ", deadline_ms: 30000, grace_ms: 30000";

std::string pairs_plugin() { return WEIR_SYSTEM_PLUGIN_DIR "/pairs.so"; }
std::string python_pairs() { return std::string(WEIR_TEST_SOURCE_DIR) + "/plugins/pairs.py"; }

// A section `filter`: of three steps, the second of which has its fragments prefetched. It accepts the slices
// that it refuses, too, with a result of one byte, so that the run is its own recording.
std::string filter_section(const std::string& plugin, const std::string& isolation,
                           const std::string& parameters) {
  return "{plugin: '" + plugin + "', timeout_ms: 25000, isolation: " + isolation +
         ", workers: {count: 2, spare: 1, start_timeout_ms: 25000}, steps: [{prefetch: [second]}, {}], "
         "parameters: {steps: '3', " +
         parameters + "}}";
}

struct FilterTry {
  std::set<std::uint64_t> accepted;
  std::set<std::uint64_t> refused;
  json::value histograms;
};

// Decides over the stored slices of a run.
FilterTry try_filter(const TemporaryFolder& folder, ControlledFarm& farm, const std::string& plugin,
                     int run) {
  const CommandEnd end = run_command(folder, "weir",
                                     {"filter", "try", plugin, farm.out(), "--run", std::to_string(run),
                                      "--list", "--json", "--farm", farm.farm_file(), "--set", "steps=3",
                                      "--set", "keep=false", "--set", "alerts_at=", "--set", "dies_in="});
  INFO(end.err);
  REQUIRE(end.status == 0);
  FilterTry tried;
  std::istringstream lines(end.out);
  for (std::string line; std::getline(lines, line);) {
    const json::object object = json::parse(line).as_object();
    if (const json::value* slice = object.if_contains("slice")) {
      const std::uint64_t id = std::stoull(slice->as_string().c_str());
      (object.at("verdict").as_string() == "accept" ? tried.accepted : tried.refused).insert(id);
    } else {
      tried.histograms = object.at("booked_histograms");
    }
  }
  return tried;
}

// The slices in a run's files.
struct KeptRun {
  std::set<std::uint64_t> accepted;
  std::set<std::uint64_t> refused;
  std::string unfiltered;
};

KeptRun kept_by(const StoredRun& files, int run) {
  KeptRun kept;
  files.for_each_slice([&](const storage::SliceRecordView& slice) {
    if (slice.head().run.value != static_cast<std::uint32_t>(run)) return;
    const std::uint64_t id = slice.head().slice.value;
    (slice.filter_result().size() == 1 ? kept.refused : kept.accepted).insert(id);
    if (slice.head().decision == storage::DecisionKind::filter) return;
    kept.unfiltered += std::to_string(id) + ": " +
                       std::string(reinterpret_cast<const char*>(slice.filter_result().data()),
                                   std::min<std::size_t>(slice.filter_result().size(), 120)) +
                       "\n";
  });
  return kept;
}

// Checks a run that kept all of its slices: each one is stored, with the bytes of its sources and the
// decision of `weir filter try`.
void check_decisions(const TemporaryFolder& folder, ControlledFarm& farm, const std::string& plugin, int run,
                     bool whole_histograms = true) {
  const Summary summary(farm.record(static_cast<std::uint32_t>(run)));
  INFO("run " << run << ": " << json::serialize(summary.json().at("faults")));
  CHECK(summary.imbalance() == "");
  CHECK(summary.balanced());
  CHECK(summary.count_all("discarded") == 0);
  CHECK(summary.count("stored_incomplete") == 0);
  CHECK(json::serialize(summary.json().at("fragments").at("missing")) == "{}");
  CHECK(summary.count("stored") == summary.count("triggered"));
  const StoredRun files(farm.out());
  CHECK(check_dummy_data(files).wrong == "");
  const KeptRun kept = kept_by(files, run);
  CHECK(kept.unfiltered == "");
  CHECK(kept.accepted.size() + kept.refused.size() == summary.count("triggered"));
  const FilterTry tried = try_filter(folder, farm, plugin, run);
  CHECK(tried.accepted.size() > kMoreSlices);
  CHECK(tried.refused.size() > kMoreSlices / 2);
  CHECK(kept.accepted == tried.accepted);
  CHECK(kept.refused == tried.refused);
  std::ostringstream name;
  name << farm.out() << "/run-" << std::setw(6) << std::setfill('0') << run << "-histograms.json";
  const json::value booked = json::parse(read_file(name.str())).at("histograms").at(0);
  if (!whole_histograms) return;
  CHECK(json::serialize(booked.at("contents")) == json::serialize(tried.histograms.at(0).at("contents")));
}

// Returns a counter of a node in this run.
std::uint64_t counter_of(const ControlledFarm& farm, const std::string& node, const char* name) {
  const json::value view = farm.status();
  for (const auto& one : view.at("nodes").as_array()) {
    if (one.at("name").as_string() != node) continue;
    const auto* count = one.at("report").at("counters").as_object().if_contains(name);
    return count == nullptr ? 0 : std::stoull(std::string(count->as_string()));
  }
  return 0;
}

// Kills the switch of the first DCM's plane in the run and brings it back: the DCM moves, and returns.
// `while_away` is true when it may come back.
void move_and_return(
    SwitchedPlanes& planes, const std::string& dcm,
    const std::function<bool()>& while_away = [] { return true; }) {
  REQUIRE(planes.triggers(kMoreSlices));
  planes.kill_switch(kPlaneA);
  REQUIRE(planes.logs(dcm, "plane left from=a to=b"));
  REQUIRE(wait_until(while_away, Seconds(60)));
  REQUIRE(planes.triggers(kMoreSlices));
  planes.start_switch(kPlaneA);
  REQUIRE(planes.logs(dcm, "plane returned to from=b to=a"));
  REQUIRE(planes.triggers(kMoreSlices));
}

// Runs `work` in a namespace of its own.
void in_planes(const std::function<void(const TemporaryFolder&)>& work) {
  const TemporaryFolder folder;
  test::in_thread([&] { work(folder); });
}

const std::vector<SwitchedDcm> kTwoDcms{{"dcm-0", ""}, {"dcm-1", ""}};

}  // namespace

TEST_CASE("a plane's switch dies in a run with steps, prefetches and workers, and changes no decision") {
  NEEDS_ROOT();
  in_planes([](const TemporaryFolder& folder) {
    SwitchedPlanes planes(folder, {kTwoDcms, filter_section(pairs_plugin(), "worker", "keep: 'true'"),
                                   kPatientDcm, kDataOfSources});
    planes.farm().begin_run();
    move_and_return(planes, "dcm-0");
    planes.farm().stop_good();
    check_decisions(folder, planes.farm(), pairs_plugin(), 1);
  });
}

TEST_CASE("Python decides in batches while a plane's switch dies and comes back, as without it") {
  NEEDS_ROOT();
  if (!has_python()) return;
  in_planes([](const TemporaryFolder& folder) {
    SwitchedPlanes planes(
        folder, {kTwoDcms, filter_section(python_pairs(), "worker", "keep: 'true', batches: 'true'"),
                 kPatientDcm, kDataOfSources});
    planes.farm().begin_run();
    move_and_return(planes, "dcm-0");
    planes.farm().stop_good();
    check_decisions(folder, planes.farm(), python_pairs(), 1);
  });
}

// The DCM `near` selects slices, keeps them, and sends them through plane a.
TEST_CASE("slices are forwarded and fetched through a plane, and built from the readouts while it is dead") {
  NEEDS_ROOT();
  in_planes([](const TemporaryFolder& folder) {
    const std::string keep = filter_section(pairs_plugin(), "in-process", "keep: 'true'");
    SwitchedPlanes planes(
        folder, {{{"near", "near"}, {"far-0", "far"}, {"far-1", "far"}},
                 keep,
                 ", deadline_ms: 4000, grace_ms: 30000, groups: [{name: near, forward: [far], filter: " +
                     filter_section(pairs_plugin(), "in-process", "keep: 'true', to: far") +
                     "}, {name: far, fetch: builder}]",
                 kDataOfSources});
    planes.farm().begin_run();
    move_and_return(planes, "near", [&] {
      return counter_of(planes.farm(), "far-0", "fetch.from_readouts") +
                 counter_of(planes.farm(), "far-1", "fetch.from_readouts") >
             0;
    });
    planes.farm().stop_good();
    check_decisions(folder, planes.farm(), pairs_plugin(), 1);
    const Summary summary(planes.farm().record(1));
    CHECK(summary.count("fetch.slices") > kMoreSlices);
    CHECK(summary.count("fetch.from_readouts") > 0);
    CHECK(summary.group("far").count("arrived") == summary.group("near").count("forwarded"));
  });
}

TEST_CASE("alerts of a filter and of an operator are saved whole while DCMs move between planes") {
  NEEDS_ROOT();
  in_planes([](const TemporaryFolder& folder) {
    SwitchedPlanes planes(
        folder,
        {kTwoDcms, filter_section(pairs_plugin(), "worker", "keep: 'true', alerts_at: '40'"), kPatientDcm,
         kDataOfSources + "burst: {buffer_bytes: 64MiB, save_bytes_per_s: 500kB, "
                          "filter_alert_s: 0.2}\n"});
    ControlledFarm& farm = planes.farm();
    farm.begin_run();
    REQUIRE(planes.triggers(kMoreSlices));
    farm.must({"burst", "--before", "100", "--after", "2"});
    planes.kill_switch(kPlaneB);
    REQUIRE(planes.logs("dcm-1", "plane left from=b to=a"));
    REQUIRE(planes.triggers(kMoreSlices));
    planes.start_switch(kPlaneB);
    REQUIRE(planes.logs("dcm-1", "plane returned to from=a to=b"));
    REQUIRE(planes.triggers(kMoreSlices));
    farm.stop_good();
    check_decisions(folder, farm, pairs_plugin(), 1);
    const Summary summary(farm.record(1));
    const json::array& bursts = summary.json().at("bursts").as_array();
    REQUIRE(bursts.size() == 2);
    for (std::size_t i = 0; i < bursts.size(); ++i) {
      INFO(json::serialize(bursts[i]));
      const auto count = [&](const char* key) { return bursts[i].at(key).to_number<std::uint64_t>(); };
      CHECK(count("asked") > 0);
      CHECK(count("saved") == count("asked"));
      const StoredRun saved(farm.out() + "/run-000001-burst-" + std::to_string(i + 1));
      CHECK(saved.problems() == "");
      CHECK(check_dummy_data(saved).wrong == "");
      CHECK(check_dummy_data(saved).missing == 0);
      const std::set<std::uint64_t> ids = saved.ids();
      CHECK(ids.size() == count("saved"));
      CHECK(*ids.rbegin() - *ids.begin() + 1 == ids.size());
      CHECK(ids.contains(40));
    }
  });
}

TEST_CASE("three runs in a row keep the tables of switches that are killed before, between and in them") {
  NEEDS_ROOT();
  in_planes([](const TemporaryFolder& folder) {
    SwitchedPlanes planes(folder, {kTwoDcms, filter_section(pairs_plugin(), "in-process", "keep: 'true'"),
                                   kPatientDcm, kDataOfSources});
    ControlledFarm& farm = planes.farm();
    const auto accounts_of = [&](std::uint32_t run) {
      std::map<std::string, json::value> accounts;
      const json::value record = farm.record(run);
      for (const json::value& one : record.at("switches").as_array())
        accounts[std::string(one.at("name").as_string())] = one;
      CHECK(accounts.size() == 2);
      return accounts;
    };
    const auto count = [](const json::value& account, const char* key) {
      return account.at(key).to_number<std::uint64_t>();
    };
    farm.begin_run();
    REQUIRE(planes.triggers(3 * kMoreSlices));
    farm.stop_good();
    planes.kill_switch(kPlaneA);
    planes.start_switch(kPlaneA);
    planes.kill_switch(kPlaneB);

    farm.must({"start"});
    REQUIRE(planes.logs("dcm-1", "plane left from=b to=a"));
    REQUIRE(planes.triggers(kMoreSlices));
    planes.start_switch(kPlaneB);
    REQUIRE(planes.logs("dcm-1", "plane returned to from=a to=b"));
    REQUIRE(planes.triggers(kMoreSlices));
    farm.stop_good();

    farm.must({"start"});
    REQUIRE(planes.triggers(kMoreSlices));
    for (const std::size_t plane : {kPlaneA, kPlaneB}) planes.write_table(plane, "50mbit");
    farm.must({"switches"});
    REQUIRE(planes.triggers(2 * kMoreSlices));
    farm.stop_good();

    for (int run = 1; run <= 3; ++run) {
      check_decisions(folder, farm, pairs_plugin(), run);
      const auto accounts = accounts_of(static_cast<std::uint32_t>(run));
      for (const auto& [name, account] : accounts) {
        INFO(run << " " << json::serialize(account));
        CHECK(count(account, "received") > kMoreSlices);
        CHECK(account.at("dropped").as_object().empty());
        CHECK(count(account, "restarts") == (run == 2 && name == "plane-b" ? 1 : 0));
        CHECK(count(account, "tables_changed") == (run == 3 ? 1 : 0));
      }
      const json::value record = farm.record(static_cast<std::uint32_t>(run));
      CHECK(record.at("plane_moves").as_array().size() == (run == 2 ? 2 : 0));
    }
  });
}

namespace {

// A farm with features and faults that a seed draws. Its slices are all kept, whatever happens.
class RandomFarm {
 public:
  RandomFarm(const TemporaryFolder& folder, int seed)
      : folder_(folder), random_(seed), settings_(draw(folder)), planes_(folder, settings_) {}

  void play() {
    INFO(said_);
    ControlledFarm& farm = planes_.farm();
    farm.must({"init"});
    farm.must({"configure", "--set", pushes_ ? "run.mode=push" : "run.mode=pull"});
    farm.must({"start"});
    REQUIRE(planes_.triggers(kMoreSlices));
    for (std::size_t faults = 2 + random_.below(4); faults > 0; --faults) {
      disturb();
      INFO(said_);
      REQUIRE(planes_.triggers(30));
    }
    const CommandEnd stop = farm.ctl({"stop"});
    INFO(said_ << stop.err);
    CHECK((stop.status == 0 || stop.status == kStoppedWithFaults));
    check_decisions(folder_, farm, plugin_, 1, !killed_);
  }

 private:
  SwitchedSettings draw(const TemporaryFolder& folder) {
    SwitchedSettings settings{kTwoDcms, {}, kPatientDcm, kDataOfSources};
    std::string parameters = "keep: 'true'";
    const std::size_t filter = random_.below(has_python() ? 5 : 3);
    const bool python = filter >= 3;
    if (filter == 4) parameters += ", batches: 'true'";
    if (filter == 2) {
      fs::create_directories(folder / "deaths");
      parameters += ", dies_every: '100', dies_in: '" + (folder / "deaths") + "'";
      killed_ = true;
    }
    if (random_.below(2) == 0) {
      parameters += ", alerts_at: '40,90'";
      settings.more += "burst: {buffer_bytes: 64MiB, save_bytes_per_s: 500kB, filter_alert_s: 0.2}\n";
      alerts_ = true;
    }
    const std::string plugin = plugin_ = python ? python_pairs() : pairs_plugin();
    const std::string isolation = filter == 0 ? "in-process" : "worker";
    settings.filter = filter_section(plugin, isolation, parameters);
    const std::size_t building = random_.below(4);
    pushes_ = building == 1;
    if (building >= 2) {
      settings.dcms = {{"near", "near"}, {"far-0", "far"}, {"far-1", "far"}};
      settings.dcm = ", deadline_ms: " + std::string(building == 2 ? "30000" : "4000") +
                     ", grace_ms: 30000, groups: [{name: near, forward: [far], filter: " +
                     filter_section(plugin, isolation, parameters + ", to: far") + "}, {name: far" +
                     (building == 3 ? ", fetch: builder" : "") + "}]";
    }
    said_ = "filter " + std::to_string(filter) + ", building " + std::to_string(building) +
            (alerts_ ? ", alerts" : "") + "\n";
    return settings;
  }

  void disturb() {
    ControlledFarm& farm = planes_.farm();
    const std::size_t plane = random_.below(2);
    const Seconds pause = random_.between(0.05, 2.5);
    const std::size_t what = random_.below(8);
    said_ += "fault " + std::to_string(what) + " in plane " + std::to_string(plane) + " for " +
             std::to_string(pause.count()) + " s";
    const auto wait = [&] { (void)wait_until([] { return false; }, pause); };
    switch (what) {
      case 0:
      case 1:
        planes_.kill_switch(plane);
        wait();
        planes_.start_switch(plane);
        break;
      case 2: {
        const std::string& name = settings_.dcms[random_.below(settings_.dcms.size())].name;
        said_ += ": carrier of " + name;
        planes_.set_carrier(name, plane, false);
        wait();
        planes_.set_carrier(name, plane, true);
        break;
      }
      case 3:
        planes_.set_carrier("readout-0", plane, false);
        wait();
        planes_.set_carrier("readout-0", plane, true);
        break;
      case 4:
        planes_.kill_switch(plane);
        kill_node();
        wait();
        planes_.start_switch(plane);
        break;
      case 5:
        kill_node();
        break;
      case 6:
        planes_.write_table(plane, std::to_string(20 + random_.below(100)) + "mbit");
        farm.must({"switches"});
        break;
      default:
        if (alerts_) farm.must({"burst", "--before", "1", "--after", "1"});
        farm.must({"pause"});
        wait();
        farm.must({"continue"});
        break;
    }
    said_ += "\n";
  }

  void kill_node() {
    std::vector<std::string> mortal{"supervisor", "writer-0", "run-control"};
    for (const SwitchedDcm& dcm : settings_.dcms) mortal.push_back(dcm.name);
    const std::string victim = random_.one_of(mortal);
    said_ += ": killed " + victim;
    ControlledFarm& farm = planes_.farm();
    if (victim == "run-control") {
      farm.kill_run_control();
      farm.start_run_control();
      REQUIRE(wait_until([&] { return farm.state_of("supervisor") == "running"; }, Seconds(60)));
      return;
    }
    killed_ = true;
    farm.kill_node(victim);
    planes_.start_node(victim, "signal 9 (Killed)");
    REQUIRE(wait_until([&] { return farm.state_of(victim) == "running"; }, Seconds(60)));
  }

  const TemporaryFolder& folder_;
  Random random_;
  std::string said_;
  std::string plugin_;
  bool alerts_ = false;
  bool pushes_ = false;
  bool killed_ = false;
  SwitchedSettings settings_;
  SwitchedPlanes planes_;
};

}  // namespace

TEST_CASE("whatever fails between planes changes no decision and loses no fragment", "[.][random]") {
  NEEDS_ROOT();
  const int first = from_environment("WEIR_SOAK_SEED", 1);
  for (int seed = first; seed < first + from_environment("WEIR_SOAK_SWITCHED", 1); ++seed) {
    INFO("seed " << seed);
    in_planes([&](const TemporaryFolder& folder) { RandomFarm(folder, seed).play(); });
  }
}
