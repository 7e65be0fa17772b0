// Runs with random faults in one farm: end record, runs.jsonl, page, `weir ctl` and its exit status have to
// tell the same outcome. WEIR_FAULT_RUNS sets the number of runs, WEIR_SOAK_SEED the faults.
#include "controlled_farm.hpp"
#include "small_disk.hpp"
#include "soak.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>

#include <boost/json.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Catch::Matchers::ContainsSubstring;
using namespace weir::system_test;
using weir::test::SmallDisk;

constexpr std::size_t kDiskMebibytes = 96;
constexpr int kFine = 0;
constexpr int kRefused = 1;
constexpr int kCutShort = 4;

// The table of docs/operating.md.
struct Statuses {
  int record = 0;
  std::set<int> ctl;
};
const std::map<std::string, Statuses> kTable = {
    {"good", {0, {kFine}}},          {"faults", {3, {kStoppedWithFaults, kCutShort}}},
    {"failed", {1, {kRefused}}},     {"unbalanced", {1, {kRefused}}},
    {"no_account", {1, {kRefused}}}, {"never_began", {1, {kRefused}}}};

class Faults {
 public:
  Faults(int seed, int runs) : random_(seed), runs_(static_cast<std::uint32_t>(runs)) {}

  void play() {
    if (!disk_.mounted()) return;
    farm_.must({"init"});
    for (std::uint32_t run = 1; run <= runs_; ++run) play(run);
    for (const auto& [outcome, count] : seen_) std::printf("%zu %s\n", count, outcome.c_str());
    CHECK(seen_.size() > 1);
  }

 private:
  enum class Fault {
    none,
    kill_node,
    stop_node,
    remove,
    remove_last,
    filter,
    disk,
    kill_control,
    reset,
    size
  };

  void play(std::uint32_t run) {
    const auto fault = static_cast<Fault>(random_.below(static_cast<std::size_t>(Fault::size)));
    std::string said = "run " + std::to_string(run) + ": fault " + std::to_string(static_cast<int>(fault));
    const std::string what = fault == Fault::filter ? "throw" : "none";
    farm_.must({"configure", "--set", "run.drain_timeout_s=1", "--set", "filter.parameters.what=" + what,
                "--set", "filter.parameters.every=2"});
    farm_.must({"start"});
    REQUIRE(wait_until([&] { return triggered() > 100; }, Seconds(20)));
    commit(fault);
    const CommandEnd stop = farm_.ctl({"stop"});
    said += ", stop: " + std::to_string(stop.status) + " " + stop.err;
    INFO(said);
    INFO(farm_.events());
    check(run, stop);
    restore();
  }

  void commit(Fault fault) {
    constexpr std::array<const char*, 5> kVictims = {"dcm-0", "dcm-1", "readout-0", "writer-0", "supervisor"};
    const std::string victim = kVictims[random_.below(kVictims.size())];
    const std::string removable = kVictims[random_.below(3)];
    const auto pause = std::chrono::milliseconds(random_.below(1000));
    switch (fault) {
      case Fault::kill_node:
        farm_.kill_node(victim);
        std::this_thread::sleep_for(pause);
        farm_.start_node(victim, "signal 9 (Killed)");
        REQUIRE(wait_until([&] { return farm_.state_of(victim) == "running"; }, Seconds(30)));
        break;
      case Fault::stop_node:
        farm_.node(victim).send_signal(SIGSTOP);
        std::this_thread::sleep_for(pause);
        farm_.node(victim).send_signal(SIGCONT);
        break;
      case Fault::remove:
        farm_.must({"remove", removable});
        if (random_.below(2) == 0) farm_.must({"add", removable});
        break;
      case Fault::remove_last:
        farm_.must({"remove", "--last", "writer-0"});
        break;
      case Fault::disk:
        disk_.fill_up();
        REQUIRE(wait_until([&] { return worst().find("blocked") != std::string::npos; }, Seconds(30)));
        if (random_.below(2) == 0) disk_.make_room();
        break;
      case Fault::kill_control:
        farm_.kill_run_control();
        farm_.start_run_control();
        REQUIRE(wait_until([&] { return farm_.state_of("supervisor") == "running"; }, Seconds(30)));
        break;
      case Fault::reset:
        farm_.must({"reset"});
        break;
      default:
        break;
    }
  }

  void check(std::uint32_t run, const CommandEnd& stop) {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "run-%06u-end.json", run);
    const std::string path = folder_ / (std::string("control/") + name.data());
    REQUIRE(wait_until([&] { return std::filesystem::exists(path); }, Seconds(10)));
    const boost::json::value record = boost::json::parse(read_file(path));
    const std::string outcome(record.at("outcome").as_string());
    INFO(outcome);
    REQUIRE(kTable.contains(outcome));
    ++seen_[outcome];
    CHECK(record.at("exit_status").to_number<int>() == kTable.at(outcome).record);
    CHECK(line_of(run) == outcome);
    CHECK(kTable.at(outcome).ctl.contains(stop.status));
    if (outcome == "good") CHECK(record.at("faults").as_array().empty());
    const boost::json::value view = farm_.status();
    CHECK(outcome_in(view.at("runs"), "run", run) == outcome);
    std::string shown;
    // The page is a second behind at most.
    const bool same = wait_until(
        [&] {
          const auto got = weir::http::get("http://" + page() + "/api/runs");
          if (!got) return false;
          shown = outcome_in(boost::json::parse(got->body).at("runs"), "number", run);
          return shown == outcome;
        },
        Seconds(5));
    INFO(shown);
    CHECK(same);
    if (outcome == "faults") {
      const std::string first(record.at("faults").at(0).as_string());
      CHECK_THAT(stop.err, ContainsSubstring(first));
      CHECK_THAT(boost::json::serialize(view.at("health")),
                 ContainsSubstring("run " + std::to_string(run) + " "));
    }
  }

  void restore() {
    disk_.make_room();
    for (const char* name : {"dcm-0", "dcm-1", "readout-0", "writer-0"}) (void)farm_.ctl({"add", name});
    if (farm_.state() == "ready") return;
    farm_.must({"reset"});
    farm_.must({"init"});
  }

  [[nodiscard]] std::uint64_t triggered() const {
    const boost::json::value view = farm_.status();
    for (const auto& node : view.at("nodes").as_array()) {
      if (node.at("role").as_string() != "supervisor") continue;
      const boost::json::object& counters = node.at("report").at("counters").as_object();
      const auto found = counters.find("triggered");
      if (found != counters.end()) return std::stoull(std::string(found->value().as_string()));
    }
    return 0;
  }
  [[nodiscard]] std::string worst() const {
    const boost::json::value view = farm_.status();
    const boost::json::object& one = view.at("health").at(0).as_object();
    return std::string(one.at("word").as_string()) + ": " + std::string(one.at("reason").as_string());
  }
  [[nodiscard]] std::string line_of(std::uint32_t run) const {
    std::ifstream file(folder_ / "control/runs.jsonl");
    std::string outcome = "no line";
    for (std::string line; std::getline(file, line);) {
      const boost::json::value one = boost::json::parse(line);
      if (one.at("run").to_number<std::uint32_t>() == run) outcome = one.at("outcome").as_string();
    }
    return outcome;
  }
  static std::string outcome_in(const boost::json::value& runs, const char* key, std::uint32_t run) {
    for (const auto& one : runs.as_array()) {
      if (one.at(key).to_number<std::uint32_t>() == run) return std::string(one.at("outcome").as_string());
    }
    return "not there";
  }
  [[nodiscard]] std::string page() {
    const std::string said = farm_.run_control().out();
    const std::size_t at = said.find("page http://") + std::string("page http://").size();
    return said.substr(at, said.find('/', at) - at);
  }

  Random random_;
  std::uint32_t runs_;
  TemporaryFolder folder_;
  SmallDisk disk_{folder_ / "run", kDiskMebibytes};
  std::map<std::string, std::size_t> seen_;
  ControlledFarm farm_{folder_,
                       "farm: random-faults\n"
                       "trigger: {mode: rate, rate_hz: 200}\n"
                       "source: {kind: dummy, distribution: fixed, size_bytes: 5000}\n"
                       "readout: {count: 2, sources_per_readout: 2}\n"
                       "dcm: {count: 2}\n"
                       "filter: {plugin: '" WEIR_SYSTEM_PLUGIN_DIR
                       "/unruly.so', isolation: in-process}\n"
                       "supervisor: {status_interval_ms: 100}\n"
                       "writer: {count: 1, sync_interval_ms: 20}\n",
                       {"supervisor", "readout-0", "readout-1", "dcm-0", "dcm-1", "writer-0"},
                       ", page: '127.0.0.1:0', stop_s: 30, out: " + (folder_ / "control")};
};

}  // namespace

TEST_CASE("record, history, page and ctl tell one outcome of runs with random faults") {
  Faults(from_environment("WEIR_SOAK_SEED", 1), from_environment("WEIR_FAULT_RUNS", 8)).play();
}
