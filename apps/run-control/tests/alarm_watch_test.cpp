#include "../src/alarm_watch.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/reports/numbers.hpp>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

using namespace weir;
using namespace weir::run_control;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr UtcNs kAlarmUtc = 1'700'000'000 * kSecond;

config::Alarms alarms_of(const std::string& yaml) {
  const test::SmallFarm farm(RunBook::Keeper::self, "control: {alarms: {" + yaml + "}}\n");
  return farm.own.alarms;
}

struct AlarmDesk {
  explicit AlarmDesk(const std::string& yaml = {}) : watch(alarms_of(yaml), history(), farm.log) {}
  [[nodiscard]] std::string history() const { return (farm.folder.path() / "alarms.jsonl").string(); }
  [[nodiscard]] control::AlarmTime at() const { return {farm.parts.now_ns, kAlarmUtc + farm.parts.now_ns}; }
  void pass(int seconds, const std::vector<control::Finding>& findings) {
    for (int i = 0; i < seconds; ++i) {
      farm.parts.now_ns += kSecond;
      watch.look(farm.parts, findings, at().utc);
      watch.turn(farm.parts, at().utc);
    }
  }
  std::string ask(const std::string& what, const std::string& alarm = {}, double for_s = 0) {
    v1::AlarmWish wish;
    wish.set_what(what);
    wish.set_alarm(alarm);
    wish.set_for_s(for_s);
    wish.set_person("Ada");
    return watch.carry_out(wish, "ada on daq-1", at());
  }
  [[nodiscard]] v1::FarmView view() const {
    v1::FarmView view;
    watch.add_to(view);
    return view;
  }

  test::SmallFarm farm;
  AlarmWatch watch;
};

const control::Finding kBlocked{control::Gravity::error, "blocked", "writer-0: the disk is full"};

}  // namespace

TEST_CASE("names of processes in a reason are found as whole words") {
  const std::vector<std::string> names = {"dcm-1", "dcm-10", "writer-0"};
  CHECK(names_in("dcm-10 (for 3 s), writer-0: full", names) ==
        std::vector<std::string>{"dcm-10", "writer-0"});
  CHECK(names_in("xdcm-1 dcm-1x dcm-1", names) == std::vector<std::string>{"dcm-1"});
  CHECK(names_in("", names).empty());
}

TEST_CASE("alarms are shown, acknowledged and shelved by a person, kept over a restart, and in the history") {
  AlarmDesk desk;
  desk.pass(10, {kBlocked});
  REQUIRE(desk.view().alarms_size() == 1);
  CHECK(desk.view().alarms(0).subjects(0) == "writer-0");
  CHECK(desk.ask("ack", "no such") == "no alarm 'no such' is active");
  CHECK(desk.ask("ack", "blocked").empty());
  CHECK(desk.ask("shelve", "dead time", 600).empty());
  CHECK_THAT(desk.ask("dance"), ContainsSubstring("ack, shelve, unshelve or test"));
  CHECK_THAT(desk.ask("test"), ContainsSubstring("no message is sent"));
  v1::ControlMemory memory;
  desk.watch.add_to(memory);

  AlarmDesk next;
  next.farm.parts.now_ns = desk.farm.parts.now_ns;
  next.watch.recall(memory, next.at());
  next.pass(1, {});
  REQUIRE(next.view().alarms_size() == 1);
  CHECK(next.view().alarms(0).acked_by() == "Ada");
  CHECK(next.view().shelves(0).name() == "dead time");
  CHECK(next.ask("unshelve", "dead time").empty());
  CHECK(next.view().shelves_size() == 0);

  desk.pass(60, {});
  CHECK(desk.view().alarms_size() == 0);
  std::ostringstream text;
  text << std::ifstream(desk.history()).rdbuf();
  CHECK_THAT(text.str(),
             ContainsSubstring("\"what\": \"raised\", \"alarm\": \"blocked\", \"severity\": \"error\"") &&
                 ContainsSubstring("\"what\": \"acknowledged\"") && ContainsSubstring("\"by\": \"Ada\"") &&
                 ContainsSubstring("\"what\": \"ended\""));
}

TEST_CASE("the history has the text of each message that was sent, and the subject of one that failed") {
  AlarmDesk desk("channels: [{name: good, do: 'cat > /dev/null'}, {name: broken, do: 'exit 3'}]");
  const auto history = [&] {
    std::ostringstream text;
    text << std::ifstream(desk.history()).rdbuf();
    return text.str();
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto is_whole = [](const std::string& text) {
    return text.find("\"sent\"") != std::string::npos && text.find("\"failed\"") != std::string::npos;
  };
  while (!is_whole(history()) && std::chrono::steady_clock::now() < deadline) {
    desk.pass(1, {kBlocked});
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK_THAT(history(),
             ContainsSubstring("\"subject\": \"[small] error: blocked: writer-0: the disk is full\", "
                               "\"channel\": \"good\", \"text\": [\"farm small: idle\", \"error: "
                               "blocked: writer-0: the disk is full\", \"  since "));
  CHECK_THAT(history(), ContainsSubstring("\"what\": \"failed\", \"subject\": \"[small] error: blocked"));
}

TEST_CASE(
    "a dead channel is a finding and an alarm of the others, and gets the missed alarms when it returns") {
  const ScratchFolder folder;
  const std::string back = folder.path() / "back";
  const auto file = [&](const char* name) {
    std::ostringstream text;
    text << std::ifstream(folder.path() / name).rdbuf();
    return text.str();
  };
  AlarmDesk desk("channels: [{name: siren, do: 'test -e " + back + " && cat >> " +
                 (folder.path() / "siren").string() + "'}, {name: chat, do: 'cat >> " +
                 (folder.path() / "chat").string() + "'}]");
  const auto becomes = [&](const auto& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      desk.pass(1, {kBlocked});
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  };
  REQUIRE(becomes([&] { return !desk.watch.findings().empty(); }));
  CHECK(desk.watch.findings()[0].word == "alarm channel down");
  CHECK_THAT(desk.watch.findings()[0].reason, ContainsSubstring("siren does not deliver"));
  CHECK_THAT(file("chat"), ContainsSubstring("blocked: writer-0: the disk is full"));
  CHECK(becomes([&] { return file("chat").find("alarm channel down") != std::string::npos; }));
  std::ofstream(back) << "x";
  CHECK(becomes([&] { return desk.watch.findings().empty(); }));
  CHECK_THAT(file("siren"), ContainsSubstring("blocked: writer-0: the disk is full"));
}

TEST_CASE("a metric beyond its limit and a state that lasts are alarms of their own") {
  AlarmDesk desk(
      "raise_after_s: 2, rules: ["
      "{name: crowded, metric: weir_slices_in_flight, above: 100, severity: error}, "
      "{name: idle disk, metric: weir_writer_records_total, below: 5}, "
      "{name: forgotten, state: idle, raise_after_s: 20}]");
  desk.farm.join_all();
  const auto report = [&](double in_flight, std::uint64_t records) {
    v1::Report writer;
    writer.set_role(v1::ROLE_WRITER);
    writer.set_now_ns(desk.farm.parts.now_ns);
    reports::Gauges gauges(writer);
    gauges["slices_in_flight"] = in_flight;
    reports::ReportCounters counters(writer);
    counters["writer.records"] = records;
    desk.farm.members.reported(desk.farm.member("writer-0"), writer);
  };
  const auto names = [&] {
    std::string text;
    const v1::FarmView view = desk.view();
    for (const v1::Alarm& one : view.alarms()) text += one.name() + " (" + one.reason() + ") ";
    return text;
  };
  std::uint64_t records = 0;
  for (int i = 0; i < 15; ++i) {
    report(50, records += 10);
    desk.pass(1, {});
  }
  CHECK(names().empty());
  for (int i = 0; i < 30; ++i) {
    report(150, records += 1);
    desk.pass(1, {});
  }
  CHECK(names() ==
        "crowded (weir_slices_in_flight: writer-0 150) forgotten (the farm is idle) idle disk "
        "(weir_writer_records_total: writer-0 1/s) ");
  CHECK(desk.view().alarms(0).gravity() == "error");
  desk.pass(65, {});  // the run is over: no process reports
  CHECK(names() == "forgotten (the farm is idle) ");
}
