#include "../src/commands.hpp"

#include "../src/hook_account.hpp"
#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/run_record/annotations.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::Request request(const std::string& command, const std::vector<std::string>& nodes = {}) {
  v1::Request request;
  request.set_command(command);
  for (const std::string& one : nodes) request.add_nodes(one);
  return request;
}

struct Desk {
  explicit Desk(RunBook::Keeper keeper = RunBook::Keeper::self, const std::string& more = {})
      : farm(keeper, more) {
    farm.join_all();
  }
  std::string ask(const v1::Request& request) { return commands.carry_out(request); }
  test::SmallFarm farm;
  Commands commands{farm.parts};
};

}  // namespace

TEST_CASE("an unknown command is answered with the known ones") {
  Desk desk;
  CHECK_THAT(desk.ask(request("go")), ContainsSubstring("'go' is not a command"));
  CHECK_THAT(desk.ask(request("remove", {"dcm-9"})), ContainsSubstring("no process 'dcm-9'"));
  CHECK_THAT(desk.ask(request("add")), ContainsSubstring("names of processes"));
  CHECK_THAT(desk.ask(request("set")), ContainsSubstring("key=value"));
}

TEST_CASE("control characters in a request reach no log, record or other client") {
  Desk desk;
  const std::string bad = "\x1b[2J\nx";
  v1::Request reset = request("reset");
  reset.set_reason(bad);
  CHECK(desk.ask(reset).empty());
  for (const control::Event& event : desk.farm.parts.actions.events)
    CHECK(event.text.find_first_of("\x1b\n") == std::string::npos);
  v1::Request level = request("log-level");
  level.set_level(bad);
  v1::Request set = request("set");
  set.add_sets("trigger.rate_hz=" + bad);
  for (const v1::Request& one : {request(bad), request("remove", {bad}), level, set}) {
    const std::string error = desk.ask(one);
    CAPTURE(error);
    CHECK_FALSE(error.empty());
    CHECK(error.find_first_of("\x1b\n") == std::string::npos);
  }
}

TEST_CASE("if one of several processes cannot leave or rejoin the farm, none does") {
  Desk desk;
  desk.farm.parts.actions.clear();
  CHECK_THAT(desk.ask(request("remove", {"dcm-0", "supervisor"})), ContainsSubstring("supervisor"));
  CHECK(desk.farm.machine.remembered().removed.empty());
  CHECK(desk.farm.parts.actions.events.empty());
  v1::Request remove = request("remove", {"dcm-0", "readout-0"});
  remove.set_last(true);
  remove.set_by("mark on\x1b daq-1");
  CHECK(desk.ask(remove).empty());
  CHECK(desk.farm.machine.remembered().removed.size() == 2);
  const std::string by = desk.farm.machine.remembered().removed.front().by;
  CHECK_THAT(by, ContainsSubstring("mark on") && !ContainsSubstring("\x1b"));
  CHECK_THAT(desk.farm.parts.actions.events.front().text,
             ContainsSubstring("is removed from the farm, by mark on"));
  CHECK_THAT(desk.ask(request("add", {"dcm-0", "supervisor"})), ContainsSubstring("supervisor"));
  CHECK(desk.farm.machine.remembered().removed.size() == 2);
  CHECK(desk.ask(request("add", {"dcm-0", "readout-0"})).empty());
  CHECK(desk.farm.machine.remembered().removed.empty());
}

TEST_CASE("a start that is impossible now returns its number") {
  Desk desk;
  CHECK_FALSE(desk.ask(request("start")).empty());
  CHECK(desk.farm.book.claim_of(RunNumber(1)) == 0);
  CHECK(desk.farm.book.begin_utc() == 0);
}

TEST_CASE("processes that would load different files under one name cannot begin a run") {
  Desk desk;
  test::SmallFarm& farm = desk.farm;
  const auto brings = [&](const std::string& name, std::uint32_t crc32c) {
    v1::RunIdentity identity;
    v1::RunIdentity::Part& part = *identity.add_parts();
    part.set_kind("filter plugin");
    part.set_name("mine");
    part.set_path("/at/" + name);
    part.set_crc32c(crc32c);
    farm.members.is_made_of(farm.member(name), identity);
  };
  brings("dcm-0", 0xaaaa);
  brings("readout-0", 0xbbbb);
  const std::string refusal = desk.ask(request("start"));
  CHECK_THAT(refusal, ContainsSubstring("filter plugin 'mine' at /at/dcm-0 of dcm-0 has checksum 0000aaaa") ||
                          ContainsSubstring(
                              "filter plugin 'mine' at /at/readout-0 of readout-0 has checksum 0000bbbb"));
  CHECK_THAT(refusal, ContainsSubstring("0000aaaa") && ContainsSubstring("0000bbbb"));
  CHECK(farm.book.claim_of(RunNumber(1)) == 0);
}

TEST_CASE("a configure that has no place now leaves the settings as they were") {
  Desk desk;
  v1::Request configure = request("configure");
  configure.add_sets("dcm.credits=9");
  CHECK_FALSE(desk.ask(configure).empty());  // the farm is idle
  CHECK(desk.farm.setup.configured().dcm().credits() != 9);
  CHECK(desk.farm.setup.shown(false).empty());
}

TEST_CASE("unset takes keys or all of them, and off forgets set keys") {
  Desk desk;
  CHECK_THAT(desk.ask(request("unset")), ContainsSubstring("--all"));
  v1::Request set = request("set");
  set.add_sets("dcm.credits=9");
  REQUIRE(desk.ask(set).empty());
  v1::Request unset = request("unset");
  unset.add_sets("dcm.credits");
  CHECK(desk.ask(unset).empty());
  CHECK(desk.farm.setup.shown(false).empty());
  REQUIRE(desk.ask(set).empty());
  REQUIRE(desk.ask(request("off")).empty());
  CHECK(desk.farm.setup.shown(false).empty());
}

TEST_CASE("a log level goes to the named processes, or to all present ones") {
  Desk desk;
  v1::Request level = request("log-level", {"dcm-0"});
  level.set_level("debug");
  CHECK(desk.ask(level).empty());
  REQUIRE(desk.farm.sent.size() == 1);
  CHECK(desk.farm.sent[0].first == "of dcm-0");
  level.clear_nodes();
  CHECK(desk.ask(level).empty());
  CHECK(desk.farm.sent.size() == 1 + desk.farm.members.size());
}

TEST_CASE("an unknown log level, or one that would silence the log, is sent to no process") {
  Desk desk;
  for (const char* word : {"loud", "off", "critical", "INFO", ""}) {
    INFO(word);
    v1::Request level = request("log-level");
    level.set_level(word);
    CHECK_THAT(desk.ask(level), ContainsSubstring("is not a log level: use trace, debug, info"));
  }
  CHECK(desk.farm.sent.empty());
}

TEST_CASE("a restart is for present processes, except the supervisor") {
  Desk desk;
  CHECK_THAT(desk.commands.restart(desk.farm.member("supervisor"), "a rule"),
             ContainsSubstring("supervisor"));
  CHECK(desk.commands.restart(desk.farm.member("dcm-0"), "a rule").empty());
  CHECK(desk.farm.sent.back().second.order().command() == "restart");
  desk.farm.machine.left(desk.farm.member("dcm-0"), 2 * kSecond, desk.farm.parts.actions);
  CHECK_THAT(desk.commands.restart(desk.farm.member("dcm-0"), "a rule"), ContainsSubstring("not there"));
}

TEST_CASE("a signal goes only to a process of this host that still has its number") {
  Desk desk;
  v1::Request kill = request("kill", {"dcm-0"});
  CHECK_THAT(desk.ask(kill), ContainsSubstring("not there"));
  kill.set_signal("SIGWINCH");
  CHECK_THAT(desk.ask(kill), ContainsSubstring("none of the signals"));
  CHECK_THAT(desk.ask(request("kill")), ContainsSubstring("names of processes"));
}

TEST_CASE("the last process of its kind is removed only on explicit request") {
  Desk desk;
  v1::Request remove = request("remove", {"dcm-0"});
  CHECK_THAT(desk.ask(remove),
             ContainsSubstring("without dcm-0 no slice can pass: no other DCM takes part; to remove "
                               "dcm-0 all the same, add `--last`"));
  remove.set_last(true);
  CHECK(desk.ask(remove).empty());
}

TEST_CASE("the last DCM of a group is removed only on explicit request, though other groups have DCMs") {
  Desk desk(RunBook::Keeper::self,
            "dcm:\n"
            "  nodes: [{name: near, group: near}, {name: 'far-{i}', count: 2, group: far}]\n"
            "  groups: [{name: near, forward: [far]}, {name: far}]\n");
  CHECK_THAT(desk.ask(request("remove", {"near"})),
             ContainsSubstring("no other DCM of group 'near' takes part"));
  CHECK_THAT(desk.ask(request("remove", {"far-0", "far-1"})), ContainsSubstring("group 'far'"));
  CHECK(desk.ask(request("remove", {"far-0"})).empty());
  CHECK_THAT(desk.ask(request("remove", {"far-1"})), ContainsSubstring("group 'far'"));
  v1::Request remove = request("remove", {"far-1"});
  remove.set_last(true);
  CHECK(desk.ask(remove).empty());
}

TEST_CASE("a start without a required field, or with an unknown type, is refused with a sentence") {
  Desk desk(RunBook::Keeper::self,
            "control: {required_fields: [type, shifter], run_types: [physics, laser]}\n");
  v1::Request start = request("start");
  CHECK_THAT(desk.ask(start), ContainsSubstring("starts no run without type, shifter"));
  (*start.mutable_fields())["type"] = "lasre";
  CHECK_THAT(desk.ask(start), ContainsSubstring("use physics, laser"));
  (*start.mutable_fields())["type"] = "laser";
  CHECK_THAT(desk.ask(start), ContainsSubstring("without shifter"));
  (*start.mutable_fields())["shifter"] = "Ann";
  CHECK_THAT(desk.ask(start), ContainsSubstring("start is not possible"));  // the farm is idle
}

TEST_CASE("an annotation is written beside the records of its run") {
  Desk desk;
  CHECK(desk.farm.book.begin(RunNumber(3), desk.farm.setup.of_run(RunNumber(3)), {}, {{"type", "laser"}})
            .empty());
  CHECK(desk.farm.book.fields() == run_record::RunFields{{"type", "laser"}});
  v1::Request annotate = request("annotate");
  annotate.set_run(3);
  annotate.set_by("Ann");
  CHECK_THAT(desk.ask(annotate), ContainsSubstring("takes fields"));
  (*annotate.mutable_fields())["quality"] = "bad";
  CHECK(desk.ask(annotate).empty());
  CHECK(desk.farm.last_line() == "run 3 annotated by Ann");
  std::ifstream file(run_record::annotations_path(desk.farm.folder.path()));
  std::string line;
  REQUIRE(std::getline(file, line));
  CHECK(run_record::read_annotation(line)->fields == run_record::RunFields{{"quality", "bad"}});
  CHECK(desk.farm.book.fields() == run_record::RunFields{{"type", "laser"}});  // of the begin record
  annotate.set_run(4);
  CHECK_THAT(desk.ask(annotate), ContainsSubstring("run 4 has no record"));
  // The hooks of a run's end have its fields, even if the next run has begun.
  CHECK(desk.farm.book.begin(RunNumber(4), desk.farm.setup.of_run(RunNumber(4)), {}, {{"type", "dark"}})
            .empty());
  const auto account = account_after(desk.farm.parts, RunNumber(3));
  CHECK(account.at("fields") == boost::json::value{{"quality", "bad"}, {"type", "laser"}});
  CHECK(account_after(desk.farm.parts, RunNumber(4)).at("fields") == boost::json::value{{"type", "dark"}});
}

namespace {

// All processes join, and obey `init`.
void reach_standby(Desk& desk) {
  Parts& parts = desk.farm.parts;
  control::FarmMachine& machine = desk.farm.machine;
  desk.farm.join_all();
  REQUIRE(desk.ask(request("init")).empty());
  machine.tick(parts.now_ns, parts.actions);
  control::MemberState standby;
  standby.state = control::State::standby;
  for (const control::Order& order : std::exchange(parts.actions.orders, {}))
    machine.answered(order.member, order.id, true, "", standby, parts.now_ns, parts.actions);
  machine.tick(parts.now_ns, parts.actions);
  REQUIRE(machine.state() == control::State::standby);
}

std::optional<Commands::Answered> answer_of_hooks(Desk& desk) {
  std::optional<Commands::Answered> answered;
  for (int i = 0; i < 2000 && !answered; ++i) {
    answered = desk.commands.look_at_hooks();
    if (!answered) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return answered;
}

}  // namespace

TEST_CASE("a transition waits for its hooks, and is refused with their reason or continues") {
  Desk desk;
  const std::string folder = desk.farm.folder.path().string();
  HookDesk hooks({{"disk",
                   {control::HookPoint::before_configure},
                   "test -e " + folder + "/go || { echo no disk; exit 1; }",
                   10 * kSecond,
                   true}},
                 folder + "/hooks", desk.farm.log);
  desk.farm.parts.hooks = &hooks;
  CHECK_THAT(desk.ask(request("configure")),
             ContainsSubstring("not possible now"));  // the farm is idle: no hook
  reach_standby(desk);
  CHECK(desk.ask(request("configure")).empty());
  CHECK(hooks.waits() == control::Command::configure);
  CHECK_THAT(desk.ask(request("configure")), ContainsSubstring("configure waits for its hooks"));
  CHECK(answer_of_hooks(desk)->error == "configure refused by hook disk: no disk");
  CHECK_FALSE(desk.farm.machine.under_way());
  std::ofstream(folder + "/go") << "x";
  CHECK(desk.ask(request("configure")).empty());
  CHECK(answer_of_hooks(desk)->error.empty());
  CHECK(desk.farm.machine.under_way() == control::Command::configure);
}

TEST_CASE("another command gives up a transition that waits for its hooks") {
  Desk desk;
  HookDesk hooks({{"slow", {control::HookPoint::before_configure}, "sleep 1000", 10 * kSecond, true}},
                 desk.farm.folder.path().string() + "/hooks", desk.farm.log);
  desk.farm.parts.hooks = &hooks;
  reach_standby(desk);
  CHECK(desk.ask(request("configure")).empty());
  CHECK(desk.ask(request("reset")).empty());
  CHECK_FALSE(hooks.waits());
  // Its client has to get the answer before another one can ask.
  CHECK_THAT(desk.ask(request("configure")), ContainsSubstring("being given up"));
  CHECK(answer_of_hooks(desk)->error ==
        "configure was given up: reset was commanded while its hooks were asked");
}

TEST_CASE("the form of the next configure has its keys as JSON") {
  Desk desk;
  CHECK(desk.ask(request("form")).empty());
  const boost::json::value form = boost::json::parse(desk.commands.tried());
  REQUIRE(form.as_array().size() > 100);
  for (const boost::json::value& one : form.as_array()) {
    CHECK(!one.at("key").as_string().empty());
    CHECK(!one.at("meaning").as_string().empty());
  }
}

TEST_CASE("a try of settings shows what configure would change, and sets nothing") {
  Desk desk;
  v1::Request wish = request("try-settings");
  wish.add_sets("dcm.credits=3");
  CHECK(desk.ask(wish).empty());
  CHECK_THAT(desk.commands.tried(), ContainsSubstring("dcm.credits: ") && ContainsSubstring("-> 3"));
  CHECK(desk.farm.setup.configured().dcm().credits() != 3);
  CHECK(desk.farm.setup.shown(false).empty());
  CHECK(desk.ask(request("try-settings")).empty());
  CHECK(desk.commands.tried().empty());
  wish.set_sets(0, "dcm.credit=3");
  CHECK_THAT(desk.ask(wish), ContainsSubstring("dcm.credits"));
  wish.set_sets(0, "control.listen=127.0.0.1:1");
  CHECK_THAT(desk.ask(wish), ContainsSubstring("cannot be set while the farm is up"));
}

TEST_CASE("an operator restarts processes by name, but not the supervisor") {
  Desk desk;
  v1::Request wish = request("restart", {"dcm-0"});
  wish.set_by("Ada");
  desk.farm.sent.clear();
  CHECK(desk.ask(wish).empty());
  REQUIRE(desk.farm.sent.size() == 1);
  CHECK(desk.farm.sent[0].first == "of dcm-0");
  CHECK(desk.farm.sent[0].second.order().reason() == "restarted by Ada");
  CHECK_THAT(desk.ask(request("restart", {"supervisor"})), ContainsSubstring("its run would wait for it"));
  CHECK_THAT(desk.ask(request("restart")), ContainsSubstring("names of processes"));
}
