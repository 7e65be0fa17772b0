#include "commands.hpp"
#include "control_connection.hpp"
#include "python_command.hpp"
#include <weir/security/keys.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

constexpr const char* kScanFooter =
    "\nFILE has values of keys, and the length of the runs (docs/scans.md):\n"
    "  values: {dcm.credits: [4, 8, 16]}\n"
    "  duration_s: 60\n"
    "\nCtrl-C ends the current run; the same command continues the scan.\n"
    "\nExit status: 0 all runs are good, 1 some failed, 2 wrong file or command line, 3 no run control.";

struct ScanOptions {
  ConnectionOptions connection{{}, {}, {}, "operator"};
  std::string file;
  std::string results;
  double timeout_s = 5;
  bool plan = false;
};

int run_scan(const ScanOptions& options) {
  std::vector<std::string> arguments = {options.file, "--timeout", fmt::format("{}", options.timeout_s)};
  if (!options.results.empty()) arguments.insert(arguments.end(), {"--results", options.results});
  if (options.plan) {
    arguments.emplace_back("--plan");
    return run_python("scan", "scan", arguments);
  }
  try {
    const ControlConnection at = control_connection(options.connection);
    arguments.insert(arguments.end(), {"--connect", fmt::format("{}:{}", at.client.host, at.client.port)});
    if (!at.keys.empty())
      arguments.insert(arguments.end(),
                       {"--keys", at.keys + "/" + security::curve_file(security::BusRole::operator_)});
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir scan: {}\n", error.what());
    return kUsage;
  }
  return run_python("scan", "scan", arguments);
}

}  // namespace

void add_scan(CLI::App& app, int& status) {
  auto options = std::make_shared<ScanOptions>();
  CLI::App* scan =
      app.add_subcommand("scan", "Take runs over values of farm-file keys, and resume such a scan");
  scan->footer(kScanFooter);
  scan->add_option("FILE", options->file, "values and length of the runs (YAML, or JSON)")->required();
  scan->add_option(
          "--results", options->results,
          "file with a line of JSON a run, from which the scan resumes (default: FILE.results.jsonl)")
      ->type_name("FILE");
  scan->add_flag("--plan", options->plan, "print the runs that are left and their time, and take none");
  add_connection_options(*scan, options->connection);
  scan->add_option("--timeout", options->timeout_s, "seconds to wait for an answer (default 5)")
      ->take_last()
      ->check(CLI::Range(0.1, 3600.0));
  scan->callback([options, &status] { status = run_scan(*options); });
}

}  // namespace weir::commands
