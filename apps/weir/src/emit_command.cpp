#include "commands.hpp"
#include <weir/emit/emit.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace weir::commands {
namespace {

constexpr const char* kEmitFooter =
    "\nA farm with readouts that receive datagrams (source.kind: udp), and its front-ends, in two "
    "terminals:\n"
    "  weir run configs/udp.yaml\n"
    "  weir emit configs/udp.yaml --rate 1000\n"
    "With trigger.mode: network in the farm file each slice is offered as a trigger once it is sent, and the "
    "run\n"
    "number comes from the supervisor. plugins/udp/README.md says more.";

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto options = std::make_shared<emit::EmitOptions>();
  CLI::App* command =
      app.add_subcommand("emit", "Play the front-ends of a farm: send its readouts datagrams");
  command->footer(kEmitFooter);
  command->add_option("FARM", options->farm_file, "farm file: readouts, sources, sizes, trigger");
  command->add_option("--set", options->sets, "key=value: overrides a key of the farm file");
  command->add_option("--to", options->to, "HOST:PORT of a readout, instead of the farm file's")
      ->type_name("HOST:PORT");
  command->add_option("--sources", options->sources, "its sources, one such list for each --to")
      ->type_name("1-4,7");
  command->add_option("--trigger", options->trigger, "HOST:PORT that takes triggers, or none");
  command->add_option("--from", options->from, "what fragments hold: dummy, hits, or a PATH of recorded data")
      ->capture_default_str();
  command->add_option("--rate", options->rate_hz, "slices per second; 0: as fast as they go")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  command->add_option("--slices", options->slices, "ends after so many; 0: with the run, or Ctrl-C");
  command->add_option("--first-slice", options->first_slice, "id of the first slice");
  command->add_option("--run", options->run, "run number, instead of the supervisor's or the farm file's");
  command->add_option("--session", options->session,
                      "session number in the packets; 0: none; without: another one each time");
  command->add_option("--size", options->size_bytes, "size of dummy fragments, or its mean, in bytes");
  command->add_option("--packet-bytes", options->packet_bytes, "size of a datagram, header included")
      ->check(CLI::Range(64, 65507))
      ->capture_default_str();
  command->add_option("--drop-every", options->drop_every, "N: every N-th packet is not sent, to try losses");
  command->callback([options, &status] { status = emit::emit(*options, stdout, stderr); });
}

}  // namespace weir::commands
