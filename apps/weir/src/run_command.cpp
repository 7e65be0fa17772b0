#include "commands.hpp"
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {
namespace {

constexpr const char* kRunFooter =
    "\nCtrl-C ends the run: slices in flight are finished, the summary is printed. Ctrl-C again kills.\n"
    "\nExit status:\n"
    "  0  the ledger balances and every process ended well\n"
    "  3  the ledger balances, with faults survived (the summary names them)\n"
    "  2  a wrong command line, farm or lab file, or no rights for a lab\n"
    "  1  anything else; the reason is printed\n"
    "\nThe folder of --out gets run-NNNNNN-WRITER-NNNN.weir (data), run-NNNNNN-begin.yaml, -farm.yaml and\n"
    "-end.json (records) and log/. A run number that is taken there is counted up.";

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto options = std::make_shared<run::RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a whole farm on this machine");
  command->footer(kRunFooter);
  command->add_option("FARM", options->farm.farm_file, "farm file (YAML)")->required();
  command->add_option("--slices", options->slices, "end the run after so many slices")->type_name("N");
  command->add_option("--duration", options->duration_s, "end the run after so many seconds")->type_name("S");
  command
      ->add_option("--set", options->farm.sets,
                   "set a key of the farm file, or of the lab file with lab. in front; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--lab", options->lab_file,
                   "run in a virtual network that this lab file describes (docs/lab.md); needs root")
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder for data, records and logs, instead of run.out")
      ->type_name("DIR");
  command->add_option("--log-level", options->log_level, "of the processes' logs, instead of log.level")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
  command
      ->add_option("--summary", options->summary_file,
                   "write the summary there too, as JSON (docs/summary.md)")
      ->type_name("FILE");
  command->add_option("--page", options->page, "serve the farm's page there while the run lasts; port 0: any")
      ->type_name("HOST:PORT");
  command->add_flag("--quiet", options->quiet, "print problems only");
  command->callback([options, &status] { status = run::run_farm(*options, stdout, stderr); });
}

}  // namespace weir::commands
