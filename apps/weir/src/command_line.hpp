#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

// Sentences for errors in a command line.
namespace weir::commands {

// No option of the app and its commands takes a negative number from then on, unless its description has
// "negative: ": CLI11 reads -3 as 2^64 - 3. No option takes an infinite value or NaN, which CLI11 finds in
// every range.
void refuse_wrong_numbers(CLI::App& app);

// Replaces files of the source tree in help texts by those installed beside this program, if they exist.
void name_installed_files(CLI::App& app);

// `words`: the arguments after the program's name. Returns a sentence if a command or an option is missing
// that CLI11 calls a missing subcommand; empty if none is found.
[[nodiscard]] std::string missing_command(const CLI::App& app, const std::vector<std::string>& words);

// Explains CLI11's error for a command line in a sentence with the command that the words name: "weir ctl
// start: 'x' is not a number: run; `weir ctl start --help` says more".
[[nodiscard]] std::string parse_sentence(const CLI::App& app, const CLI::ParseError& error,
                                         const std::vector<std::string>& words);

}  // namespace weir::commands
