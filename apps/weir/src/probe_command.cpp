#include "commands.hpp"
#include <weir/probe/probe.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace weir::commands {
namespace {

constexpr const char* kFooter =
    "\nOn the host of a readout:          weir probe --listen 10.0.0.1:7900 --key keys/farm.key\n"
    "On the host of a DCM:              weir probe 10.0.0.1:7900 --key keys/farm.key\n"
    "Prints round trip, rate and buffer of the line from the server to the client, and ends with the\n"
    "`network:` section of a farm file. Several servers fill a port that one cannot fill. The lines must\n"
    "carry no other traffic that matters: the probe fills them. docs/probe.md explains the figures.";

struct Options {
  probe::ListenOptions listen;
  probe::ProbeOptions probe;
  std::string key;
};

int run(Options& options) {
  options.listen.key_file = options.probe.key_file = options.key;
  const bool listens = !options.listen.at.empty();
  if (listens == options.probe.servers.empty()) {
    if (listens) return probe::listen(options.listen, stdout, stderr);
    return probe::probe(options.probe, stdout, stderr);
  }
  std::fputs(listens
                 ? "weir probe: --listen is for the server, SERVER for the client: give one of them\n"
                 : "weir probe: give --listen HOST:PORT on one host, and that address as SERVER on another\n",
             stderr);
  return kUsage;
}

}  // namespace

void add_probe(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  probe::ProbeOptions& probe = options->probe;
  CLI::App* command = app.add_subcommand(
      "probe", "Measure the network between two hosts: round trip, rate, buffer, loss, message cost");
  command->footer(kFooter);
  command->add_option("SERVER", probe.servers,
                      "HOST:PORT of a server; the line from the first one is measured, further ones help to "
                      "fill the port's buffer");
  command->add_option("--listen", options->listen.at, "serve clients at this address until Ctrl-C")
      ->type_name("HOST:PORT");
  command->add_option("--key", options->key, "farm key of both sides, made by `weir keys new`")
      ->type_name("FILE");
  command->add_flag("--open", options->listen.open,
                    "serve without a key at an address that other machines reach");
  command->add_flag("--line", probe.line_only, "measure round trip, rate and buffer only");
  command->add_flag("--pause-port", probe.pause_port,
                    "measure the buffer by pausing the switch's port, too (IEEE 802.3x; needs root)");
  command->add_option("--echoes", probe.echoes, "datagrams for the round trip")
      ->check(CLI::Range(10, 100000))
      ->capture_default_str();
  command->add_option("--requests", probe.requests, "requests of each series")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--response-bytes", probe.response_bytes, "bytes of a response")
      ->check(CLI::Range(1, 256 << 20))
      ->capture_default_str();
  command->add_option("--pause-ms", probe.pause_ms, "ms between a response and the next request")
      ->check(CLI::Range(1, 20000))
      ->capture_default_str();
  command
      ->add_option("--buffer-bytes", probe.buffer_bytes,
                   "socket buffers of both ends for the requests (default: the kernel tunes them)")
      ->check(CLI::Range(1, 256 << 20));
  command
      ->add_option("--congestion-control", probe.congestion_control,
                   "the server's congestion control for the requests, as network.congestion_control")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--out", probe.out, "file for every sample, as lines of JSON")->type_name("FILE");
  command->callback([options, &status] { status = run(*options); });
}

}  // namespace weir::commands
