#include "help_table.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace weir::commands {
namespace {

// "TEXT:{a,b}" -> {"a", "b"}
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}', begin);
  if (begin == type.npos || end == type.npos) return choices;
  std::string one;
  for (const char letter : type.substr(begin + 1, end - begin - 1)) {
    if (letter == ',') choices.push_back(std::exchange(one, {}));
    if (letter != ',') one += letter;
  }
  choices.push_back(one);
  return choices;
}

HelpOption option_of(const CLI::Option& option) {
  HelpOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.is_positional = out.names.empty();
  if (out.is_positional) out.names.push_back(option.get_name(true));
  out.text = option.get_description();
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    out.choices = choices_of(type);
    out.value = type.substr(0, type.find(":{"));
    const std::string_view kPaths[] = {"FILE", "DIR", "FARM", "FOLDER", "PLUGIN", "RUN"};
    const std::string& shown = out.is_positional ? out.names.front() : out.value;
    out.is_file = std::any_of(std::begin(kPaths), std::end(kPaths),
                              [&](std::string_view path) { return shown.starts_with(path); });
  }
  return out;
}

void add(const CLI::App& app, const std::vector<std::string>& words, std::vector<HelpCommand>& out) {
  HelpCommand command;
  command.words = words;
  command.text = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) command.options.push_back(option_of(*option));
  const auto shown = app.get_subcommands(
      [](const CLI::App* one) { return !one->get_group().empty() && !one->get_name().empty(); });
  for (const CLI::App* one : shown) command.subcommands.push_back(one->get_name());
  out.push_back(std::move(command));
  for (const CLI::App* one : shown) {
    std::vector<std::string> below = words;
    below.push_back(one->get_name());
    add(*one, below, out);
  }
}

}  // namespace

std::vector<HelpCommand> help_table(const CLI::App& app) {
  std::vector<HelpCommand> table;
  add(app, {}, table);
  return table;
}

}  // namespace weir::commands
