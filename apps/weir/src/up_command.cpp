#include "commands.hpp"
#include "farm_project.hpp"
#include <weir/run/farm_up.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {

void add_up(CLI::App& app, int& status) {
  auto options = std::make_shared<run::UpOptions>();
  CLI::App* command =
      app.add_subcommand("up", "Start a farm and its run control on this machine, for any number of runs");
  command->footer(
      "\nThe processes wait for an operator: weir ctl init, configure, start, …, or the page's buttons.\n"
      "`weir ctl off`, or Ctrl-C, ends them. A process that dies is restarted.");
  command
      ->add_option("FARM", options->farm.farm_file,
                   "farm file (YAML), or a folder with farm.yaml, which is entered")
      ->required();
  command->add_option("--set", options->farm.sets, "key of the farm file with its value; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--listen", options->listen, "address of run control, instead of control.listen")
      ->type_name("HOST:PORT");
  command->add_option("--page", options->page, "address of the farm's page, instead of control.page")
      ->type_name("HOST:PORT");
  command->add_option("--log-level", options->log_level, "log level of the processes, instead of log.level")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error"}))
      ->type_name("LEVEL");
  command->add_flag("--detach", options->detach,
                    "go on in the background once every process is started; `weir ctl off` ends the farm");
  command->callback([options, &status] {
    enter_farm_folder(options->farm.farm_file);
    status = run::farm_up(*options, stdout, stderr);
  });
}

}  // namespace weir::commands
