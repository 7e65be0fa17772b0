#include "commands.hpp"
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {

void add_check(CLI::App& app, int& status) {
  auto options = std::make_shared<run::FarmOptions>();
  CLI::App* command = app.add_subcommand("check", "Check a farm file without starting anything");
  command->add_option("FARM", options->farm_file, "farm file (YAML)")->required();
  command->add_option("--set", options->sets, "set a key of the farm file; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->callback([options, &status] { status = run::check_farm(*options, stdout, stderr); });
}

}  // namespace weir::commands
