#include "commands.hpp"
#include <weir/emit/emit.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace weir::commands {
namespace {

constexpr double kRateMinHz = 1.0 / 31536000;
constexpr std::uint64_t kFragmentBytesMax = std::uint64_t{1} << 30U;  // as source.size_bytes

constexpr const char* kEmitFooter =
    "\nA farm with readouts that receive datagrams (source.kind: udp), and its front-ends, in two "
    "terminals:\n"
    "  weir run configs/udp.yaml\n"
    "  weir emit configs/udp.yaml --rate 1000\n"
    "With trigger.mode: network in the farm file, each slice is offered as a trigger after it was sent, and "
    "the\n"
    "run number comes from the supervisor. plugins/udp/README.md has more.";

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto options = std::make_shared<emit::EmitOptions>();
  CLI::App* command =
      app.add_subcommand("emit", "Emulate the front-ends of a farm by sending datagrams to its readouts");
  command->footer(kEmitFooter);
  command->add_option("FARM", options->farm_file, "farm file with readouts, sources, sizes and trigger");
  command->add_option("--set", options->sets, "key of the farm file with its value: key=value");
  command->add_option("--to", options->to, "address of a readout, instead of the farm file's")
      ->type_name("HOST:PORT");
  command->add_option("--sources", options->sources, "sources of a readout, one list for each --to")
      ->type_name("1-4,7");
  command->add_option("--trigger", options->trigger, "HOST:PORT of the supervisor's triggers, or none");
  command
      ->add_option("--from", options->from,
                   "content of the fragments: dummy, hits, or a PATH of recorded data")
      ->capture_default_str();
  command->add_option("--rate", options->rate_hz, "slices per second; 0: as fast as possible")
      ->check(CLI::Range(0.0, 1e7))
      ->check([](const std::string& value) -> std::string {
        const double rate = std::strtod(value.c_str(), nullptr);
        return rate > 0 && rate < kRateMinHz ? "a rate above 0 must be at least 3.2e-8 Hz, one slice a year"
                                             : "";
      })
      ->capture_default_str();
  command->add_option("--slices", options->slices,
                      "number of slices after which to end; 0: end with the run, or by Ctrl-C");
  command->add_option("--first-slice", options->first_slice, "id of the first slice");
  command->add_option("--run", options->run, "run number, instead of the supervisor's or the farm file's")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{UINT32_MAX}));
  command->add_option("--session", options->session,
                      "session number in the packets; 0: none (default: a new one)");
  command->add_option("--size", options->size_bytes, "size or mean size of dummy fragments in bytes")
      ->check(CLI::Range(std::uint64_t{0}, kFragmentBytesMax));
  command
      ->add_option("--packet-bytes", options->packet_bytes,
                   "size of a datagram in bytes, including its header")
      ->check(CLI::Range(64, 65507))
      ->capture_default_str();
  command->add_flag(
      "--stamps", options->stamps,
      "send each front-end's counter and time (default: if the farm file has the section build)");
  command->add_option(
      "--slip", options->slip,
      "SOURCE:KIND@SLICE: let a source get out of step; miss, twice, restart, jump, lag or drift");
  command->add_option("--drop-every", options->drop_every, "drop every N-th packet, to test losses");
  command->callback([options, &status] { status = emit::emit(*options, stdout, stderr); });
}

}  // namespace weir::commands
