#include "../src/commands.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

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
  explicit Desk(RunBook::Keeper keeper = RunBook::Keeper::self) : farm(keeper) { farm.join_all(); }
  std::string ask(const v1::Request& request) { return commands.carry_out(request); }
  test::SmallFarm farm;
  int off = 0;
  Commands commands{farm.parts, [this] { ++off; }};
};

}  // namespace

TEST_CASE("a command that is none is answered with those that there are") {
  Desk desk;
  CHECK_THAT(desk.ask(request("go")), ContainsSubstring("'go' is not a command"));
  CHECK_THAT(desk.ask(request("remove", {"dcm-9"})), ContainsSubstring("no process 'dcm-9'"));
  CHECK_THAT(desk.ask(request("add")), ContainsSubstring("names of processes"));
  CHECK_THAT(desk.ask(request("set")), ContainsSubstring("key=value"));
}

TEST_CASE("of processes of which one cannot leave the farm, or come back, none does") {
  Desk desk;
  desk.farm.parts.actions.clear();
  CHECK_THAT(desk.ask(request("remove", {"dcm-0", "supervisor"})), ContainsSubstring("supervisor"));
  CHECK(desk.farm.machine.remembered().excluded.empty());
  CHECK(desk.farm.parts.actions.events.empty());
  CHECK(desk.ask(request("remove", {"dcm-0", "readout-0"})).empty());
  CHECK(desk.farm.machine.remembered().excluded.size() == 2);
  CHECK_THAT(desk.ask(request("add", {"dcm-0", "supervisor"})), ContainsSubstring("supervisor"));
  CHECK(desk.farm.machine.remembered().excluded.size() == 2);
  CHECK(desk.ask(request("add", {"dcm-0", "readout-0"})).empty());
  CHECK(desk.farm.machine.remembered().excluded.empty());
}

TEST_CASE("a start that has no place now gives its number back") {
  Desk desk;
  CHECK_FALSE(desk.ask(request("start")).empty());
  CHECK(desk.farm.book.claim_of(RunNumber(1)) == 0);
  CHECK(desk.farm.book.begin_utc() == 0);
}

TEST_CASE("a log level goes to those who are named, or to all who are there") {
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

TEST_CASE("a word that is no log level, or would silence the log, goes to nobody") {
  Desk desk;
  for (const char* word : {"loud", "off", "critical", "INFO", ""}) {
    INFO(word);
    v1::Request level = request("log-level");
    level.set_level(word);
    CHECK_THAT(desk.ask(level), ContainsSubstring("is not a log level: there are trace, debug, info"));
  }
  CHECK(desk.farm.sent.empty());
}

TEST_CASE("a restart is for processes that are there, and not for the supervisor") {
  Desk desk;
  CHECK_THAT(desk.commands.restart(desk.farm.member("supervisor"), "a rule"),
             ContainsSubstring("supervisor"));
  CHECK(desk.commands.restart(desk.farm.member("dcm-0"), "a rule").empty());
  CHECK(desk.farm.sent.back().second.order().command() == "restart");
  desk.farm.machine.left(desk.farm.member("dcm-0"), 2 * kSecond, desk.farm.parts.actions);
  CHECK_THAT(desk.commands.restart(desk.farm.member("dcm-0"), "a rule"), ContainsSubstring("not there"));
}

TEST_CASE("a signal is for a process of this host that is still that one, and of those that there are") {
  Desk desk;
  v1::Request kill = request("kill", {"dcm-0"});
  CHECK_THAT(desk.ask(kill), ContainsSubstring("not there"));
  kill.set_signal("SIGWINCH");
  CHECK_THAT(desk.ask(kill), ContainsSubstring("none of the signals"));
  CHECK_THAT(desk.ask(request("kill")), ContainsSubstring("names of processes"));
}

TEST_CASE("off is said before any process is told to end") {
  Desk desk;
  CHECK(desk.ask(request("off")).empty());
  CHECK(desk.off == 1);
}
