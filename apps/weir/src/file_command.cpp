#include "commands.hpp"
#include "python_command.hpp"
#include <weir/run_record/histograms_command.hpp>
#include <weir/storage/file_command.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

using storage::FileCommand;
using storage::FileVerb;

CLI::App* add_verb(CLI::App& app, const std::shared_ptr<FileCommand>& options, int& status, FileVerb verb,
                   const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command
      ->add_option("FILE", options->paths,
                   verb == FileVerb::recover ? "run files (*.weir.part)"
                                             : "run files (*.weir, *.weir.part), or folders of them")
      ->required();
  command->callback([options, verb, &status] {
    options->verb = verb;
    status = storage::run_file_command(*options, std::cout, std::cerr);
  });
  return command;
}

void add_histograms(CLI::App& app, int& status) {
  auto options = std::make_shared<run_record::HistogramsCommand>();
  CLI::App* command = app.add_subcommand("histograms", "Draw the histograms of a run's filter");
  command->add_option("RUN", options->run, "a folder (its last run), a run file, or run-…-histograms.json")
      ->required();
  command->add_option("--name", options->name, "this histogram only")->type_name("NAME");
  CLI::Option* json = command->add_flag("--json", options->json, "a JSON object a line");
  command->add_flag("--csv", options->csv, "a table for each histogram")->excludes(json);
  command->callback(
      [options, &status] { status = run_record::run_histograms_command(*options, std::cout, std::cerr); });
}

// Verbs of `weir_daq`: all arguments after the verb are passed on to Python, including `--help`.
void add_python_verb(CLI::App& app, int& status, const char* name, const char* description) {
  CLI::App* command = app.add_subcommand(name, description);
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, name = std::string(name), &status] {
    const std::vector<std::string> arguments = command->remaining();
    std::string needs = "npz";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--to" && i + 1 < arguments.size()) needs = arguments[i + 1];
      if (arguments[i].starts_with("--to=")) needs = arguments[i].substr(std::string("--to=").size());
    }
    status = run_python(name, needs, arguments);
  });
}

}  // namespace

void add_file(CLI::App& app, int& status) {
  auto options = std::make_shared<FileCommand>();
  CLI::App* file = app.add_subcommand("file", "Inspect, verify, recover and convert run files");
  file->require_subcommand(1);
  CLI::App* info =
      add_verb(*file, options, status, FileVerb::info, "info", "Show a summary of a file on one screen");
  CLI::App* ls = add_verb(*file, options, status, FileVerb::ls, "ls", "Print a line for each slice");
  CLI::App* dump = add_verb(*file, options, status, FileVerb::dump, "dump", "Print one slice in full");
  CLI::App* verify = add_verb(*file, options, status, FileVerb::verify, "verify",
                              "Check every checksum, and the index against the records");
  CLI::App* recover = add_verb(*file, options, status, FileVerb::recover, "recover",
                               "Make a closed file from the intact part of a damaged or unclosed one");
  recover->add_option("--out", options->out, "new file (default: the name without .part)")->type_name("FILE");
  for (CLI::App* command : {info, ls, verify, recover})
    command->add_flag("--json", options->json, "print a JSON object per line");
  for (CLI::App* command : {ls, dump})
    command->add_flag("--all", options->all, "include dead copies and every byte");
  ls->add_option("--lines", options->lines_max, "slices to print per file; 0: all")->type_name("N");
  ls->add_option("--slice", options->slice, "only this slice")->type_name("ID");
  dump->add_option("--slice", options->slice, "id of the slice")->type_name("ID")->required();
  dump->add_option("--source", options->source, "only this fragment")->type_name("ID");
  dump->add_option("--event", options->event, "only this output event")->type_name("ID");
  dump->add_flag("--raw", options->raw, "write only the raw bytes of --source or --event");
  add_histograms(*file, status);
  add_python_verb(*file, status, "convert", "Convert a run to HDF5, Parquet, ROOT or NumPy");
  add_python_verb(*file, status, "skim", "Write selected slices of a run into a new run file");
  add_python_verb(*file, status, "merge", "Write all slices of a run into a new run file");
}

}  // namespace weir::commands
