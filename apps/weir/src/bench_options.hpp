#pragma once

#include <weir/bench/figure.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace weir::commands {

// The command as typed, for the page of a figure: it repeats the figure.
[[nodiscard]] std::string typed_command();

// A subcommand of `weir bench`: its options, some of which most figures have, and the figure that it runs.
template <class Options>
struct BenchCommand {
  BenchCommand(CLI::App& bench, const char* name, const char* what, const std::string& footer,
               Options start = {})
      : options(std::make_shared<Options>(std::move(start))), app(bench.add_subcommand(name, what)) {
    app->footer("\n" + footer + "\nOne JSON line per point; docs/benchmarks.md explains the fields.");
  }

  template <class Value>
  CLI::Option* add(const char* name, Value& value, const char* what) {
    return app->add_option(name, value, what);
  }
  template <class Value>
  CLI::Option* list(const char* name, Value& values, const char* what) {
    return add(name, values, what)->delimiter(',')->type_name("A,B");
  }
  CLI::Option* seconds(double& value, double least, const char* what = "seconds per run") {
    return add("--seconds", value, what)->check(CLI::Range(least, 100'000.0));
  }
  void rounds(std::uint32_t& value) {
    add("--rounds", value, "measurements of each point")->check(CLI::Range(1, 1000));
  }
  void folder() { add("--out", options->output.out, "folder for the page and the lines")->type_name("DIR"); }
  void output() {
    folder();
    add("--name", options->output.name, "prefix of their names")->type_name("NAME");
  }

  // `run`: of the options, standard output and standard error, returns the exit status.
  template <class Run>
  void runs(int& status, Run run) {
    app->callback([its = options, &status, run] {
      if constexpr (requires { its->output; }) its->output.command = typed_command();
      status = run(*its, stdout, stderr);
    });
  }

  std::shared_ptr<Options> options;
  CLI::App* app;
};

// Figures of filters and their workers.
void add_filter_benches(CLI::App& bench, int& status);

}  // namespace weir::commands
