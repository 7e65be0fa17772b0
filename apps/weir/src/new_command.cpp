#include "commands.hpp"
#include "farm_project.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace weir::commands {

void add_new_farm(CLI::App& app, int& status) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("new", "Create a farm with a front-end and a filter in Python");
  command->footer("\n`weir run DIR` runs it at once; its README.md names the next steps.");
  command->add_option("DIR", *folder, "new folder")->required();
  command->callback([folder, &status] { status = create_farm_project(*folder, std::cout, std::cerr); });
}

}  // namespace weir::commands
