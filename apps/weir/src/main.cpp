#include "commands.hpp"

#include <CLI/CLI.hpp>

namespace {

constexpr weir::commands::AddCommand kCommands[] = {
    weir::commands::add_run,
    weir::commands::add_check,
    weir::commands::add_file,
    weir::commands::add_version,
};

constexpr const char* kDescription =
    "Weir builds events: it collects what many detector readouts hold into whole slices,\n"
    "runs a trigger algorithm on them, and stores what that accepts.\n";

constexpr const char* kFooter =
    "\nA first run, of an emulated detector on this machine:\n"
    "  weir check configs/demo.yaml       is the farm file good, and what will it need?\n"
    "  weir run configs/demo.yaml         Ctrl-C ends it early\n"
    "  weir file ls run/demo/*.weir       what was stored\n"
    "\nOther slices, other settings, without touching the file:\n"
    "  weir run configs/event-building.yaml --slices 10000 --set dcm.count=3\n"
    "\ndocs/configuration.md lists every key of a farm file.";

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  CLI::App app(kDescription, "weir");
  app.footer(kFooter);
  app.require_subcommand(1);
  for (const auto add : kCommands) add(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    constexpr int kUsage = 2;
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return status;
}
