// Completion for shells, from the table of the commands' help.
#include "commands.hpp"
#include "help_table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

std::string first_sentence(const std::string& text) { return text.substr(0, text.find_first_of(";\n")); }

// Quoted for a shell: within '…'.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

std::vector<std::string> names_of(const HelpCommand& command) {
  std::vector<std::string> names = command.subcommands;
  for (const HelpOption& option : command.options)
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The path is that of the subcommand before the cursor: "file/ls".
constexpr const char* kBashHead = R"(# bash completion of weir; made by `weir completion bash`
_weir() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path="" word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " ${_weir_paths} " in *" ${path:+$path/}$word "*) path="${path:+$path/}$word" ;; esac
  done
)";

std::string bash(const std::vector<HelpCommand>& table) {
  std::string paths;
  std::string values;
  std::string words;
  for (const HelpCommand& command : table) {
    const std::string path = fmt::format("{}", fmt::join(command.words, "/"));
    if (!path.empty()) paths += (paths.empty() ? "" : " ") + path;
    words += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, fmt::join(names_of(command), " "));
    for (const HelpOption& option : command.options) {
      if (option.is_positional || option.value.empty()) continue;
      for (const std::string& name : option.names) {
        const std::string reply =
            option.choices.empty()
                ? std::string("compopt -o default 2>/dev/null")
                : fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", fmt::join(option.choices, " "));
        values += fmt::format("    \"{} {}\") {}; return ;;\n", path, name, reply);
      }
    }
  }
  return fmt::format(
      "_weir_paths=\"{}\"\n{}  case \"$path $prev\" in\n{}  esac\n  local words=\"\"\n  case \"$path\" "
      "in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  [ ${{#COMPREPLY[@]}} -gt 0 ] || compopt -o default 2>/dev/null\n}}\ncomplete -F _weir weir\n",
      paths, kBashHead, values, words);
}

std::string zsh(const std::vector<HelpCommand>& table) {
  std::string out =
      "#compdef weir\n# zsh completion of weir; made by `weir completion zsh`\n"
      "_weir() {\n  local place=\"\" word\n  local -a commands options\n"
      "  local -a known=(";
  for (const HelpCommand& command : table)
    if (!command.words.empty()) out += in_quotes(fmt::format("{}", fmt::join(command.words, "/"))) + " ";
  out +=
      ")\n  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    if (( ${known[(Ie)${place:+$place/}$word]} )); then place=\"${place:+$place/}$word\"; fi\n  done\n"
      "  case \"$place\" in\n";
  const auto described = [](const std::string& name, const std::string& text) {
    std::string escaped;
    for (const char letter : first_sentence(text))
      escaped += letter == ':' ? std::string("\\:") : std::string(1, letter);
    return in_quotes(name + ":" + escaped) + " ";
  };
  for (const HelpCommand& command : table) {
    out += fmt::format("    \"{}\")\n      commands=(", fmt::join(command.words, "/"));
    for (const HelpCommand& below : table) {
      if (below.words.size() != command.words.size() + 1) continue;
      if (!std::equal(command.words.begin(), command.words.end(), below.words.begin())) continue;
      out += described(below.words.back(), below.text);
    }
    out += ")\n      options=(";
    for (const HelpOption& option : command.options) {
      if (option.is_positional) continue;
      for (const std::string& name : option.names) out += described(name, option.text);
    }
    out += ") ;;\n";
  }
  return out +
         "  esac\n  (( ${#commands} )) && _describe 'command' commands\n"
         "  [[ $PREFIX == -* ]] && _describe 'option' options\n  _files\n}\n"
         "if [ \"$funcstack[1]\" = _weir ]; then _weir; else compdef _weir weir; fi\n";
}

std::string fish(const std::vector<HelpCommand>& table) {
  std::string out = "# fish completion of weir; made by `weir completion fish`\n";
  for (const HelpCommand& command : table) {
    std::string where = command.words.empty() ? "__fish_use_subcommand" : "";
    for (const std::string& word : command.words)
      where += (where.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    for (const HelpCommand& below : table) {
      if (below.words.size() != command.words.size() + 1) continue;
      if (!std::equal(command.words.begin(), command.words.end(), below.words.begin())) continue;
      out += fmt::format("complete -c weir -n {} -a {} -d {}\n", in_quotes(where), below.words.back(),
                         in_quotes(first_sentence(below.text)));
    }
    for (const HelpOption& option : command.options) {
      if (option.is_positional) continue;
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string choices =
          option.choices.empty()
              ? ""
              : fmt::format(" -xa {}", in_quotes(fmt::format("{}", fmt::join(option.choices, " "))));
      out += fmt::format("complete -c weir -n {}{}{}{} -d {}\n", in_quotes(where), names,
                         option.value.empty() ? "" : " -r", choices, in_quotes(first_sentence(option.text)));
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app, int& status) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print the completion of commands and options for a shell");
  command->footer(
      "\nbash: weir completion bash > ~/.local/share/bash-completion/completions/weir\n"
      "zsh:  weir completion zsh > \"${fpath[1]}/_weir\"\n"
      "fish: weir completion fish > ~/.config/fish/completions/weir.fish");
  command->add_option("SHELL", *shell, "shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &status] {
    const std::vector<HelpCommand> table = help_table(app);
    const std::string text = *shell == "bash" ? bash(table) : *shell == "zsh" ? zsh(table) : fish(table);
    std::fputs(text.c_str(), stdout);
    status = 0;
  });
}

}  // namespace weir::commands
