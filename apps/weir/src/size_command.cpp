#include "commands.hpp"
#include <weir/run/size_farm.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {

void add_size(CLI::App& app, int& status) {
  auto options = std::make_shared<run::SizeOptions>();
  CLI::App* command =
      app.add_subcommand("size", "Print a farm file with as many processes as this machine can use");
  command->footer(
      "\nThe printed file includes FARM and sets the numbers of readouts, DCMs and writers:\n"
      "  weir size farm.yaml > here.yaml && weir run here.yaml\n"
      "Sources of kind dummy, hits and replay are divided anew. docs/operating.md explains the estimate.");
  command->add_option("FARM", options->farm_file, "farm file (YAML)")->required();
  command->add_option("--cores", options->cores, "cores to use (default: those of this machine)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--rate", options->slices_per_s,
                   "slices per second to reach (default: as many as the cores can)")
      ->check(CLI::Range(0.0, 1e9))
      ->type_name("HZ");
  command
      ->add_option("--costs", options->costs_file,
                   "processor times measured by `weir bench costs`, instead of the built-in ones")
      ->type_name("FILE");
  command->callback([options, &status] { status = run::size_farm(*options, stdout, stderr); });
}

}  // namespace weir::commands
