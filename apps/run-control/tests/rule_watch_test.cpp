#include "../src/rule_watch.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

struct Deeds final : RuleActions {
  std::string transition(control::Command command, const v1::Request& request) override {
    done.push_back(std::string(control::name(command)));
    sets.assign(request.sets().begin(), request.sets().end());
    fields = {request.fields().begin(), request.fields().end()};
    return error;
  }
  std::string readmit(std::size_t member) override {
    done.push_back("readmit " + std::to_string(member));
    return error;
  }
  std::string restart(std::size_t member, const std::string&) override {
    done.push_back("restart " + std::to_string(member));
    return error;
  }
  RunNumber run() const override { return RunNumber(8); }

  std::vector<std::string> done;
  std::vector<std::string> sets;
  run_record::RunFields fields;
  std::string error;
};

control::Rule on_gone(control::Act act) {
  control::Rule rule;
  rule.name = "mine";
  rule.when = control::Condition::process_gone;
  rule.act = act;
  return rule;
}

control::RulesView gone() {
  control::RulesView view;
  view.state = control::State::running;
  view.run = RunNumber(7);
  view.processes.push_back({"dcm-0", Role::dcm, true, false, control::State::running, {}});
  view.processes.push_back({"dcm-1", Role::dcm, false, false, control::State::idle, {}});
  return view;
}

struct Watched {
  explicit Watched(control::Act act) : rules({on_gone(act)}, log, deeds) {}
  EventLog log{[](const v1::FarmView::Line&) {}};
  Deeds deeds;
  RuleWatch rules;
};

}  // namespace

TEST_CASE("rules are checked once a second, and not at all if there are none") {
  Watched watched(control::Act::warn);
  CHECK(watched.rules.is_due(kSecond));
  watched.rules.look(gone(), kSecond);
  CHECK_FALSE(watched.rules.is_due(kSecond + RuleWatch::kInterval - 1));
  CHECK(watched.rules.is_due(kSecond + RuleWatch::kInterval));
  CHECK_FALSE(RuleWatch({}, watched.log, watched.deeds).is_due(kSecond));
}

TEST_CASE("a rule that fires reports it and acts on the processes concerned") {
  Watched warned(control::Act::warn);
  warned.rules.look(gone(), kSecond);
  CHECK(warned.deeds.done.empty());
  REQUIRE(warned.log.lines().size() == 1);
  CHECK_THAT(warned.log.lines()[0].text(), ContainsSubstring("dcm-1"));

  Watched restarted(control::Act::restart);
  restarted.rules.look(gone(), kSecond);
  CHECK(restarted.deeds.done == std::vector<std::string>{"restart 1"});
}

TEST_CASE("an action that a rule cannot do is an error that names it") {
  Watched watched(control::Act::stop);
  watched.deeds.error = "no run is active";
  watched.rules.look(gone(), kSecond);
  CHECK(watched.log.lines().back().text() == "rule mine cannot stop: no run is active");
  CHECK(watched.log.lines().back().level() == "error");
}

TEST_CASE("a rule that ends a run for the next one starts it with the same keys and fields") {
  Watched watched(control::Act::start_next);
  CHECK_FALSE(watched.rules.wants_next());
  watched.rules.look(gone(), kSecond);
  REQUIRE(watched.rules.wants_next());
  CHECK(watched.rules.next_by() == "mine");
  watched.rules.start_next(control::State::ready, {"run.slices=5"}, {{"type", "physics"}});
  CHECK(watched.deeds.done == std::vector<std::string>{"stop", "start"});
  CHECK(watched.deeds.sets == std::vector<std::string>{"run.slices=5"});
  CHECK(watched.deeds.fields == run_record::RunFields{{"type", "physics"}});
  CHECK(watched.log.lines().back().text() == "rule mine: the next run starts");
  CHECK_FALSE(watched.rules.wants_next());
}

TEST_CASE("no next run starts when an operator has commanded since, or the farm is not ready for it") {
  Watched watched(control::Act::start_next);
  watched.rules.recall("mine");
  watched.rules.commanded();
  CHECK_FALSE(watched.rules.wants_next());
  watched.rules.recall("mine");
  watched.rules.start_next(control::State::error, {}, {});
  CHECK(watched.deeds.done.empty());
  CHECK_THAT(watched.log.lines().back().text(), ContainsSubstring("the farm is error"));
}
