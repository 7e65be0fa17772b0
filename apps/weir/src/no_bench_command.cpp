#include "commands.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

// `weir bench` in a build without WEIR_BENCH, as `./dev demo` makes it from nothing.
namespace weir::commands {

void add_bench(CLI::App& app, int& status) {
  CLI::App& bench =
      *app.add_subcommand("bench", "Measure the performance (left out of this build; ./dev build has it)");
  bench.allow_extras();
  bench.callback([&status] {
    std::fputs("weir bench: this build leaves it out; `./dev build` adds it\n", stderr);
    status = kUsage;
  });
}

}  // namespace weir::commands
