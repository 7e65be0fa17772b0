#include "../src/switch_desk.hpp"

#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>

#include <fstream>
#include <stdexcept>
#include <string>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

constexpr DurationNs kSwitchSilence = 5 * kSecond;
constexpr const char* kSlowTable =
    "name: daq\nports: [{interface: eth1}, {interface: eth2}]\n"
    "rings:\n  - {name: dcm-0, address: 10.0.0.1, via: eth1, rate: 100mbit}\n";

// A farm with switch files.
struct SwitchFiles {
  explicit SwitchFiles(const std::string& table) {
    write(table);
    std::ofstream(farm) << "farm: f\ncontrol: {switches: [" << path << "]}\n";
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  ScratchFolder folder;
  std::string path = folder.path() / "daq.yaml";
  std::string farm = folder.path() / "farm.yaml";
};

void configure_again(FarmSetup& setup) {
  auto configuration = setup.prepare({});
  REQUIRE(configuration.has_value());
  setup.configure(std::move(*configuration));
}

v1::SwitchReport switch_report(const std::string& name, const std::string& digest = {}) {
  v1::SwitchReport report;
  report.set_started_ns(1000);
  report.set_name(name);
  report.set_digest(digest);
  return report;
}

v1::SwitchTable take(SwitchDesk& desk, const v1::SwitchReport& report, TimeNs now_ns) {
  return desk.take("client", report, now_ns);
}

}  // namespace

TEST_CASE("a switch gets its table once, and another one after `configure`") {
  const SwitchFiles files(kSlowTable);
  FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  const v1::SwitchTable first = take(desk, switch_report("daq"), kSecond);
  CHECK(first.text() == kSlowTable);
  CHECK(first.file() == files.path);
  CHECK(take(desk, switch_report("daq", first.digest()), kSecond).text().empty());
  std::string faster = kSlowTable;
  faster.replace(faster.find("100mbit"), 7, "200mbit");
  files.write(faster);
  CHECK(take(desk, switch_report("daq", first.digest()), kSecond).text().empty());
  configure_again(setup);
  const v1::SwitchTable second = take(desk, switch_report("daq", first.digest()), kSecond);
  CHECK(second.text() == faster);
  CHECK(second.digest() != first.digest());
}

TEST_CASE("tables are read again in a run, and a mistake in any file keeps all of them") {
  const SwitchFiles files(kSlowTable);
  FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  CHECK(setup.read_switches().value().empty());
  std::string faster = kSlowTable;
  faster.replace(faster.find("100mbit"), 7, "200mbit");
  files.write(faster);
  CHECK(setup.read_switches().value() == std::vector<std::string>{"daq"});
  CHECK(take(desk, switch_report("daq"), kSecond).text() == faster);
  files.write("name: daq\nrate: fast\n");
  CHECK_THAT(setup.read_switches().error(), ContainsSubstring("daq.yaml:2: rate"));
  CHECK(take(desk, switch_report("daq"), kSecond).text() == faster);
}

TEST_CASE("a farm without switches has no tables to read") {
  const ScratchFolder folder;
  const std::string farm = folder.path() / "farm.yaml";
  std::ofstream(farm) << "farm: f\n";
  FarmSetup setup(farm, {});
  CHECK_THAT(setup.read_switches().error(), ContainsSubstring("control.switches lists their files"));
}

TEST_CASE("a switch of another name gets no table, and is not shown") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  const v1::SwitchTable answer = take(desk, switch_report("other"), kSecond);
  CHECK(answer.refused() == "control.switches has no file with this name");
  CHECK(answer.text().empty());
  v1::FarmView view;
  desk.add_to(view, kSecond);
  REQUIRE(view.switches_size() == 1);
  CHECK(view.switches(0).report().name() == "daq");
}

TEST_CASE("a silent switch, and one that keeps its former table, are findings") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  CHECK(desk.findings(kSwitchSilence).empty());
  REQUIRE(desk.findings(kSwitchSilence + 1).size() == 1);
  CHECK_THAT(desk.findings(kSwitchSilence + 1)[0].reason, ContainsSubstring("switch daq has not connected"));
  v1::SwitchReport report = switch_report("daq");
  report.set_refused("ports differ\x1b[31m");
  (void)take(desk, report, 10 * kSecond);
  REQUIRE(desk.findings(10 * kSecond).size() == 1);
  CHECK_THAT(
      desk.findings(10 * kSecond)[0].reason,
      ContainsSubstring("switch daq does not use its table: ports differ") && !ContainsSubstring("\x1b"));
  (void)take(desk, switch_report("daq"), 11 * kSecond);
  CHECK(desk.findings(11 * kSecond).empty());
  CHECK_THAT(desk.findings(17 * kSecond)[0].reason, ContainsSubstring("switch daq is silent"));
}

TEST_CASE("the depth of a ring is kept over time, until its switch is silent") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  v1::SwitchReport report = switch_report("daq");
  report.add_rings()->set_name("dcm-0");
  report.mutable_rings(0)->set_waiting(7);
  (void)take(desk, report, kSecond);
  v1::FarmView view;
  desk.add_to(view, 2 * kSecond);
  CHECK(view.switches(0).report().rings(0).waiting() == 7);
  CHECK(view.switches(0).silent_ns() == kSecond);
  std::map<std::string, double> values;
  desk.add_to(values, 2 * kSecond);
  CHECK(values == std::map<std::string, double>{{"switch/daq/dcm-0/waiting_frames", 7}});
  values.clear();
  desk.add_to(values, kSecond + kSwitchSilence + 1);
  CHECK(values.empty());
}

TEST_CASE("a switch that drops frames in a run is a finding for a minute, with its ring") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  const auto dropped = [](std::uint64_t frames) {
    v1::SwitchReport report = switch_report("daq");
    report.set_lost(frames);
    (*report.mutable_dropped())["queue_full"] = frames;
    report.add_rings()->set_name("dcm-0");
    report.mutable_rings(0)->set_dropped(frames);
    return report;
  };
  (void)take(desk, dropped(3), kSecond);
  CHECK(desk.findings(kSecond).empty());  // no run is on
  CHECK(desk.begin(RunNumber(3), kSecond, 2 * kSecond).size() == 1);
  (void)take(desk, dropped(3), 2 * kSecond);
  CHECK(desk.findings(2 * kSecond).empty());
  (void)take(desk, dropped(5), 3 * kSecond);
  REQUIRE(desk.findings(3 * kSecond).size() == 1);
  CHECK(
      desk.findings(3 * kSecond)[0].reason ==
      "switch daq dropped 2 frames for lack of room: queue_full 2, most for ring dcm-0; raise its `packets`, "
      "or look at its `rate` and at its DCM");
  for (int s = 4; s < 64; ++s) (void)take(desk, dropped(5), s * kSecond);
  CHECK(desk.findings(63 * kSecond).size() == 1);
  CHECK(desk.findings(64 * kSecond).empty());
  desk.accounts().end();
  (void)take(desk, dropped(9), 64 * kSecond);
  CHECK(desk.findings(64 * kSecond).empty());
}

TEST_CASE("a connected switch hears of a run at its begin, and each answer names it") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  CHECK(desk.begin(RunNumber(3), kSecond, kSecond).empty());
  CHECK(take(desk, switch_report("daq"), kSecond).run() == 3);
  const auto messages = desk.begin(RunNumber(4), kSecond, 2 * kSecond);
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].first == "client");
  CHECK(messages[0].second.run() == 4);
  CHECK(messages[0].second.text().empty());
  CHECK(messages[0].second.digest() == take(desk, switch_report("daq"), 2 * kSecond).digest());
  CHECK(desk.begin(RunNumber(5), kSecond, 3 * kSecond + kSwitchSilence).empty());
}

TEST_CASE("a switch that falls silent in a run has that in its account") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  (void)take(desk, switch_report("daq"), kSecond);
  (void)desk.begin(RunNumber(3), kSecond, kSecond);
  desk.look(kSecond + kSwitchSilence);
  CHECK(desk.accounts().account("daq").silences() == 0);
  desk.look(kSecond + kSwitchSilence + 1);
  desk.look(kSecond + kSwitchSilence + 2);
  CHECK(desk.accounts().account("daq").silences() == 1);
}

TEST_CASE("of two switches under one name the last that started gets the table, and both are named") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  v1::SwitchReport older = switch_report("daq");
  older.set_host("sw-1");
  v1::SwitchReport newer = older;
  newer.set_host("sw-2");
  newer.set_started_ns(2000);
  CHECK_FALSE(take(desk, older, kSecond).text().empty());
  CHECK_FALSE(take(desk, newer, kSecond).text().empty());
  const v1::SwitchTable refused = take(desk, older, kSecond);
  CHECK(refused.text().empty());
  CHECK(refused.refused() == "another weir-switch with this name has started on sw-2");
  REQUIRE(desk.findings(kSecond).size() == 1);
  CHECK(desk.findings(kSecond)[0].reason ==
        "switch daq runs twice, on sw-2 and sw-1: give each process its own name");
  // The newer one has ended.
  CHECK_FALSE(take(desk, older, 2 * kSecond + kSwitchSilence).text().empty());
}

TEST_CASE("a report with too many rings is cut") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  v1::SwitchReport report = switch_report("daq");
  for (int i = 0; i < 5000; ++i) report.add_rings();
  (void)take(desk, report, kSecond);
  v1::FarmView view;
  desk.add_to(view, kSecond);
  CHECK(view.switches(0).report().rings_size() == 4096);
}

TEST_CASE("a switch file with a mistake refuses `configure`, and equal names are named") {
  const SwitchFiles files(kSlowTable);
  FarmSetup setup(files.farm, {});
  files.write("name: daq\nports: [{interface: eth1, colour: red}]\n");
  const auto refused = setup.prepare({});
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error(), ContainsSubstring("daq.yaml:2: ports[0].colour: unknown key"));
  files.write(std::string(kSlowTable) + "  - {name: dcm-1, address: 10.0.0.2, via: eth3}\n");
  CHECK_THAT(setup.prepare({}).error(),
             ContainsSubstring("daq.yaml:5: rings[1].via: `ports` has no interface 'eth3'"));
  CHECK(setup.switches().size() == 1);
  files.write(kSlowTable);
  std::ofstream(files.farm) << "farm: f\ncontrol: {switches: [" << files.path << ", " << files.path << "]}\n";
  CHECK_THROWS_WITH(FarmSetup(files.farm, {}),
                    ContainsSubstring("another switch of control.switches has the name 'daq'"));
}
