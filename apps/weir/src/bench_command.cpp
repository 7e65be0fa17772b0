#include "commands.hpp"
#include <weir/bench/loopback.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {
namespace {

constexpr const char* kFooter =
    "\nOne JSON line per point: what the farm reached, what a bare exchange of the same bytes reaches on "
    "this\n"
    "machine (\"ceiling\": no supervisor, no filter, no decision, no checksum), and the median of their "
    "ratios.\n"
    "Farm and ceiling run in turn, round after round. docs/benchmarks.md explains the fields.";

void add_loopback(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::LoopbackOptions>();
  CLI::App* command =
      bench.add_subcommand("loopback", "A whole farm on 127.0.0.1, nothing stored, against its ceiling");
  command->footer(kFooter);
  command->add_option("--sizes", options->fragment_bytes, "fragment sizes in bytes")
      ->delimiter(',')
      ->type_name("N,N");
  command->add_option("--dcms", options->dcms, "numbers of DCMs")->delimiter(',')->type_name("N,N");
  command->add_option("--checksums", options->checksums, "CRC32C on, off, or on,off")
      ->delimiter(',')
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--readouts", options->readouts, "number of readouts")->check(CLI::Range(1, 32));
  command
      ->add_option("--sources", options->sources, "sources of each readout: fragments that it has of a slice")
      ->check(CLI::Range(1, 1024));
  command->add_option("--rounds", options->rounds, "how often each point is measured")
      ->check(CLI::Range(1, 1000));
  command->add_option("--seconds", options->seconds, "length of a measurement")
      ->check(CLI::Range(0.1, 3600.0));
  command
      ->add_option("--yardstick", options->yardstick,
                   "another ruler to run in turn, and compare the ceiling with")
      ->type_name("PROGRAM");
  command->callback([options, &status] { status = bench::run_loopback(*options, stdout, stderr); });
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("bench", "Measure this machine and this build");
  command->require_subcommand(1);
  add_loopback(*command, status);
}

}  // namespace weir::commands
