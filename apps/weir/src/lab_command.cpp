#include "commands.hpp"
#include <weir/run/lab_command.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {
namespace {

using Action = int (*)(const run::LabOptions& options, std::FILE* out, std::FILE* err);

void add_action(CLI::App& lab, int& status, const char* name, const char* what, Action action) {
  auto options = std::make_shared<run::LabOptions>();
  CLI::App* command = lab.add_subcommand(name, what);
  command->add_option("FILE", options->lab_file, "lab file (YAML)")->required();
  command->add_option("--set", options->sets, "set a key of the lab file; may be given again")
      ->type_name("lab.KEY=VALUE")
      ->allow_extra_args(false);
  command->callback([options, action, &status] { status = action(*options, stdout, stderr); });
}

}  // namespace

void add_lab(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("lab", "Manage virtual networks of hosts on this machine (needs root)");
  command->footer(
      "\nweir run FARM --lab FILE runs a farm in a lab and removes the lab afterwards. These three commands "
      "keep "
      "a\n"
      "lab for inspection: hosts are network namespaces weir.LAB.HOST, for `ip netns exec`. docs/lab.md has "
      "more.");
  command->require_subcommand(1);
  add_action(*command, status, "up", "Create the network of a lab file", run::lab_up);
  add_action(*command, status, "down", "Remove the network", run::lab_down);
  add_action(*command, status, "status", "Show the hosts, and the bytes that each port has sent and dropped",
             run::lab_status);
}

}  // namespace weir::commands
