#include <weir/filter_try/command_json.hpp>

#include <boost/json.hpp>

#include <exception>

namespace weir::filter_try {
namespace {

namespace json = boost::json;

json::object to_object(const TrialOptions& options) {
  json::array parameters;
  for (const auto& [name, value] : options.parameters) parameters.push_back(json::array{name, value});
  json::array groups;
  for (const filter_host::NamedSources& group : options.groups)
    groups.push_back(json::object{{"name", group.name}, {"sources", json::value_from(group.sources)}});
  json::object object{{"parameters", std::move(parameters)},
                      {"groups", std::move(groups)},
                      {"jobs", options.jobs},
                      {"repeat", options.repeat}};
  if (options.first_sources) object["first_sources"] = json::value_from(*options.first_sources);
  if (options.slice) object["slice"] = options.slice->value;
  return object;
}

TrialOptions options_of(const json::object& object) {
  TrialOptions options;
  for (const json::value& parameter : object.at("parameters").as_array())
    options.parameters.push_back(json::value_to<std::pair<std::string, std::string>>(parameter));
  for (const json::value& group : object.at("groups").as_array())
    options.groups.push_back({json::value_to<std::string>(group.at("name")),
                              json::value_to<std::vector<std::uint32_t>>(group.at("sources"))});
  options.jobs = object.at("jobs").to_number<std::uint32_t>();
  options.repeat = object.at("repeat").to_number<std::uint32_t>();
  if (const json::value* first = object.if_contains("first_sources"))
    options.first_sources = json::value_to<std::vector<std::uint32_t>>(*first);
  if (const json::value* slice = object.if_contains("slice"))
    options.slice = SliceId(slice->to_number<std::uint64_t>());
  return options;
}

}  // namespace

std::string to_json(const TryCommand& command) {
  return json::serialize(json::object{{"plugin", command.plugin},
                                      {"recording", command.recording},
                                      {"run", command.run},
                                      {"search_path", json::value_from(command.search_path)},
                                      {"against", command.against},
                                      {"trial", to_object(command.trial)},
                                      {"list", command.list},
                                      {"json", command.json},
                                      {"lines_max", command.lines_max}});
}

Expected<TryCommand, std::string> parse_command(const std::string& text) {
  try {
    const json::object object = json::parse(text).as_object();
    TryCommand command;
    command.plugin = json::value_to<std::string>(object.at("plugin"));
    command.recording = json::value_to<std::string>(object.at("recording"));
    command.run = object.at("run").to_number<std::uint32_t>();
    command.search_path = json::value_to<std::vector<std::string>>(object.at("search_path"));
    command.against = json::value_to<std::string>(object.at("against"));
    command.trial = options_of(object.at("trial").as_object());
    command.list = object.at("list").as_bool();
    command.json = object.at("json").as_bool();
    command.lines_max = object.at("lines_max").to_number<std::uint32_t>();
    return command;
  } catch (const std::exception& problem) {
    return Unexpected<std::string>(std::string("its settings are not those of a trial: ") + problem.what());
  }
}

}  // namespace weir::filter_try
