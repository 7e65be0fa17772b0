#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace weir::commands {

// An option as shells and manuals need it: "--slices", "N", "number of slices …".
struct HelpOption {
  std::vector<std::string> names;  // with their dashes; of a positional argument its name alone
  std::string value;               // "" for a flag
  std::vector<std::string> choices;
  std::string text;
  bool is_file = false;
  bool is_positional = false;
};

struct HelpCommand {
  std::vector<std::string> words;  // {"file", "ls"}; empty: weir itself
  std::string text;
  std::string footer;
  std::vector<HelpOption> options;
  std::vector<std::string> subcommands;
};

// Returns every command that `weir --help` shows, parents first: the one table of completions and manual
// pages.
[[nodiscard]] std::vector<HelpCommand> help_table(const CLI::App& app);

}  // namespace weir::commands
