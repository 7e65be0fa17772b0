#pragma once

#include <weir/page/people.hpp>
#include <weir/page/state.hpp>

#include <string>

namespace weir::page {

struct ParsedCommand {
  RequestedCommand command;
  std::string error;  // empty: the command is valid
};
// Parses {"command": "start", "parameters": {"run": 5}}. Parameters are texts, numbers or booleans, and
// become texts.
[[nodiscard]] ParsedCommand parse_command(const std::string& body, const std::string& peer);
// Parses {"before_s": 10, "after_s": 5, "reason": "GRB"}; an empty body is an alert without a window of its
// own.
[[nodiscard]] ParsedCommand parse_alert(const std::string& body, const std::string& peer);
// Likewise for an annotation of a run.
[[nodiscard]] ParsedCommand parse_annotation(const std::string& body, const std::string& peer);
// Parses {"what": "ack", "alarm": "blocked", "person": "Ada", "for_s": 3600}.
[[nodiscard]] ParsedCommand parse_alarm(const std::string& body, const std::string& peer);
// Parses {"action": "remove", "nodes": ["dcm-1"], "last": true}; further keys are sets, all and level.
[[nodiscard]] ParsedCommand parse_action(const std::string& body, const std::string& peer);
// Returns the least role that may give this command.
[[nodiscard]] PersonRole role_for(const RequestedCommand& command);
// Returns the owner of a token: {"taken": true, "role": …, "name": …}; null: unknown.
[[nodiscard]] std::string person_json(const Person* person);
// Returns {"taken": …, "message": …}.
[[nodiscard]] std::string answer_json(const CommandAnswer& answer);

}  // namespace weir::page
