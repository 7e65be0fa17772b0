#include "command_line.hpp"
#include "commands.hpp"
#include <weir/node/process.hpp>
#include <weir/node/standard_output.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

constexpr weir::commands::AddCommand kCommands[] = {
    weir::commands::add_demo,  weir::commands::add_new_farm,   weir::commands::add_run,
    weir::commands::add_check, weir::commands::add_file,       weir::commands::add_filter,
    weir::commands::add_emit,  weir::commands::add_ctl,        weir::commands::add_lab,
    weir::commands::add_bench, weir::commands::add_keys,       weir::commands::add_tap,
    weir::commands::add_top,   weir::commands::add_up,         weir::commands::add_version,
    weir::commands::add_wire,  weir::commands::add_completion, weir::commands::add_manual,
    weir::commands::add_plan,  weir::commands::add_source,     weir::commands::add_probe,
    weir::commands::add_soak,  weir::commands::add_size,       weir::commands::add_runs,
    weir::commands::add_alarm, weir::commands::add_scan,
};

constexpr const char* kDescription =
    "Weir builds events: it collects the fragments of many detector readouts into whole slices,\n"
    "runs a trigger algorithm on them, and stores the accepted ones.\n";

constexpr const char* kFooter =
    "\nA first run with an emulated detector on this machine:\n"
    "  weir demo                          a small farm with a page; Ctrl-C ends it\n"
    "  weir new my-farm && weir run my-farm   a farm of your own, in Python\n"
    "\nThe same step by step:\n"
    "  weir check configs/demo.yaml       check the farm file and its needs\n"
    "  weir run configs/demo.yaml         run the farm; Ctrl-C ends it early\n"
    "  weir file ls run/demo/*.weir       list the stored slices\n"
    "\nOther settings without changing the file:\n"
    "  weir run configs/event-building.yaml --slices 10000 --set dcm.count=3\n"
    "\ndocs/configuration.md lists every key of a farm file.";

// The arguments after `weir`. `weir help run` means `weir run --help`, `weir --version` means `weir version`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "--version") words.front() = "version";
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

int run_command(int argc, char** argv) {
  int status = 0;
  CLI::App app(kDescription, "weir");
  app.require_subcommand(1);
  for (const auto add : kCommands) add(app, status);
  weir::commands::refuse_wrong_numbers(app);
  app.footer(kFooter);  // not earlier: the commands would inherit it
  weir::commands::name_installed_files(app);
  std::vector<std::string> words = words_of(argc, argv);
  if (const std::string sentence = weir::commands::missing_command(app, words); !sentence.empty()) {
    std::fputs(sentence.c_str(), stderr);
    return weir::commands::kUsage;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as it takes them
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help, version
    std::fputs(weir::commands::parse_sentence(app, error, words).c_str(), stderr);
    return weir::commands::kUsage;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  weir::node::prepare_process();
  int status = 1;
  try {
    status = run_command(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir: %s\n", error.what());
  }
  return weir::node::status_with_output(status);
}
