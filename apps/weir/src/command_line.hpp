#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

// What a command line gets wrong, as sentences.
namespace weir::commands {

// No option of the app and its commands takes a negative number from then on: CLI11 reads -3 as 2^64 - 3.
void refuse_negative(CLI::App& app);

// Help that names files of the source tree names those that were installed beside this program, where they
// were.
void name_installed_files(CLI::App& app);

// `words`: what follows the program's name. A sentence where a command or an option is missing that CLI11
// calls a missing subcommand; empty when all is well, as far as is seen here.
[[nodiscard]] std::string missing_command(const CLI::App& app, const std::vector<std::string>& words);

// Explains why CLI11 refuses a command line, in a sentence with the command that the words name:
// "weir ctl start: 'x' is not a number: run; `weir ctl start --help` says more".
[[nodiscard]] std::string parse_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace weir::commands
