#include "commands.hpp"
#include "farm_project.hpp"
#include <weir/run/farm_command.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace weir::commands {

void add_check(CLI::App& app, int& status) {
  auto options = std::make_shared<run::FarmOptions>();
  auto lab_file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("check", "Check a farm file without starting anything");
  command
      ->add_option("FARM", options->farm_file,
                   "farm file (YAML), or a folder with farm.yaml, which is entered")
      ->required();
  command
      ->add_option("--set", options->sets,
                   "key of the farm file with its value, or of the lab file with the prefix lab.; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--lab", *lab_file, "lab file with the rates and buffers to check against")
      ->type_name("FILE");
  auto costs_file = std::make_shared<std::string>();
  command
      ->add_option("--costs", *costs_file,
                   "processor times measured by `weir bench costs`, instead of the built-in ones")
      ->type_name("FILE");
  auto node = std::make_shared<std::string>();
  command->add_option("--explain", *node, "node: show its settings, with each key, its value and its origin")
      ->type_name("NODE");
  command->callback([options, lab_file, costs_file, node, &status] {
    keep_path(options->farm_file, *lab_file);
    keep_path(options->farm_file, *costs_file);
    enter_farm_folder(options->farm_file);
    status = node->empty() ? run::check_farm(*options, *lab_file, *costs_file, stdout, stderr)
                           : run::explain_node(*options, *node, stdout, stderr);
  });
}

}  // namespace weir::commands
