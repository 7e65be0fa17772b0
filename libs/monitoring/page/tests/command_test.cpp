#include "command.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::page;

TEST_CASE("a command has its kind and its parameters as texts") {
  const auto parsed = parse_command(
      R"({"command": "start", "parameters": {"run": 5, "note": "first", "dry": true}})", "10.0.0.1");
  REQUIRE(parsed.error == "");
  CHECK(parsed.command.kind == control::Command::start);
  CHECK(parsed.command.peer == "10.0.0.1");
  CHECK(parsed.command.parameters ==
        std::map<std::string, std::string>{{"run", "5"}, {"note", "first"}, {"dry", "true"}});
  CHECK(parse_command(R"({"command": "continue"})", "").command.kind == control::Command::continue_run);
}

TEST_CASE("a malformed command is refused with a reason") {
  for (const char* body :
       {"", "start", "[]", "{}", R"({"command": 5})", R"({"command": "launch"})", R"({"command": "off"})",
        R"({"command": "start", "extra": 1})", R"({"command": "start", "parameters": []})",
        R"({"command": "start", "parameters": {"a": {}}})",
        R"({"command": "start", "parameters": {"a": null}})"}) {
    INFO(body);
    CHECK(parse_command(body, "").error != "");
  }
  CHECK(parse_command(std::string(100'000, '['), "").error != "");
}

TEST_CASE("an answer is JSON whatever it says") {
  CHECK(answer_json({true, "run 5 is under way"}) == R"({"taken":true,"message":"run 5 is under way"})");
  CHECK(answer_json({false, "no \"go\"\xff"}) == R"({"taken":false,"message":"no \"go\"\\xff"})");
}

TEST_CASE("an alert has a window in seconds and a reason, or nothing") {
  const auto parsed = parse_alert(R"({"before_s": 10, "after_s": -2.5, "reason": "GRB"})", "10.0.0.1");
  REQUIRE(parsed.error == "");
  CHECK(parsed.command.burst);
  CHECK(parsed.command.parameters.at("reason") == "GRB");
  CHECK(std::stod(parsed.command.parameters.at("before_s")) == 10);
  CHECK(std::stod(parsed.command.parameters.at("after_s")) == -2.5);
  CHECK(parse_alert("", "").command.burst);
  CHECK(parse_alert("", "").error == "");
}

TEST_CASE("a malformed alert is refused with a reason") {
  for (const char* body : {"GRB", "[]", R"({"before": 1})", R"({"before_s": "10"})", R"({"reason": 5})"}) {
    INFO(body);
    CHECK(parse_alert(body, "").error != "");
  }
}

TEST_CASE("an annotation has a run and fields of text") {
  const auto parsed = parse_annotation(R"({"run": 12, "fields": {"quality": "bad", "hv": ""}})", "10.0.0.1");
  REQUIRE(parsed.error == "");
  CHECK(parsed.command.annotation);
  CHECK(parsed.command.parameters ==
        std::map<std::string, std::string>{{"run", "12"}, {"field.quality", "bad"}, {"field.hv", ""}});
  for (const char* body :
       {"", "[]", "{}", R"({"run": 12})", R"({"run": "12", "fields": {}})", R"({"run": 12, "fields": []})",
        R"({"run": 12, "fields": {"a": 1}})", R"({"run": 12, "fields": {}, "more": 1})"}) {
    INFO(body);
    CHECK(parse_annotation(body, "").error != "");
  }
}

TEST_CASE("a person's wish about an alarm has a verb, and nothing unknown") {
  const auto parsed =
      page::parse_alarm(R"({"what": "shelve", "alarm": "dead time", "person": "Ada", "for_s": 60})", "here");
  CHECK(parsed.error.empty());
  CHECK(parsed.command.alarm == "shelve");
  CHECK(parsed.command.parameters.at("alarm") == "dead time");
  CHECK(parsed.command.parameters.at("for_s") == "60");
  for (const char* wrong : {"", "[]", "{}", R"({"what": "dance"})", R"({"what": "ack", "alarm": 5})",
                            R"({"what": "ack", "for_s": "x"})", R"({"what": "ack", "who": "Ada"})"})
    CHECK_FALSE(page::parse_alarm(wrong, "here").error.empty());
}

TEST_CASE("an action names processes, keys and confirmations") {
  const ParsedCommand remove =
      parse_action(R"({"action": "remove", "nodes": ["dcm-1", "dcm-2"], "last": true})", "peer");
  CHECK(remove.error.empty());
  CHECK(remove.command.action == "remove");
  CHECK(remove.command.nodes == std::vector<std::string>{"dcm-1", "dcm-2"});
  CHECK(remove.command.last);
  const ParsedCommand level =
      parse_action(R"({"action": "log-level", "nodes": ["dcm-1"], "level": "debug"})", "");
  CHECK(level.command.parameters.at("level") == "debug");
  for (const char* wrong : {"", "[]", "{}", R"({"action": "kill"})", R"({"action": 1})",
                            R"({"action": "add", "nodes": "dcm-1"})", R"({"action": "add", "nodes": [1]})",
                            R"({"action": "add", "signal": "KILL"})", R"({"action": "unset", "all": 1})"}) {
    INFO(wrong);
    CHECK_FALSE(parse_action(wrong, "").error.empty());
  }
}

TEST_CASE("a shift leads runs, and an expert changes settings and the farm") {
  const auto role = [](const char* body) { return role_for(parse_action(body, "").command); };
  CHECK(role(R"({"action": "add", "nodes": ["a"]})") == PersonRole::shift);
  CHECK(role(R"({"action": "restart", "nodes": ["a"]})") == PersonRole::shift);
  CHECK(role(R"({"action": "try-settings", "sets": ["a=b"]})") == PersonRole::shift);
  for (const char* body : {R"({"action": "remove"})", R"({"action": "set"})", R"({"action": "unset"})",
                           R"({"action": "off"})", R"({"action": "log-level"})"})
    CHECK(role(body) == PersonRole::expert);
  CHECK(role_for(parse_command(R"({"command": "start"})", "").command) == PersonRole::shift);
  CHECK(role_for(parse_command(R"({"command": "configure"})", "").command) == PersonRole::shift);
  CHECK(role_for(parse_command(R"({"command": "configure", "parameters": {"set": "dcm.credits=1"}})", "")
                     .command) == PersonRole::expert);
  CHECK(role_for(parse_alert("", "").command) == PersonRole::shift);
  CHECK(role_for(parse_alarm(R"({"what": "ack"})", "").command) == PersonRole::shift);
}
