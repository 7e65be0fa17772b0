#include "command_line.hpp"

#include <weir/config/suggest.hpp>
#include <weir/node/paths.hpp>

#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

namespace weir::commands {
namespace {

const auto kAll = [](const CLI::App*) { return true; };

std::string meant(const std::string& word, const std::vector<std::string>& known,
                  const std::string& otherwise) {
  const auto near = config::nearest(word, known);
  return near ? ": did you mean '" + *near + "'?" : otherwise;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  if (app.get_parent() == nullptr) names.emplace_back("--version");  // the command's other name
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

void refuse_negative(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!takes_value(option)) continue;
    option->check([name = option->get_name()](const std::string& value) -> std::string {
      const bool negative =
          value.size() > 1 && value[0] == '-' && std::isdigit(static_cast<unsigned char>(value[1]));
      return negative ? value + " is negative" : std::string();
    });
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_negative(*command);
}

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    const bool in_word =
        at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '/');
    if (in_word) {
      ++at;
    } else {
      text.replace(at, from.size(), to);
    }
  }
}

std::string with_installed(std::string text, const std::string& share) {
  for (const auto& [from, to] :
       {std::pair("configs/", "/weir/configs/"), std::pair("docs/", "/doc/weir/docs/"),
        std::pair("plugins/udp/README.md", "/doc/weir/plugins/udp/README.md")})
    replace_all(text, from, share + to);
  return text;
}

void name_files(CLI::App& app, const std::string& share) {
  app.footer(with_installed(app.get_footer(), share));
  for (CLI::Option* option : app.get_options())
    option->description(with_installed(option->get_description(), share));
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) name_files(*command, share);
}

}  // namespace

void name_installed_files(CLI::App& app) {
  const std::filesystem::path share = std::filesystem::path(node::program_folder()).parent_path() / "share";
  std::error_code none;
  if (std::filesystem::exists(share / "doc/weir/docs/configuration.md", none))
    name_files(app, share.string());
}

std::string missing_command(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  std::string name = "weir";
  for (std::size_t i = 0; app->get_require_subcommand_min() > 0; ++i) {
    std::vector<std::string> known;
    std::string list;
    for (const CLI::App* command : app->get_subcommands(kAll)) {
      known.push_back(command->get_name());
      list += (list.empty() ? "" : ", ") + command->get_name();
    }
    if (i >= words.size()) return name + ": which command? " + list + "; `" + name + " --help` says more\n";
    const std::string& word = words[i];
    if (word.starts_with('-')) {
      const std::string flag = word.substr(0, word.find('='));
      const CLI::Option* option = app->get_option_no_throw(flag);
      if (option == nullptr)
        return name + ": unknown option '" + flag + "'" +
               meant(flag, options_of(*app), "; `" + name + " --help` lists them") + "\n";
      if (option == app->get_help_ptr()) return {};
      if (takes_value(option) && flag == word) ++i;
      continue;
    }
    const CLI::App* next = nullptr;
    for (const CLI::App* command : app->get_subcommands(kAll))
      next = command->check_name(word) ? command : next;
    if (next == nullptr)
      return name + ": unknown command '" + word + "'" + meant(word, known, "; there are " + list) + "\n";
    name += " " + word;
    app = next;
  }
  return {};
}

}  // namespace weir::commands
