#include "bench_filter_command.hpp"

#include <weir/base/expected.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/filter.hpp>
#include <weir/bench/isolation.hpp>
#include <weir/node/paths.hpp>
#include <weir/python_host/interpreter.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::commands {
namespace {

constexpr const char* kFilterFooter =
    "\nRuns the same filter in a thread, in a worker, and in Python where its file is found (PLUGIN.py), in "
    "turn. "
    "A line\n"
    "of JSON for each: slices per second, CPU time of all processes per slice with --in-flight slices in "
    "progress, and\n"
    "the median time of a single slice. The last line has the medians, and what worker and Python add. "
    "docs/benchmarks.md\n"
    "explains the fields.";

constexpr const char* kIsolationFooter =
    "\nRuns a farm for each fault. Its filter runs in workers and misbehaves on one slice in --every. Each "
    "run must balance,\n"
    "store exactly the bad slices as poison, change no byte of another slice, and end no DCM. It may take 5 "
    "% "
    "longer than a\n"
    "run without faults, and the time of its kills in addition. Prints a line of JSON for each fault. Exit "
    "status 1: a check failed.";

bool has_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(node::plugin_folder() + "/" + name, error) ||
         std::filesystem::exists(name, error);
}

// Returns the command of a worker for filters in Python; an error is a sentence.
Expected<std::vector<std::string>, std::string> python_worker() {
  const auto python = python_host::find_interpreter("");
  if (!python) return Unexpected<std::string>(python.error());
  return python_host::filter_host_command(*python, "worker", {});
}

// Adds the filter in Python, or returns the exit status for an impossible wish.
int choose_python(bench::FilterOptions& options, const std::string& wish) {
  const std::string plugin = wish.empty() ? options.plugin + ".py" : wish;
  if (wish == "none" || (wish.empty() && !has_file(plugin))) return 0;
  auto command = python_worker();
  if (!command) {
    std::fprintf(stderr, "weir bench filter: %s\n", command.error().c_str());
    return wish.empty() ? 0 : 2;  // the others are measured without it
  }
  options.python_plugin = plugin;
  options.python_command = std::move(*command);
  return 0;
}

void add_filter_bench(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::FilterOptions>();
  auto parameters = std::make_shared<std::vector<std::string>>();
  auto python = std::make_shared<std::string>();
  CLI::App* command = bench.add_subcommand(
      "filter", "Compare a filter in the DCM's process, in a worker process, and in Python");
  command->footer(kFilterFooter);
  command->add_option("--plugin", options->plugin, "name or path of the plugin");
  command->add_option("--python", *python, "name or path of the filter in Python; none: without")
      ->type_name("FILE");
  command->add_option("--set", *parameters, "parameter of the filter")->type_name("NAME=VALUE");
  command->add_option("--bytes", options->slice_bytes, "bytes of a slice")->check(CLI::Range(1U, 1U << 24U));
  command->add_option("--sources", options->sources, "fragments of a slice")->check(CLI::Range(1, 65536));
  command->add_option("--slices", options->slices, "slices of a measurement")
      ->check(CLI::Range(1000UL, 1000000000UL));
  command->add_option("--in-flight", options->in_flight, "slices in progress")->check(CLI::Range(1, 4096));
  command->add_option("--rounds", options->rounds, "measurements of each way")->check(CLI::Range(1, 1000));
  command->callback([options, parameters, python, &status] {
    for (const std::string& text : *parameters) {
      const std::size_t equals = text.find('=');
      options->parameters.emplace_back(text.substr(0, equals),
                                       equals == text.npos ? std::string() : text.substr(equals + 1));
    }
    options->search_path = {node::plugin_folder()};
    options->worker_command = {node::program_folder() + "/weir-filter-worker"};
    status = choose_python(*options, *python);
    if (status == 0) status = bench::run_filter(*options, stdout, stderr);
  });
}

void add_isolation(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::IsolationOptions>();
  auto languages = std::make_shared<std::vector<std::string>>(std::vector<std::string>{"c++", "python"});
  options->folder = (temporary_folder() / ("weir-isolation-" + std::to_string(::getpid()))).string();
  CLI::App* command = bench.add_subcommand(
      "isolation", "Run farms with a filter that crashes, exits, hangs and leaks in its workers");
  command->footer(kIsolationFooter);
  command->add_option("--slices", options->slices, "slices of a run")->check(CLI::Range(10UL, 1000000000UL));
  command->add_option("--every", options->every, "slices of which one is bad")
      ->check(CLI::Range(2UL, 1000000000UL));
  command->add_option("--fault", options->faults, "only these faults")
      ->check(CLI::IsMember(bench::isolation_faults()));
  command->add_option("--language", *languages, "only filters in c++, or in python")
      ->check(CLI::IsMember({"c++", "python"}));
  command->add_option("--timeout-ms", options->timeout_ms, "time limit of a slice that hangs, in ms")
      ->check(CLI::Range(10, 60000));
  command->add_option("--tolerance", options->tolerance, "loss of rate that is allowed; 0: not judged")
      ->check(CLI::Range(0.0, 0.99));
  command->add_flag("--spin", options->spin, "compute on every core beside the farm");
  command->add_option("--folder", options->folder, "folder for the runs, removed at the end")
      ->type_name("DIR");
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([options, languages, &status] {
    options->search_path = {node::plugin_folder()};
    for (const std::string& language : *languages) {
      if (language == "c++") {
        options->languages.push_back({language, "unruly", {node::program_folder() + "/weir-filter-worker"}});
        continue;
      }
      auto worker = python_worker();
      if (!worker) {
        std::fprintf(stderr, "weir bench isolation: %s; or choose --language c++\n", worker.error().c_str());
        status = 2;
        return;
      }
      options->languages.push_back({language, "unruly.py", std::move(*worker)});
    }
    status = bench::run_isolation(*options, stdout, stderr);
  });
}

}  // namespace

void add_filter_benches(CLI::App& bench, int& status) {
  add_filter_bench(bench, status);
  add_isolation(bench, status);
}

}  // namespace weir::commands
