#include "commands.hpp"
#include "farm_project.hpp"
#include "field_options.hpp"
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace weir::commands {
namespace {

constexpr const char* kRunFooter =
    "\nCtrl-C ends the run: slices in flight are completed, and the summary is printed. A second Ctrl-C "
    "kills it.\n"
    "\nExit status:\n"
    "  0  the ledger balances and every process ended well\n"
    "  3  the ledger balances, with faults survived (the summary names them)\n"
    "  2  a wrong command line, farm or lab file, or no rights for a lab\n"
    "  1  anything else; the reason is printed\n"
    "\nThe folder of --out gets run-NNNNNN-WRITER-NNNN.weir (data), run-NNNNNN-begin.yaml, -farm.yaml and\n"
    "-end.json (records) and log/. If the folder already has the run number, the next free one is used.";

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<run::RunOptions>();
  auto fields = std::make_shared<RunFieldOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a whole farm on this machine");
  command->footer(kRunFooter);
  command
      ->add_option("FARM", options->farm.farm_file,
                   "farm file (YAML), or a folder with farm.yaml, which is entered")
      ->required();
  command->add_option("--slices", options->slices, "number of slices after which the run ends")
      ->type_name("N");
  command->add_option("--duration", options->duration_s, "seconds after which the run ends")->type_name("S");
  command
      ->add_option("--set", options->farm.sets,
                   "key of the farm file with its value, or of the lab file with the prefix lab.; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--lab", options->lab_file,
                   "lab file: run in the virtual network that it describes (docs/lab.md); needs root")
      ->type_name("FILE");
  command
      ->add_option("--trace-network", options->trace_network,
                   "file for the lab's link use, queues and requests over time (1 kHz), for ./dev plots")
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder for data, records and logs, instead of run.out")
      ->type_name("DIR");
  command->add_option("--log-level", options->log_level, "log level of the processes, instead of log.level")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
  command
      ->add_option("--summary", options->summary_file,
                   "further file for the summary, as JSON (docs/summary.md)")
      ->type_name("FILE");
  command
      ->add_option("--page", options->page, "address of the farm's page during the run; port 0: any free one")
      ->type_name("HOST:PORT");
  add_field_options(*command, *fields);
  command->add_flag("--quiet", options->quiet, "print only problems");
  command->callback([options, fields, &status] {
    try {
      options->fields = fields->given();
    } catch (const std::invalid_argument& error) {
      fmt::print(stderr, "weir run: {}\n", error.what());
      status = kUsage;
      return;
    }
    for (std::string* path :
         {&options->out, &options->summary_file, &options->trace_network, &options->lab_file})
      keep_path(options->farm.farm_file, *path);
    enter_farm_folder(options->farm.farm_file);
    status = run::run_farm(*options, stdout, stderr);
  });
}

}  // namespace weir::commands
