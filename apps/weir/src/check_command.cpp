#include "commands.hpp"
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace weir::commands {

void add_check(CLI::App& app, int& status) {
  auto options = std::make_shared<run::FarmOptions>();
  auto lab_file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("check", "Check a farm file without starting anything");
  command->add_option("FARM", options->farm_file, "farm file (YAML)")->required();
  command
      ->add_option("--set", options->sets,
                   "set a key of the farm file, or of the lab file with lab. in front; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--lab", *lab_file, "judge by the rates and buffers of this lab file")
      ->type_name("FILE");
  auto node = std::make_shared<std::string>();
  command
      ->add_option("--explain", *node, "show the node's settings: each key, its value, and where it was set")
      ->type_name("NODE");
  command->callback([options, lab_file, node, &status] {
    status = node->empty() ? run::check_farm(*options, *lab_file, stdout, stderr)
                           : run::explain_node(*options, *node, stdout, stderr);
  });
}

}  // namespace weir::commands
