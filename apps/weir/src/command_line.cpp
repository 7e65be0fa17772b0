#include "command_line.hpp"

#include <weir/config/suggest.hpp>
#include <weir/node/paths.hpp>

#include <cctype>
#include <cmath>
#include <cstdlib>
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

void refuse_wrong_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool may_be_negative = option->get_description().find("negative: ") != std::string::npos;
    if (!takes_value(option) || may_be_negative) continue;
    const std::string type = option->get_type_name();
    const bool is_real = type == "S" || type.find("FLOAT") != type.npos;
    option->check([is_real](const std::string& value) -> std::string {
      if (is_real && !std::isfinite(std::strtod(value.c_str(), nullptr))) return value + " is not a number";
      const bool negative =
          value.size() > 1 && value[0] == '-' && std::isdigit(static_cast<unsigned char>(value[1]));
      return negative ? value + " is negative" : std::string();
    });
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    refuse_wrong_numbers(*command);
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

namespace {

// The command named by the words, as far as it is complete.
std::string command_of(const CLI::App& root) {
  std::string name = root.get_name().empty() ? "weir" : root.get_name();
  for (const CLI::App* app = &root; !app->get_subcommands().empty();) {
    app = app->get_subcommands().front();
    name += " " + app->get_name();
  }
  return name;
}

// Returns "unknown option '--comment'", if the words have one. A word that follows an option may be its
// value.
std::string unknown_option(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string flag = words[i].substr(0, words[i].find('='));
    if (!flag.starts_with("--")) {
      for (const CLI::App* command : app->get_subcommands(kAll))
        app = command->check_name(flag) ? command : app;
      continue;
    }
    const CLI::Option* option = nullptr;
    for (const CLI::App* one = app; one != nullptr && option == nullptr; one = one->get_parent())
      option = one->get_option_no_throw(flag);
    if (option == nullptr) return "unknown option '" + flag + "'" + meant(flag, options_of(*app), "");
    if (takes_value(option) && flag == words[i]) ++i;
  }
  return {};
}

std::string sentence_of(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string could_not = "Could not convert: ";
  if (text.starts_with(could_not)) {
    const std::size_t equals = text.find(" = ", could_not.size());
    const std::string name = text.substr(could_not.size(), equals - could_not.size());
    const std::string value = equals == text.npos ? "" : text.substr(equals + 3);
    return name + ": '" + value + "' is not a number in range";
  }
  const std::string required = " is required";
  if (text.ends_with(required)) return text.substr(0, text.size() - required.size()) + " is missing";
  for (const std::string not_expected :
       {"The following argument was not expected: ", "The following arguments were not expected: "}) {
    if (text.starts_with(not_expected)) return "unexpected: " + text.substr(not_expected.size());
  }
  // "--set: 1 required KEY=VALUE missing"
  const std::string one = ": 1 required ";
  const std::string missing = " missing";
  if (const std::size_t at = text.find(one); at != text.npos && text.ends_with(missing)) {
    const std::size_t from = at + one.size();
    return text.substr(0, at) + ": " + text.substr(from, text.size() - missing.size() - from) + " is missing";
  }
  // "--timeout: Value 0 not in range [0.1 - 3600]" or "... in range 0.1 to 3600" of older versions, "--as:
  // boss not in {operator,observer}"
  std::string ours = text;
  if (const std::size_t at = ours.find(": Value "); at != ours.npos) ours.replace(at, 8, ": ");
  if (const std::size_t at = ours.find(" not in range "); at != ours.npos)
    ours.replace(at, 14, " is outside the range ");
  if (const std::size_t at = ours.find(" not in {"); at != ours.npos) ours.replace(at, 9, " is none of {");
  return ours;
}

}  // namespace

std::string parse_sentence(const CLI::App& app, const CLI::ParseError& error,
                           const std::vector<std::string>& words) {
  const std::string command = command_of(app);
  if (const std::string unknown = unknown_option(app, words); !unknown.empty())
    return command + ": " + unknown + "; `" + command + " --help` lists them\n";
  return command + ": " + sentence_of(error) + "; `" + command + " --help` says more\n";
}

}  // namespace weir::commands
