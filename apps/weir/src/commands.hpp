#pragma once

#include <CLI/App.hpp>

// The subcommands of `weir`: one function per subcommand, each in a separate file. It adds the subcommand
// with a callback that sets the exit status in `status`, which lives as long as the app. main.cpp has the
// table.
namespace weir::commands {

// Exit statuses of more than one of them.
constexpr int kUsage = 2;        // the command line, the farm file, the keys, a file that is there
constexpr int kUnreachable = 3;  // run control does not answer

using AddCommand = void (*)(CLI::App& app, int& status);

void add_run(CLI::App& app, int& status);
void add_check(CLI::App& app, int& status);
void add_file(CLI::App& app, int& status);
void add_filter(CLI::App& app, int& status);
void add_bench(CLI::App& app, int& status);
void add_ctl(CLI::App& app, int& status);
void add_demo(CLI::App& app, int& status);
void add_emit(CLI::App& app, int& status);
void add_keys(CLI::App& app, int& status);
void add_completion(CLI::App& app, int& status);
void add_lab(CLI::App& app, int& status);
void add_plan(CLI::App& app, int& status);
void add_probe(CLI::App& app, int& status);
void add_soak(CLI::App& app, int& status);
void add_scan(CLI::App& app, int& status);
void add_source(CLI::App& app, int& status);
void add_manual(CLI::App& app, int& status);
void add_new_farm(CLI::App& app, int& status);
void add_runs(CLI::App& app, int& status);
void add_size(CLI::App& app, int& status);
void add_alarm(CLI::App& app, int& status);
void add_tap(CLI::App& app, int& status);
void add_top(CLI::App& app, int& status);
void add_up(CLI::App& app, int& status);
void add_version(CLI::App& app, int& status);
void add_wire(CLI::App& app, int& status);

}  // namespace weir::commands
