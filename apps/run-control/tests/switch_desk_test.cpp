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

}  // namespace

TEST_CASE("a switch gets its table once, and another one after `configure`") {
  const SwitchFiles files(kSlowTable);
  FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  const v1::SwitchTable first = desk.take(switch_report("daq"), kSecond);
  CHECK(first.text() == kSlowTable);
  CHECK(first.file() == files.path);
  CHECK(desk.take(switch_report("daq", first.digest()), kSecond).text().empty());
  std::string faster = kSlowTable;
  faster.replace(faster.find("100mbit"), 7, "200mbit");
  files.write(faster);
  CHECK(desk.take(switch_report("daq", first.digest()), kSecond).text().empty());
  configure_again(setup);
  const v1::SwitchTable second = desk.take(switch_report("daq", first.digest()), kSecond);
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
  CHECK(desk.take(switch_report("daq"), kSecond).text() == faster);
  files.write("name: daq\nrate: fast\n");
  CHECK_THAT(setup.read_switches().error(), ContainsSubstring("daq.yaml:2: rate"));
  CHECK(desk.take(switch_report("daq"), kSecond).text() == faster);
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
  const v1::SwitchTable answer = desk.take(switch_report("other"), kSecond);
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
  (void)desk.take(report, 10 * kSecond);
  REQUIRE(desk.findings(10 * kSecond).size() == 1);
  CHECK_THAT(
      desk.findings(10 * kSecond)[0].reason,
      ContainsSubstring("switch daq does not use its table: ports differ") && !ContainsSubstring("\x1b"));
  (void)desk.take(switch_report("daq"), 11 * kSecond);
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
  (void)desk.take(report, kSecond);
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

TEST_CASE("of two switches under one name the last that started gets the table, and both are named") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  v1::SwitchReport older = switch_report("daq");
  older.set_host("sw-1");
  v1::SwitchReport newer = older;
  newer.set_host("sw-2");
  newer.set_started_ns(2000);
  CHECK_FALSE(desk.take(older, kSecond).text().empty());
  CHECK_FALSE(desk.take(newer, kSecond).text().empty());
  const v1::SwitchTable refused = desk.take(older, kSecond);
  CHECK(refused.text().empty());
  CHECK(refused.refused() == "another weir-switch with this name has started on sw-2");
  REQUIRE(desk.findings(kSecond).size() == 1);
  CHECK(desk.findings(kSecond)[0].reason ==
        "switch daq runs twice, on sw-2 and sw-1: give each process its own name");
  // The newer one has ended.
  CHECK_FALSE(desk.take(older, 2 * kSecond + kSwitchSilence).text().empty());
}

TEST_CASE("a report with too many rings is cut") {
  const SwitchFiles files(kSlowTable);
  const FarmSetup setup(files.farm, {});
  SwitchDesk desk(setup, kSwitchSilence, 0);
  v1::SwitchReport report = switch_report("daq");
  for (int i = 0; i < 5000; ++i) report.add_rings();
  (void)desk.take(report, kSecond);
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
