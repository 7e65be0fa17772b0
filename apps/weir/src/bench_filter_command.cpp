#include "bench_options.hpp"
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
  BenchCommand<bench::FilterOptions> command(
      bench, "filter", "Compare a filter in the DCM's process, in a worker process, and in Python",
      "Runs the same filter in a thread, in a worker, and in Python where its file is found (PLUGIN.py), in\n"
      "turn: slices per second, CPU time of all processes per slice with --in-flight slices in progress, and "
      "the\n"
      "median time of a single slice. The last line has the medians, and what worker and Python add.");
  bench::FilterOptions& options = *command.options;
  auto parameters = std::make_shared<std::vector<std::string>>();
  auto python = std::make_shared<std::string>();
  command.add("--plugin", options.plugin, "name or path of the plugin");
  command.add("--python", *python, "name or path of the filter in Python, or none")->type_name("FILE");
  command.add("--set", *parameters, "parameter of the filter")->type_name("NAME=VALUE");
  command.add("--bytes", options.slice_bytes, "bytes of a slice")->check(CLI::Range(1U, 1U << 24U));
  command.add("--sources", options.sources, "fragments of a slice")->check(CLI::Range(1, 65536));
  command.add("--slices", options.slices, "slices of a measurement")->check(CLI::Range(1000UL, 1000000000UL));
  command.add("--in-flight", options.in_flight, "slices in progress")->check(CLI::Range(1, 4096));
  command.rounds(options.rounds);
  command.runs(status, [parameters, python](bench::FilterOptions& given, auto... files) {
    for (const std::string& text : *parameters) {
      const std::size_t equals = text.find('=');
      given.parameters.emplace_back(text.substr(0, equals),
                                    equals == text.npos ? std::string() : text.substr(equals + 1));
    }
    given.search_path = {node::plugin_folder()};
    given.worker_command = {node::program_folder() + "/weir-filter-worker"};
    const int impossible = choose_python(given, *python);
    return impossible != 0 ? impossible : bench::run_filter(given, files...);
  });
}

// Adds the languages with their workers, or returns the exit status if one has none.
int choose_languages(bench::IsolationOptions& options, const std::vector<std::string>& languages) {
  for (const std::string& language : languages) {
    if (language == "c++") {
      options.languages.push_back({language, "unruly", {node::program_folder() + "/weir-filter-worker"}});
      continue;
    }
    auto worker = python_worker();
    if (!worker) {
      std::fprintf(stderr, "weir bench isolation: %s; or choose --language c++\n", worker.error().c_str());
      return 2;
    }
    options.languages.push_back({language, "unruly.py", std::move(*worker)});
  }
  return 0;
}

void add_isolation(CLI::App& bench, int& status) {
  BenchCommand<bench::IsolationOptions> command(
      bench, "isolation", "Run farms with a filter that crashes, exits, hangs and leaks in its workers",
      "Runs a farm for each fault. Its filter runs in workers and misbehaves on one slice in --every. Each "
      "run\n"
      "must balance, store exactly the bad slices as poison, change no byte of another slice, and end no "
      "DCM. It\n"
      "may take 5 % longer than a run without faults, and the time of its kills in addition. Exit status 1: "
      "a\n"
      "check failed.");
  bench::IsolationOptions& options = *command.options;
  auto languages = std::make_shared<std::vector<std::string>>(std::vector<std::string>{"c++", "python"});
  options.folder = (temporary_folder() / ("weir-isolation-" + std::to_string(::getpid()))).string();
  options.search_path = {node::plugin_folder()};
  command.add("--slices", options.slices, "slices of a run")->check(CLI::Range(10UL, 1000000000UL));
  command.add("--every", options.every, "one bad slice in N")->check(CLI::Range(2UL, 1000000000UL));
  command.add("--fault", options.faults, "only these faults")
      ->check(CLI::IsMember(bench::isolation_faults()));
  command.add("--language", *languages, "only filters in C++, or in Python")
      ->check(CLI::IsMember({"c++", "python"}));
  command.add("--timeout-ms", options.timeout_ms, "time limit of a slice that hangs, in ms")
      ->check(CLI::Range(10, 60000));
  command.add("--tolerance", options.tolerance, "loss of rate that is allowed; 0: not judged")
      ->check(CLI::Range(0.0, 0.99));
  command.app->add_flag("--spin", options.spin, "compute on every core besides the farm");
  command.add("--folder", options.folder, "folder for the runs, removed at the end")->type_name("DIR");
  command.output();
  command.runs(status, [languages](bench::IsolationOptions& given, auto... files) {
    const int impossible = choose_languages(given, *languages);
    return impossible != 0 ? impossible : bench::run_isolation(given, files...);
  });
}

}  // namespace

void add_filter_benches(CLI::App& bench, int& status) {
  add_filter_bench(bench, status);
  add_isolation(bench, status);
}

}  // namespace weir::commands
