#include "command.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weir::page {
namespace {

namespace json = boost::json;

constexpr std::size_t kParametersMax = 32;
constexpr std::size_t kAnswerBytesMax = 4000;

std::string as_text(const json::value& value) {
  if (const auto* text = value.if_string()) return {text->begin(), text->end()};
  return json::serialize(value);
}

}  // namespace

ParsedCommand parse_command(const std::string& body, const std::string& peer) {
  boost::system::error_code bad;
  const json::value value = json::parse(body, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  if (object == nullptr) return {{}, "the body is not a JSON object: send {\"command\": \"start\"}"};
  ParsedCommand parsed;
  parsed.command.peer = peer;
  const json::value* name = object->if_contains("command");
  const auto kind = name != nullptr && name->is_string() ? control::command_of(as_text(*name)) : std::nullopt;
  // Processes cannot be ended from a browser.
  if (!kind || *kind == control::Command::off)
    return {{}, "\"command\" is one of init, configure, start, pause, continue, stop, reset"};
  parsed.command.kind = *kind;
  for (const auto& member : *object) {
    if (member.key() != "command" && member.key() != "parameters")
      return {{},
              "\"" + clean_text(member.key(), 100) + "\" is unknown; the keys are command and parameters"};
  }
  const json::value* parameters = object->if_contains("parameters");
  if (parameters == nullptr) return parsed;
  if (!parameters->is_object() || parameters->get_object().size() > kParametersMax)
    return {{}, "\"parameters\" is an object of at most " + std::to_string(kParametersMax) + " members"};
  for (const auto& member : parameters->get_object()) {
    if (member.value().is_structured() || member.value().is_null())
      return {{}, "each of \"parameters\" is a text, a number or a boolean"};
    parsed.command.parameters[std::string(member.key())] = as_text(member.value());
  }
  return parsed;
}

ParsedCommand parse_alert(const std::string& body, const std::string& peer) {
  boost::system::error_code bad;
  const json::value value = json::parse(body.empty() ? "{}" : body, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  if (object == nullptr)
    return {{},
            "the body is not a JSON object: send {\"before_s\": 10, \"after_s\": 5, \"reason\": \"GRB\"}"};
  ParsedCommand parsed;
  parsed.command.burst = true;
  parsed.command.peer = peer;
  for (const auto& member : *object) {
    const bool time = member.key() == "before_s" || member.key() == "after_s";
    if (!time && member.key() != "reason")
      return {
          {},
          "\"" + clean_text(member.key(), 100) + "\" is unknown; the keys are before_s, after_s and reason"};
    if (time ? !member.value().is_number() : !member.value().is_string())
      return {{}, "before_s and after_s are numbers of seconds, reason is a text"};
    parsed.command.parameters[std::string(member.key())] = as_text(member.value());
  }
  return parsed;
}

ParsedCommand parse_annotation(const std::string& body, const std::string& peer) {
  boost::system::error_code bad;
  const json::value value = json::parse(body, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  const json::value* run = object == nullptr ? nullptr : object->if_contains("run");
  const json::value* fields = object == nullptr ? nullptr : object->if_contains("fields");
  if (run == nullptr || !run->is_number() || fields == nullptr || !fields->is_object() || object->size() != 2)
    return {{}, "the body is not an annotation: send {\"run\": 12, \"fields\": {\"quality\": \"bad\"}}"};
  if (fields->get_object().size() > kParametersMax)
    return {{}, "an annotation has at most " + std::to_string(kParametersMax) + " fields"};
  ParsedCommand parsed;
  parsed.command.annotation = true;
  parsed.command.peer = peer;
  parsed.command.parameters["run"] = as_text(*run);
  for (const auto& member : fields->get_object()) {
    if (!member.value().is_string()) return {{}, "each field is a text"};
    parsed.command.parameters["field." + std::string(member.key())] = as_text(member.value());
  }
  return parsed;
}

ParsedCommand parse_alarm(const std::string& body, const std::string& peer) {
  boost::system::error_code bad;
  const json::value value = json::parse(body, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  if (object == nullptr)
    return {{},
            "the body is not a JSON object: send {\"what\": \"ack\", \"alarm\": \"blocked\", \"person\": "
            "\"Ada\"}"};
  ParsedCommand parsed;
  parsed.command.peer = peer;
  for (const auto& member : *object) {
    const bool text = member.key() == "what" || member.key() == "alarm" || member.key() == "person";
    if (!text && member.key() != "for_s")
      return {
          {},
          "\"" + clean_text(member.key(), 100) + "\" is unknown; the keys are what, alarm, person and for_s"};
    if (text ? !member.value().is_string() : !member.value().is_number())
      return {{}, "what, alarm and person are texts, for_s is a number of seconds"};
    parsed.command.parameters[std::string(member.key())] = as_text(member.value());
  }
  parsed.command.alarm = parsed.command.parameters["what"];
  if (parsed.command.alarm != "ack" && parsed.command.alarm != "shelve" &&
      parsed.command.alarm != "unshelve" && parsed.command.alarm != "test")
    return {{}, "\"what\" is one of ack, shelve, unshelve, test"};
  return parsed;
}

namespace {

constexpr std::string_view kActions[] = {"add",   "remove",       "restart", "log-level", "set",
                                         "unset", "try-settings", "form",    "off"};
constexpr std::size_t kListMax = 1024;

// Returns false if the value is not a list of texts.
bool read_list(const json::value& value, std::vector<std::string>& list) {
  const json::array* array = value.if_array();
  if (array == nullptr || array->size() > kListMax) return false;
  for (const json::value& one : *array) {
    if (!one.is_string()) return false;
    list.push_back(as_text(one));
  }
  return true;
}

}  // namespace

ParsedCommand parse_action(const std::string& body, const std::string& peer) {
  boost::system::error_code bad;
  const json::value value = json::parse(body, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  const json::value* action = object == nullptr ? nullptr : object->if_contains("action");
  if (action == nullptr || !action->is_string())
    return {{}, "the body is not an action: send {\"action\": \"restart\", \"nodes\": [\"dcm-1\"]}"};
  ParsedCommand parsed;
  parsed.command.peer = peer;
  parsed.command.action = as_text(*action);
  if (std::ranges::find(kActions, parsed.command.action) == std::end(kActions))
    return {{}, "\"action\" is one of add, remove, restart, log-level, set, unset, try-settings, form, off"};
  for (const auto& member : *object) {
    const std::string key(member.key());
    bool good = key == "action";
    if (key == "nodes") good = read_list(member.value(), parsed.command.nodes);
    if (key == "sets") good = read_list(member.value(), parsed.command.sets);
    if (key == "all" || key == "last") good = member.value().is_bool();
    if (key == "all" && good) parsed.command.all = member.value().get_bool();
    if (key == "last" && good) parsed.command.last = member.value().get_bool();
    if (key == "level") good = member.value().is_string();
    if (key == "level" && good) parsed.command.parameters[key] = as_text(member.value());
    if (!good)
      return {{},
              "\"" + clean_text(key, 100) +
                  "\" is unknown or of the wrong kind: nodes and sets are lists of texts, all and last "
                  "true or false, level a text"};
  }
  return parsed;
}

PersonRole role_for(const RequestedCommand& command) {
  if (!command.action.empty()) {
    const bool harmless = command.action == "add" || command.action == "restart" ||
                          command.action == "try-settings" || command.action == "form";
    return harmless ? PersonRole::shift : PersonRole::expert;
  }
  const bool sets = command.parameters.contains("set") && !command.parameters.at("set").empty();
  return command.kind == control::Command::configure && sets ? PersonRole::expert : PersonRole::shift;
}

std::string person_json(const Person* person) {
  if (person == nullptr) return answer_json({false, "this token is unknown"});
  return json::serialize(json::object{{"taken", true},
                                      {"message", "this is the operator's token"},
                                      {"role", name(person->role)},
                                      {"name", clean_text(person->name, kAnswerBytesMax)}});
}

std::string answer_json(const CommandAnswer& answer) {
  std::string text = json::serialize(
      json::object{{"taken", answer.taken}, {"message", clean_text(answer.message, kAnswerBytesMax)}});
  if (answer.document.empty()) return text;
  WEIR_ASSERT(text.ends_with('}'));
  text.pop_back();
  return text + ",\"document\":" + answer.document + "}";
}

}  // namespace weir::page
