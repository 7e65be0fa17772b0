// Tests of the health messages of real farms in emergencies: `weir ctl status`, the page and `weir top` use
// the same words.
#include "controlled_farm.hpp"
#include "small_disk.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using Catch::Matchers::ContainsSubstring;
using namespace weir::system_test;
using weir::test::SmallDisk;

const std::vector<std::string> kNodes = {"supervisor", "readout-0", "readout-1",
                                         "dcm-0",      "dcm-1",     "writer-0"};

struct Farm {
  // `control`: further keys of `control`, as ", return_s: 6".
  explicit Farm(std::size_t disk_mebibytes = 0, const std::string& more = {}, const std::string& control = {})
      : small(disk_mebibytes == 0 ? nullptr : std::make_unique<SmallDisk>(folder / "run", disk_mebibytes)),
        farm(folder,
             "farm: emergencies\n"
             "trigger: {mode: rate, rate_hz: 100}\n"
             "source: {kind: dummy, distribution: fixed, size_bytes: 20000}\n"
             "readout: {count: 2, sources_per_readout: 2}\n"
             "dcm: {count: 2}\n"
             "supervisor: {status_interval_ms: 200}\n"
             "writer: {count: 1, sync_interval_ms: 20}\n" +
                 more,
             kNodes, ", page: '127.0.0.1:0', out: " + (folder / "control") + control) {}

  // Returns the farm's worst health message, as "error: no DCM: no slice is built: …", or "good".
  [[nodiscard]] std::string worst() const {
    const boost::json::value view = farm.status();
    const boost::json::object& one = view.at("health").at(0).as_object();
    return std::string(one.at("gravity").as_string()) + ": " + std::string(one.at("word").as_string()) +
           ": " + std::string(one.at("reason").as_string());
  }
  [[nodiscard]] bool says(const std::string& beginning) const {
    return wait_until([&] { return worst().starts_with(beginning); }, Seconds(30));
  }
  // True once a finding with this word is among the health messages.
  [[nodiscard]] bool lists(const std::string& word) const {
    return wait_until(
        [&] {
          const boost::json::value view = farm.status();
          for (const boost::json::value& one : view.at("health").as_array()) {
            if (one.at("word").as_string() == word) return true;
          }
          return false;
        },
        Seconds(30));
  }
  [[nodiscard]] boost::json::value record() const {
    return boost::json::parse(read_file(folder / "control/run-000001-end.json"));
  }
  // Host and port of the page, as run control printed them.
  [[nodiscard]] std::string page() {
    const std::string said = farm.run_control().out();
    const std::size_t at = said.find("page http://") + std::string("page http://").size();
    return said.substr(at, said.find('/', at) - at);
  }

  TemporaryFolder folder;
  std::unique_ptr<SmallDisk> small;  // run.out on a small disk; null: any disk
  ControlledFarm farm;
};

std::string unruly(const std::string& what, int every, const std::string& isolation) {
  return "filter: {plugin: '" + std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/unruly.so', isolation: " + isolation +
         ", parameters: {what: " + what + ", every: " + std::to_string(every) + "}}\n";
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("a filter that crashes its workers over 5 % of the slices leads, with signal and share") {
  Farm one(0, unruly("crash", 20, "worker"));
  one.farm.begin_run();
  REQUIRE(one.says("error: filter workers crash: dcm-"));
  const std::string worst = one.worst();
  INFO(worst);
  CHECK_THAT(worst, ContainsSubstring("signal 11") && ContainsSubstring("went unfiltered ("));
  one.farm.stop_with_faults("the filter failed for ");
  REQUIRE(one.says("warning: run 1 had faults: "));
  CHECK_THAT(one.worst(), ContainsSubstring("the filter failed for "));
  // One line per cause and interval, not two per slice.
  CHECK(lines_with(one.farm.logs(), "poison slice=") <= 8);
  CHECK(lines_with(one.farm.logs(), "filter worker ended slice=") <= 8);
}

TEST_CASE("a filter that throws over half of the slices leads, with share and text") {
  Farm one(0, unruly("throw", 2, "in-process"));
  one.farm.begin_run();
  REQUIRE(one.says("error: filter fails: "));
  CHECK_THAT(one.worst(), ContainsSubstring(" % of the slices of the last 10 s went unfiltered (") &&
                              ContainsSubstring("dcm-"));
  one.farm.stop_with_faults("the filter failed for ");
  CHECK(lines_with(one.farm.logs(), "filter error slice=") <= 8);
}

TEST_CASE(
    "the only writer and all readouts are missing once they are removed, and slices without any are "
    "incomplete") {
  Farm one;
  one.farm.begin_run();
  one.farm.must({"remove", "--last", "writer-0"});
  REQUIRE(one.says("error: no writer: no accepted slice is stored: writer-0 (removed "));
  CHECK_THAT(one.worst(), ContainsSubstring(" (removed by ") && ContainsSubstring(", pid ") &&
                              ContainsSubstring(": weir ctl add writer-0"));
  one.farm.must({"add", "writer-0"});
  REQUIRE(one.says("good: running: "));
  one.farm.must({"remove", "--last", "readout-0", "readout-1"});
  REQUIRE(one.says("error: no readout: no slice has any fragment: readout-0 (removed "));
  CHECK_THAT(one.worst(), ContainsSubstring("weir ctl add readout-0 readout-1"));
  // Some of the next 100 slices at least are triggered without readouts.
  const auto triggered = [&] {
    const std::string text = one.farm.ctl({"status"}).out;
    const std::size_t at = text.find(" triggered");
    return at == std::string::npos ? 0 : std::stoi(text.substr(text.rfind(' ', at - 1) + 1));
  };
  const int before = triggered();
  REQUIRE(wait_until([&] { return triggered() > before + 100; }, Seconds(30)));
  one.farm.stop_with_faults("no readout was left at the end: readout-0 removed by ");
  CHECK_THAT(boost::json::serialize(one.record()), ContainsSubstring("every readout was removed"));
  CHECK(one.record().at("stored_incomplete").to_number<int>() > 0);
}

TEST_CASE("a DCM that dies again and again leads with its signal, in the events and the record too") {
  Farm one;
  one.farm.begin_run();
  for (int i = 0; i < 3; ++i) {
    one.farm.kill_node("dcm-0");
    one.farm.start_node("dcm-0", "signal 11 (Segmentation fault)");
    const std::string death = "(death " + std::to_string(i + 1) + " of this process)";
    const bool back = wait_until(
        [&] {
          return one.farm.events().find(death) != std::string::npos &&
                 one.farm.state_of("dcm-0") == "running";
        },
        Seconds(30));
    REQUIRE(back);
  }
  REQUIRE(one.says("error: dcm-0 dies again and again: 3 times in this run, the last time "));
  CHECK_THAT(one.worst(), ContainsSubstring("by signal 11 (Segmentation fault): its log has the reason"));
  CHECK_THAT(one.farm.events(),
             ContainsSubstring("dcm-0 died in the run: signal 11 (Segmentation fault) (death 3"));
  one.farm.stop_with_faults("dcm-0");
  CHECK_THAT(boost::json::serialize(one.record()),
             ContainsSubstring("dcm-0 died in the run: signal 11 (Segmentation fault)"));
}

TEST_CASE("after a crash of its filter a DCM reports signal and slice itself, without word of its starter") {
  // As in a unit of systemd.
  const TemporaryFolder state;
  ::setenv("STATE_DIRECTORY", state.path().c_str(), 1);
  Farm one(0, unruly("crash", 50, "in-process"));
  one.farm.make_ready();
  one.farm.must({"remove", "dcm-1"});
  one.farm.must({"start"});
  const bool leads = wait_until(
      [&] {
        // As systemd does, without a report.
        if (one.farm.node("dcm-0").wait(Seconds(0))) one.farm.start_node("dcm-0");
        return one.worst().starts_with("error: dcm-0 dies again and again: ");
      },
      Seconds(40));
  REQUIRE(leads);
  CHECK_THAT(one.worst(), ContainsSubstring("by signal 11 (Segmentation fault) at slice "));
  CHECK_THAT(one.farm.events(),
             ContainsSubstring("dcm-0 died in the run: signal 11 (Segmentation fault) at slice "));
  CHECK_THAT(one.farm.run_control().err(), ContainsSubstring("at slice "));
  ::unsetenv("STATE_DIRECTORY");
  one.farm.must({"reset"});
}

TEST_CASE("a group without its only DCM is red, with the slices that wait and their limit") {
  const TemporaryFolder folder;
  const ControlledFarm farm(
      folder,
      "farm: groups\n"
      "trigger: {mode: rate, rate_hz: 200}\n"
      "source: {kind: dummy, distribution: fixed, size_bytes: 1000}\n"
      "readout: {count: 2, sources_per_readout: 4}\n"
      "dcm:\n"
      "  nodes:\n"
      "    - {name: near, group: near}\n"
      "    - {name: far, group: far}\n"
      "  groups:\n"
      "    - {name: near, forward: [far], filter: {plugin: sequential, parameters: {steps: 1, "
      "sources_per_step: 4, reject: 0, forward: far}}}\n"
      "    - {name: far, pending_max: 100}\n"
      "supervisor: {status_interval_ms: 200}\n"
      "writer: {count: 1}\n",
      {"supervisor", "readout-0", "readout-1", "dcm:near", "dcm:far", "writer-0"});
  farm.begin_run();
  farm.must({"remove", "--last", "far"});
  std::string worst;
  const bool said = wait_until(
      [&] {
        const boost::json::value view = farm.status();
        const boost::json::object& one = view.at("health").at(0).as_object();
        worst = std::string(one.at("gravity").as_string()) + ": " + std::string(one.at("word").as_string()) +
                ": " + std::string(one.at("reason").as_string());
        return worst.starts_with("error: no DCM of group far: no slice of the group is built: ") &&
               worst.find(" wait, at most 100; far (removed ") != std::string::npos;
      },
      Seconds(30));
  INFO(worst);
  CHECK(said);
  farm.must({"add", "far"});
}

TEST_CASE("dead DCMs are the worst finding, in the same words everywhere, and over when they return") {
  Farm one;
  one.farm.begin_run();
  REQUIRE(one.says("good: running: "));
  one.farm.kill_node("dcm-0");
  REQUIRE(one.says("warning: DCM lost: dcm-0"));
  one.farm.kill_node("dcm-1");
  REQUIRE(one.says("error: no DCM: no slice is built: dcm-0 (not heard)"));
  CHECK_THAT(one.farm.ctl({"status"}).out, ContainsSubstring("\n  error: no DCM: no slice is built: dcm-0"));
  // The page is a second behind at most.
  std::string top;
  const bool shown = wait_until(
      [&] {
        top = run_command(one.folder, "weir", {"top", "--once", one.page()}).out;
        return top.find("\n  error: no DCM: no slice is built: dcm-0") != std::string::npos;
      },
      Seconds(20));
  INFO(top);
  CHECK(shown);
  one.farm.start_node("dcm-0");
  one.farm.start_node("dcm-1");
  REQUIRE(one.says("warning: processes die: dcm-0 (1 time), dcm-1 (1 time) lost and back in this run"));
  one.farm.stop_with_faults("dcm-");
  CHECK(one.says("warning: run 1 had faults: "));
}

TEST_CASE("a stopped process is silent, then lost, and a restarted run control reports the same") {
  constexpr const char* kDown = "readout-1 is reached by no DCM: its fragments are missing";
  Farm one;
  one.farm.begin_run();
  one.farm.node("readout-1").send_signal(SIGSTOP);
  REQUIRE(one.says("error: readout lost: readout-1"));
  REQUIRE(one.lists("fragments missing"));
  // From here on it is a fault of the run; fewer missing fragments are only one beyond source.loss_share_max.
  REQUIRE(wait_until([&] { return one.farm.logs().find(kDown) != std::string::npos; }, Seconds(30)));
  one.farm.node("readout-1").send_signal(SIGCONT);
  REQUIRE(one.says("warning: "));
  one.farm.kill_run_control();
  one.farm.start_run_control();
  const bool told =
      wait_until([&] { return one.worst().find("run control restarted") != std::string::npos; }, Seconds(20));
  CHECK(told);
  one.farm.stop_with_faults("readout-1's fragments are missing: it was reached by no DCM from ");
}

TEST_CASE("run control ends a frozen supervisor, says so everywhere, and its successor resumes the run") {
  Farm one(0, {}, ", return_s: 8");
  one.farm.begin_run();
  REQUIRE(one.says("good: running: "));
  one.farm.node("supervisor").send_signal(SIGSTOP);
  const bool announced = wait_until(
      [&] { return one.worst().find("stopped by a signal; run control ends it") != std::string::npos; },
      Seconds(20));
  CHECK(announced);
  const auto end = one.farm.node("supervisor").wait(Seconds(20));
  REQUIRE(end.has_value());
  one.farm.start_node("supervisor", "signal 9 (Killed)");
  REQUIRE(one.says(
      "warning: processes die: supervisor (1 time: killed by run control: stopped by a signal, silent"));
  CHECK_THAT(
      one.farm.events(),
      ContainsSubstring(
          ") was killed by run control: stopped by a signal, silent for 4 s; its successor resumes the run"));
  one.farm.stop_with_faults("supervisor");
  const boost::json::value record = one.record();
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK(record.at("exit_status").to_number<int>() == 3);
  CHECK_THAT(boost::json::serialize(record),
             ContainsSubstring("supervisor killed by run control: stopped by a signal") &&
                 ContainsSubstring("supervisor died in the run: killed by run control: stopped by a signal"));
}

TEST_CASE(
    "records that the disk of control.out does not take are said to be missing, and written when it has "
    "room") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "control", 4);
  if (!disk.mounted()) return;
  ControlledFarm farm(
      folder, "farm: records\ntrigger: {mode: rate, rate_hz: 100}\nreadout: {count: 1}\ndcm: {count: 1}\n",
      {"supervisor", "readout-0", "dcm-0", "writer-0"}, ", out: " + (folder / "control"));
  const auto says = [&](const std::string& text) {
    return wait_until([&] { return farm.ctl({"status"}).out.find(text) != std::string::npos; }, Seconds(30));
  };
  farm.begin_run();
  disk.fill_up();
  CHECK(says("warning: disk of records: "));
  CHECK(farm.ctl({"stop"}).status == 1);
  CHECK(says("error: records not written: the end record of run 1"));
  const std::string record = folder / "control/run-000001-end.json";
  CHECK_FALSE(std::filesystem::exists(record));
  disk.make_room();
  REQUIRE(wait_until([&] { return std::filesystem::exists(record); }, Seconds(30)));
  CHECK(says("run 1 ended: stopped; its ledger balances"));
  CHECK_THAT(read_file(folder / "control/runs.jsonl"), ContainsSubstring("\"run\":1,"));
  CHECK_THAT(farm.events(), ContainsSubstring("the end record of run 1 is written after all"));
}

TEST_CASE("a full disk blocks the farm, and a reset abandons a run without a supervisor") {
  Farm one(8);
  if (!one.small->mounted()) return;
  one.farm.begin_run();
  REQUIRE(one.says("error: blocked: writer-0: a writer's disk is full"));
  one.farm.kill_node("supervisor");
  REQUIRE(one.says("error: no supervisor: no slice is triggered or assigned"));
  one.farm.must({"reset"});
  // The dead supervisor leads, and the run's fate follows.
  REQUIRE(one.says("warning: process gone: supervisor"));
  CHECK_THAT(one.farm.ctl({"status"}).out,
             ContainsSubstring("\n  warning: run 1 was given up: it was reset"));
}
