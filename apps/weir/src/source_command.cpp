#include "commands.hpp"
#include "source_project.hpp"
#include "source_trial.hpp"
#include <weir/node/paths.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

namespace weir::commands {
namespace {

void add_new(CLI::App& source, int& status) {
  auto name = std::make_shared<std::string>();
  auto folder = std::make_shared<std::string>();
  auto in_python = std::make_shared<bool>(false);
  CLI::App* command = source.add_subcommand("new", "Create a source project: source, test and farm file");
  command->add_option("NAME", *name, "name of the source: lower-case letters, digits and '-'")->required();
  command->add_option("--folder", *folder, "where to create it (default: a new folder NAME)")
      ->type_name("FOLDER");
  command->add_flag("--python", *in_python, "a source in Python instead of C++");
  command->callback([name, folder, in_python, &status] {
    status =
        create_source_project(*name, folder->empty() ? *name : *folder, *in_python, std::cout, std::cerr);
  });
}

void add_try(CLI::App& source, int& status) {
  auto settings = std::make_shared<SourceTrial>();
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = source.add_subcommand("try", "Run a source without a farm, and show its fragments");
  command->add_option("PLUGIN", settings->plugin, "path of a source plugin, or the name of an installed one")
      ->required();
  command->add_option("--set", *words, "parameter of the source; repeatable")
      ->type_name("NAME=VALUE")
      ->take_all();
  command->add_option("--sources", settings->sources, "sources of the readout, from 1 on (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  command->add_option("--slices", settings->slices, "slices to announce (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000'000));
  command
      ->add_option("--wait-ms", settings->wait_ms,
                   "time to wait for fragments after the last one (default 1000)")
      ->type_name("MS")
      ->check(CLI::Range(1, 3'600'000));
  command->add_option("--search-path", settings->search_path, "folder of plugins; repeatable")
      ->type_name("FOLDER");
  command
      ->add_option("--python", settings->python,
                   "interpreter of a source in Python (default: as source.python)")
      ->type_name("PROGRAM");
  command->add_flag("--list", settings->list, "print a line for each fragment");
  command->footer(
      "\nExit status: 0 fine; 1 a fragment that the source failed to make, no fragment at all, or a fault; 2 "
      "the plugin cannot be used.");
  command->callback([settings, words, &status] {
    for (const std::string& word : *words) {
      const std::size_t mark = word.find('=');
      if (mark == 0 || mark == word.npos) {
        std::cerr << "weir source try: --set takes NAME=VALUE, not '" << word << "'\n";
        status = kUsage;
        return;
      }
      settings->parameters.emplace_back(word.substr(0, mark), word.substr(mark + 1));
    }
    settings->search_path.push_back(node::plugin_folder());
    status = try_source(*settings, std::cout, std::cerr);
  });
}

}  // namespace

void add_source(CLI::App& app, int& status) {
  CLI::App* source = app.add_subcommand("source", "Create sources and try them without a farm");
  source->require_subcommand(1);
  add_new(*source, status);
  add_try(*source, status);
}

}  // namespace weir::commands
