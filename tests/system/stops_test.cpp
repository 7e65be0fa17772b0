// Tests of `weir ctl stop` and `weir ctl off` in an overloaded farm, or while processes fail: each ends
// within its bound, the run has its entry and its end record, the exit status is the run's, and the next run
// begins.
#include "kept_farm.hpp"
#include "small_disk.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;
namespace json = boost::json;

constexpr double kStopS = 23;   // control.stop_s
constexpr double kOrderS = 4;   // control.order_s: stragglers are reset, twice
constexpr double kSlackS = 20;  // for a busy machine
constexpr double kBoundS = kStopS + 2 * kOrderS + kSlackS;

constexpr int kFine = 0;
constexpr int kCutShort = 4;  // slices in flight were discarded

struct State {
  std::string name;
  std::vector<std::string> sets;
  std::set<int> statuses;  // allowed exit statuses of the stop; 0 allows survived faults, too
  std::function<void(const KeptFarm&, const TemporaryFolder&)> spoil = {};
  std::function<void(const KeptFarm&, const TemporaryFolder&)> mend = {};
  std::size_t disk_mib = 0;  // size of the output folder; 0: the machine's disk
};

// Why a case failed; empty if it passed.
using Complaint = std::string;

std::function<void(const KeptFarm&, const TemporaryFolder&)> signals(const std::string& node, int signal) {
  return [node, signal](const KeptFarm& farm, const TemporaryFolder&) {
    if (const pid_t pid = farm.pid_of(node); pid != 0) ::kill(pid, signal);
  };
}

void lay_file(const KeptFarm&, const TemporaryFolder& folder) { std::ofstream(folder / "dwell") << "\n"; }
void remove_file(const KeptFarm&, const TemporaryFolder& folder) {
  std::filesystem::remove(folder / "dwell");
}

std::vector<std::string> slow_filter() {
  return {"filter.plugin=busy", "filter.parameters.microseconds=0", "filter.parameters.asleep=200000",
          "dcm.credits=8"};
}

bool is_triggering(const KeptFarm& farm, std::uint64_t triggers) {
  const json::value view = farm.status();
  for (const auto& node : view.at("nodes").as_array()) {
    if (node.at("role").as_string() != "supervisor") continue;
    const auto& report = node.at("report");
    if (report.is_null() || !report.at("counters").as_object().contains("offered")) return false;
    return std::stoull(std::string(report.at("counters").at("offered").as_string())) >= triggers;
  }
  return false;
}

std::optional<json::value> entry_of(const std::string& out, int run) {
  std::optional<json::value> last;
  std::ifstream file(out + "/runs.jsonl");
  for (std::string line; std::getline(file, line);) {
    json::value one = json::parse(line);
    if (one.at("run").to_number<int>() == run) last = std::move(one);
  }
  return last;
}

Complaint complaint_of_run(const std::string& out, int run) {
  const auto entry = entry_of(out, run);
  if (!entry) return "no entry of run " + std::to_string(run) + " in runs.jsonl";
  const std::string how(entry->at("outcome").as_string());
  if (how != "good" && how != "faults") return "outcome " + json::serialize(*entry);
  if (!std::filesystem::exists(out + "/run-00000" + std::to_string(run) + "-end.json"))
    return "no end record of run " + std::to_string(run);
  return {};
}

class Play {
 public:
  Play(const State& state, bool off) : state_(state), off_(off) {}

  Complaint run() {
    const std::string out = folder_ / "out";
    std::optional<test::SmallDisk> disk;
    if (state_.disk_mib > 0) {
      disk.emplace(out, state_.disk_mib);
      if (!disk->mounted()) return {};
      disk->fill(state_.disk_mib - 4);
    }
    std::vector<std::string> sets{"control.stop_s=" + std::to_string(kStopS),
                                  "control.order_s=" + std::to_string(kOrderS),
                                  "control.heartbeat_ms=200",
                                  "control.silence_ms=1500",
                                  "control.return_s=10",
                                  "run.drain_timeout_s=2",
                                  "supervisor.in_flight_max=300",
                                  "dcm.deadline_ms=500",
                                  "supervisor.status_interval_ms=100"};
    sets.insert(sets.end(), state_.sets.begin(), state_.sets.end());
    for (std::string& one : sets) {
      if (const std::size_t at = one.find("FOLDER"); at != one.npos)
        one.replace(at, 6, folder_.path().string());
    }
    KeptFarm farm(folder_, sets);
    for (const char* word : {"init", "configure", "start"}) farm.must({word});
    if (!wait_until([&] { return is_triggering(farm, 700); }, Seconds(60))) return "no triggers";
    if (state_.spoil) state_.spoil(farm, folder_);
    const Complaint stopped = stop(farm, out);
    return stopped.empty() ? next_run(farm, disk ? &*disk : nullptr) : stopped;
  }

 private:
  Complaint stop(KeptFarm& farm, const std::string& out) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const CommandEnd end = farm.ctl({off_ ? "off" : "stop"});
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    told_ =
        " (status " + std::to_string(end.status) + " after " + std::to_string(seconds) + " s)\n" + end.err;
    const int status = end.status == kStoppedWithFaults ? kFine : end.status;
    if (!state_.statuses.contains(status)) return "wrong status" + told_;
    if (seconds > kBoundS + (off_ ? kSlackS : 0)) return "too late" + told_;
    const Complaint of_run = complaint_of_run(out, 1);
    return of_run.empty() ? of_run : of_run + told_;
  }

  // Starts the next run immediately, in the same farm or, when that is off, in a new one at the same place.
  Complaint next_run(KeptFarm& farm, const test::SmallDisk* disk) {
    if (state_.mend) state_.mend(farm, folder_);
    if (disk != nullptr) disk->make_room();
    if (off_) {
      const auto status = farm.process().wait(Seconds(60));
      if (!status || *status != 0) return "weir up ended with " + std::to_string(status.value_or(-1)) + told_;
      if (!processes_naming(folder_.path().string()).empty()) return "processes are left" + told_;
      farm.start();
      for (const char* word : {"init", "configure"}) farm.must({word});
    } else if (farm.status().at("state").as_string() == "error") {
      for (const char* word : {"reset", "init", "configure"}) farm.must({word});
    }
    const CommandEnd start = farm.ctl({"start"});
    if (start.status != 0) return "the next run does not begin: " + start.err + told_;
    const CommandEnd end = farm.ctl({"stop"});
    const bool survived = end.status == kStoppedWithFaults || end.status == kCutShort;
    if (end.status != kFine && !survived) return "the next run ends badly: " + end.err + told_;
    (void)farm.ctl({"off"});
    return {};
  }

  const State& state_;
  bool off_;
  TemporaryFolder folder_;
  std::string told_;
};

// Several farms at a time: most of the time is spent in waiting. A small disk is seen by one thread alone.
void play_all(const std::vector<State>& states, const std::vector<bool>& offs) {
  std::vector<std::pair<std::string, std::future<Complaint>>> plays;
  for (const State& state : states) {
    for (const bool off : offs) {
      plays.emplace_back(state.name + (off ? ", off" : ", stop"),
                         std::async(std::launch::async, [&state, off] {
                           try {
                             return Play(state, off).run();
                           } catch (const std::exception& error) {
                             return Complaint(error.what());
                           }
                         }));
    }
  }
  for (auto& [name, play] : plays) {
    const Complaint complaint = play.get();
    INFO(name);
    CHECK(complaint == "");
  }
}

}  // namespace

TEST_CASE("a stop under overload ends in time with an account, and discards the rest by name") {
  const std::vector<State> states{
      {"a slow filter", slow_filter(), {kCutShort}},
      {"a filter that hangs",
       {"filter.plugin=" WEIR_SYSTEM_PLUGIN_DIR "/dwells.so", "filter.parameters.while=FOLDER/dwell",
        "filter.parameters.seconds=600"},
       {kCutShort},
       lay_file,
       remove_file},
  };
  play_all(states, {false, true});
}

TEST_CASE("a stop on a full disk ends in time with an account, and the next run begins when there is room") {
  play_all({{"a full disk", {}, {kCutShort}, {}, {}, 40}}, {false, true});
}

TEST_CASE("a stop with a frozen process ends in time with an account") {
  std::vector<State> states;
  for (const char* node : {"readout-1", "dcm-0", "writer-0"})
    states.push_back({std::string(node) + " frozen",
                      {},
                      {kFine, kCutShort},
                      signals(node, SIGSTOP),
                      signals(node, SIGCONT)});
  play_all(states, {false, true});
}

TEST_CASE("a stop while a process dies ends in time with an account") {
  std::vector<State> states;
  for (const char* node : {"supervisor", "readout-1", "dcm-0", "writer-0"})
    states.push_back({std::string(node) + " killed", {}, {kFine, kCutShort}, signals(node, SIGKILL)});
  states.push_back({"a slow filter, dcm-0 killed", slow_filter(), {kCutShort}, signals("dcm-0", SIGKILL)});
  states.push_back(
      {"a slow filter, supervisor killed", slow_filter(), {kCutShort}, signals("supervisor", SIGKILL)});
  play_all(states, {false});
}

TEST_CASE("off while a process dies ends in time with an account") {
  std::vector<State> states;
  for (const char* node : {"supervisor", "dcm-0"})
    states.push_back({std::string(node) + " killed", {}, {kFine, kCutShort}, signals(node, SIGKILL)});
  play_all(states, {true});
}

namespace {

// Seconds from the signal to the end of `weir run`.
double seconds_to_end(FarmRun& run, FarmEnd& end) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  run.process().send_signal(SIGINT);
  end = run.finish(Seconds(3 * kBoundS));
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::string> of_a_run(const std::vector<std::string>& more) {
  std::vector<std::string> all{"control.stop_s=" + std::to_string(kStopS),
                               "control.order_s=" + std::to_string(kOrderS),
                               "run.drain_timeout_s=2",
                               "trigger.mode=rate",
                               "trigger.rate_hz=500",
                               "readout.count=2"};
  all.insert(all.end(), more.begin(), more.end());
  return sets(all);
}

}  // namespace

TEST_CASE("a run under overload ends in time after SIGINT with an account, and discards the rest by name") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), of_a_run(slow_filter()));
  REQUIRE(run.wait_for_data(200'000));  // 20 slices, 2 s: some 1,000 are triggered
  FarmEnd end;
  CHECK(seconds_to_end(run, end) < kBoundS);
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("discarded.drain_timeout") > 0);
}

TEST_CASE(
    "a supervisor freezes as its run begins: after SIGINT it ends in time, with a reason or an account") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), of_a_run({}));
  REQUIRE(run.wait_for_data(1000));
  REQUIRE(run.send_signal("supervisor", SIGSTOP));
  FarmEnd end;
  CHECK(seconds_to_end(run, end) < kBoundS);
  INFO(describe(end));
  // Run control ends the supervisor for a successor only if it had heard in time that the run began.
  if (end.status == 1) {
    CHECK_THAT(end.err, Catch::Matchers::ContainsSubstring("weir run: stopped before the run began: SIGINT"));
  } else {
    CHECK_BALANCED(end, 3);
    CHECK_THAT(end.out, Catch::Matchers::ContainsSubstring("supervisor ended with signal 9 (Killed)"));
  }
  CHECK(run.processes() == 0);
}

TEST_CASE(
    "run control ends a supervisor that freezes before a stop, and its successor accounts for the run") {
  const State state{"supervisor frozen", {}, {kFine, kCutShort}, signals("supervisor", SIGSTOP)};
  play_all({state}, {false, true});
}
