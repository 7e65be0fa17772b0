#include "bench_filter_command.hpp"
#include "commands.hpp"
#include <weir/bench/assignment.hpp>
#include <weir/bench/changing_farm.hpp>
#include <weir/bench/coincidence.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/bench/field.hpp>
#include <weir/bench/filter_node.hpp>
#include <weir/bench/loopback.hpp>
#include <weir/bench/network.hpp>
#include <weir/bench/rcnp.hpp>
#include <weir/bench/remote.hpp>
#include <weir/bench/remote_idle.hpp>
#include <weir/node/paths.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

namespace weir::commands {
namespace {

constexpr const char* kBenchFooter =
    "\nOne JSON line per point: the farm's rate, the rate of a bare exchange of the same bytes on this "
    "machine\n"
    "(\"ceiling\": without supervisor, filter, decisions and checksums), and the median of their ratios.\n"
    "Farm and ceiling run in turn, round after round. docs/benchmarks.md explains the fields.";

void add_loopback(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::LoopbackOptions>();
  CLI::App* command = bench.add_subcommand(
      "loopback", "Compare a whole farm on 127.0.0.1, without storage, with a bare exchange");
  command->footer(kBenchFooter);
  command->add_option("--sizes", options->fragment_bytes, "fragment sizes in bytes")
      ->delimiter(',')
      ->type_name("N,N");
  command->add_option("--dcms", options->dcms, "numbers of DCMs")->delimiter(',')->type_name("N,N");
  command->add_option("--checksums", options->checksums, "CRC32C on, off, or on,off")
      ->delimiter(',')
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--readouts", options->readouts, "number of readouts")->check(CLI::Range(1, 32));
  command
      ->add_option("--sources", options->sources, "sources of each readout, with a fragment per slice each")
      ->check(CLI::Range(1, 1024));
  command->add_option("--rounds", options->rounds, "measurements of each point")->check(CLI::Range(1, 1000));
  command->add_option("--seconds", options->seconds, "seconds per measurement")
      ->check(CLI::Range(0.1, 3600.0));
  command->add_flag("--tls", options->tls, "also measure the farm over TLS, and compare");
  command
      ->add_option("--yardstick", options->yardstick,
                   "reference program to measure in turn, for comparison with the ceiling")
      ->type_name("PROGRAM");
  command->callback([options, &status] { status = bench::run_loopback(*options, stdout, stderr); });
}

// The command as typed, for the table of a sweep: it repeats the sweep.
std::string typed_command() {
  std::ifstream file("/proc/self/cmdline");
  std::string text;
  std::string word;
  for (bool first = true; std::getline(file, word, '\0'); first = false) {
    const bool plain = word.find_first_of(" \t\n'\"$&;|<>()*?\\") == word.npos && !word.empty();
    text += first ? "weir" : plain ? " " + word : " '" + word + "'";
  }
  return text;
}

constexpr const char* kNetworkFooter =
    "\nEvery combination of the lists is a point: a farm in its own virtual network (docs/lab.md), measured\n"
    "--rounds times for --seconds. One JSON line per point: settings, goodput and its share of theory, "
    "latency,\n"
    "retransmissions and drops, of the whole run and after its first second, and the CPU time. --out also "
    "writes\n"
    "a table. docs/benchmarks.md explains the fields, and how to draw them. Needs root.";

void add_sweep(CLI::App& command, bench::NetworkOptions& options) {
  const auto list = [&](const char* name, auto& values, const char* what) {
    return command.add_option(name, values, what)->delimiter(',')->type_name("A,B");
  };
  list("--shapers", options.shapers, "shapers of the DCMs")
      ->check(CLI::IsMember({"none", "byte-credits", "fragment-credits", "diatcp", "paced", "adaptive"}));
  list("--windows", options.window_bytes, "windows of byte-credits and diatcp, of each DCM, in bytes");
  list("--quotas", options.window_fragments, "quotas of fragment-credits, of each DCM");
  list("--static-windows", options.window_segments,
       "static congestion windows in segments; 0: the congestion control's own");
  list("--congestion", options.congestion, "TCP congestion controls");
  list("--sizes", options.fragment_bytes, "fragment sizes in bytes");
  list("--fragments", options.fragments, "fragments per slice at each readout")->check(CLI::Range(1, 1024));
  list("--readouts", options.readouts, "numbers of readouts")->check(CLI::Range(1, 200));
  list("--loads", options.loads,
       "trigger rates as a share of theory, such as 0.9; 0: as fast as slices are built");
  command.add_option("--rate", options.rate, "rate of the ports")->type_name("RATE");
  command.add_option("--buffer", options.buffer, "buffer of the ports")->type_name("SIZE");
  command.add_option("--credits", options.credits, "slices in progress at a DCM")->check(CLI::Range(1, 1000));
  command.add_option("--pace", options.pace, "rate of the shaper `paced`, as a share of theory")
      ->check(CLI::Range(0.01, 2.0));
  command.add_option("--seconds", options.seconds, "seconds per run")->check(CLI::Range(2.0, 3600.0));
  command.add_option("--rounds", options.rounds, "measurements of each point")->check(CLI::Range(1, 100));
  command
      .add_option("--trace", options.trace,
                  "slices of each run with recorded arrivals, for a plot of one of them")
      ->check(CLI::Range(1, 1000));
  command.add_option("--out", options.out, "folder for the table and the lines")->type_name("DIR");
  command.add_option("--name", options.name, "prefix of their names")->type_name("NAME");
}

void add_network(CLI::App& bench, int& status, bench::Pattern pattern, const char* name, const char* what) {
  auto options = std::make_shared<bench::NetworkOptions>();
  options->pattern = pattern;
  options->name = name;
  CLI::App* command = bench.add_subcommand(name, what);
  command->footer(kNetworkFooter);
  if (pattern == bench::Pattern::all_to_all) {
    options->readouts = {6};
    options->rate = "50mbit";
    options->window_bytes = {36'000};
    options->credits = 8;
    command
        ->add_option("--dcms-per-host", options->dcms_per_host, "DCMs on each host, in addition to a readout")
        ->check(CLI::Range(1, 64));
  }
  add_sweep(*command, *options);
  command->callback([options, &status] {
    options->command = typed_command();
    status = bench::run_network(*options, stdout, stderr);
  });
}

constexpr const char* kAssignmentFooter =
    "\nRuns the supervisor's policies with simulated destinations and time (RCNP emulation: 5 slow and 6 "
    "fast\n"
    "destinations). One JSON line per policy and load: mean, percentiles and each destination's share of "
    "slices.\n"
    "--out also writes a table. docs/benchmarks.md explains the fields, and how to draw them.";

void add_assignment(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::AssignmentOptions>();
  CLI::App* command =
      bench.add_subcommand("assignment", "Simulate the decision latency of the assignment policies");
  command->footer(kAssignmentFooter);
  command->add_option("--policies", options->policies, "values of supervisor.policy")
      ->delimiter(',')
      ->type_name("A,B");
  command->add_option("--loads", options->loads, "offered loads, as shares of the processors' total capacity")
      ->delimiter(',')
      ->type_name("A,B")
      ->check(CLI::Range(0.01, 1.5));
  command->add_option("--seconds", options->seconds, "simulated seconds per point")
      ->check(CLI::Range(1.0, 100000.0));
  command->add_option("--credits", options->credits, "credits of each destination")
      ->check(CLI::Range(1, 65535));
  command->add_option("--seed", options->seed, "seed of the trigger times");
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([options, &status] {
    options->command = typed_command();
    status = bench::run_assignment(*options, stdout, stderr);
  });
}

constexpr const char* kChangingFooter =
    "\nRuns a farm on this machine under run control. DCMs are removed one after the other and added again, "
    "one is\n"
    "killed and restarted; the rate of stored slices must follow the number of present DCMs within 5 %. "
    "With\n"
    "--remote three nodes behind a long line leave and return, as in Fig. 8 of the paper. One JSON\n"
    "line; --out also writes a table. docs/benchmarks.md explains the fields.";

void add_changing_farm(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::ChangingFarmOptions>();
  CLI::App* command =
      bench.add_subcommand("changing-farm", "Measure the rate while DCMs leave a run and rejoin it");
  command->footer(kChangingFooter);
  command->add_flag("--remote", options->remote,
                    "unlike nodes behind a line of 20 ms in a lab (remote farms, Fig. 8); needs root");
  command->add_option("--scale", options->scale, "with --remote: factor for the paper's rates and sizes")
      ->check(CLI::Range(0.01, 1.0));
  command->add_option("--pace", options->pace, "with --remote: factor for the paper's times")
      ->check(CLI::Range(0.1, 10.0));
  command->add_option("--dcms", options->dcms, "number of DCMs")->check(CLI::Range(2, 64));
  command->add_option("--filter-ms", options->filter_ms, "milliseconds that the filter sleeps per slice")
      ->check(CLI::Range(1.0, 1000.0));
  command->add_option("--step", options->step_s, "seconds between two changes")
      ->check(CLI::Range(2.0, 3600.0));
  command->add_option("--out", options->out, "folder for the table and the line")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([command, options, &status] {
    if (options->remote && command->count("--name") == 0) options->name += "-remote";
    options->command = typed_command();
    status = bench::run_changing_farm(*options, stdout, stderr);
  });
}

constexpr const char* kRcnpFooter =
    "\nRuns the farms of a figure of the RCNP emulation (sequential selection) one after the other on this "
    "machine.\n"
    "One JSON line per farm, and a table with the paper's values beside the measured ones. "
    "docs/benchmarks.md\n"
    "lists the figures.";

void add_rcnp(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::RcnpOptions>();
  CLI::App* command =
      bench.add_subcommand("rcnp", "Measure a figure of the RCNP emulation: steps, latencies, CPU time");
  command->footer(kRcnpFooter);
  std::vector<std::string> names;
  for (const bench::RcnpFigure& figure : bench::rcnp_figures()) names.push_back(figure.id);
  for (const bench::Experiment& figure : bench::rcnp_experiments()) names.push_back(figure.id);
  command->add_option("--figure", options->figure, "figure")->required()->check(CLI::IsMember(names));
  CLI::Option* const seconds =
      command->add_option("--seconds", options->seconds, "seconds per run")->check(CLI::Range(1.0, 3600.0));
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names (default rcnp-FIGURE)")
      ->type_name("NAME");
  command->callback([options, seconds, &status] {
    options->command = typed_command();
    const auto& networks = bench::rcnp_experiments();
    if (std::ranges::find(networks, options->figure, &bench::Experiment::id) == networks.end()) {
      status = bench::run_rcnp(*options, stdout, stderr);
      return;
    }
    bench::ExperimentOptions run;
    run.bench = "rcnp";
    run.figure = options->figure;
    run.measure_s = seconds->count() > 0 ? options->seconds : 0;
    run.out = options->out;
    run.command = options->command;
    status = bench::run_experiment(networks, run, stdout, stderr);
  });
}

constexpr const char* kExperimentFooter =
    "\nA figure is a list of runs, each of a whole farm in a virtual network of its own (docs/lab.md). One "
    "JSON "
    "line per\n"
    "run, and a table with the paper's statements and whether they hold here. docs/benchmarks/README.md has "
    "a "
    "row for\n"
    "each figure. Needs root. The first line says how long it takes.";

void add_experiments(CLI::App& bench, int& status, const char* name, const char* what,
                     const std::vector<bench::Experiment>& experiments) {
  auto options = std::make_shared<bench::ExperimentOptions>();
  options->bench = name;
  CLI::App* command = bench.add_subcommand(name, what);
  command->footer(kExperimentFooter);
  std::vector<std::string> figures;
  for (const bench::Experiment& experiment : experiments) figures.push_back(experiment.id);
  command->add_option("--figure", options->figure, "figure")->required()->check(CLI::IsMember(figures));
  command->add_option("--tcp", options->tcp, "hosts' TCP: the paper's (old), the kernel's (new) or both")
      ->check(CLI::IsMember({"old", "new", "both"}));
  command->add_option("--scale", options->scale, "factor for the paper's sizes (default: the figure's)")
      ->check(CLI::Range(0.001, 10.0));
  command->add_option("--settle", options->settle_s, "settling time in seconds (default: the figure's)")
      ->check(CLI::Range(0.5, 3600.0));
  command->add_option("--measure", options->measure_s, "measuring time in seconds (default: the figure's)")
      ->check(CLI::Range(1.0, 3600.0));
  command->add_flag("--loss-free", options->loss_free,
                    "largest load without losses (G_mlf), by bisection, instead of the figure's loads");
  command->add_option("--json", options->json, "file for the lines, instead of standard output")
      ->type_name("FILE");
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->callback([options, &status, &experiments] {
    options->command = typed_command();
    status = bench::run_experiment(experiments, *options, stdout, stderr);
  });
}

constexpr const char* kFilterNodeFooter =
    "\nA DCM bound to one or two CPUs, with one or two filters, gets slices of 10 ms at an input that rises "
    "by "
    "10 kHz\n"
    "until slices are thrown away (ANTARES thesis, table 5.2). One JSON line per run, and a table with the "
    "thesis' values\n"
    "beside the measured ones. docs/benchmarks.md explains the fields. Needs two CPUs; about six minutes.";

void add_filter_node(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::FilterNodeOptions>();
  CLI::App* command = bench.add_subcommand(
      "filter-node", "Measure the CPU time of a filter node, and its largest input without a loss");
  command->footer(kFilterNodeFooter);
  command->add_option("--seconds", options->seconds, "seconds per run")->check(CLI::Range(2.0, 3600.0));
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([options, &status] {
    options->command = typed_command();
    status = bench::run_filter_node(*options, stdout, stderr);
  });
}

constexpr const char* kRemoteFooter =
    "\nA local group of DCMs beside a remote one behind a long thin line, in a virtual network: the remote "
    "group "
    "idle,\n"
    "busy, and with its line cut, in turn (figure 8); or requests over a line that idles in between (figure "
    "4)."
    "  One JSON line per run, and a table with medians. Needs root.";

// Figures 4 and 5 have another line and other runs than figure 8.
int run_idle(const CLI::App& given, const bench::RemoteOptions& options) {
  bench::IdleOptions idle;
  const auto take = [&](const char* name, auto value, auto& to) {
    if (given.count(name) > 0) to = value;
  };
  take("--seconds", options.seconds, idle.seconds);
  take("--rate", options.line_mbit, idle.line_mbit);
  take("--delay", options.delay_ms, idle.delay_ms);
  take("--name", options.name, idle.name);
  idle.out = options.out;
  idle.command = options.command;
  return bench::run_remote_idle(idle, stdout, stderr);
}

void add_remote(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::RemoteOptions>();
  auto figure = std::make_shared<std::string>("8");
  CLI::App* command = bench.add_subcommand("remote", "Measure a remote farm beside a local one");
  command->footer(kRemoteFooter);
  command->add_option("--figure", *figure, "figure of the paper on remote farms")
      ->check(CLI::IsMember({"4", "8"}));
  command->add_option("--rounds", options->rounds, "number of alternations")->check(CLI::Range(1, 1000));
  command->add_option("--seconds", options->seconds, "length of each run")->check(CLI::Range(6.0, 3600.0));
  command->add_option("--rate", options->line_mbit, "rate of the line in Mb/s")
      ->check(CLI::Range(1.0, 10000.0));
  command->add_option("--delay", options->delay_ms, "delay of the line in each direction, in ms")
      ->check(CLI::Range(0.0, 1000.0));
  command->add_option("--fragment-bytes", options->fragment_bytes, "bytes of a fragment; 16 are a slice")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--fetch", options->fetch,
                    "the remote group fetches built slices from the local DCM (docs/selection.md)");
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "first word of their names")->type_name("NAME");
  command->callback([options, figure, given = command, &status] {
    options->command = typed_command();
    status = *figure == "4" ? run_idle(*given, *options) : bench::run_remote(*options, stdout, stderr);
  });
}

constexpr const char* kFieldFooter =
    "\nEach case is a farm in its own virtual network (docs/lab.md): mixed sizes, long lines, a slow or a "
    "pausing\n"
    "readout, a changing port, a bottleneck in the core and more; quiet, and with a spinner on each core. "
    "One JSON\n"
    "line per case, load and shaper. --out also writes a page. docs/benchmarks.md explains the fields, and "
    "how to\n"
    "draw them. Needs root; a round of all cases takes three quarters of an hour.";

void add_field(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::FieldOptions>();
  CLI::App* command = bench.add_subcommand(
      "field", "Measure shapers in realistic networks: long lines, slow hosts, busy machines");
  command->footer(kFieldFooter);
  const auto list = [&](const char* name, auto& values, const char* what) {
    return command->add_option(name, values, what)->delimiter(',')->type_name("A,B");
  };
  std::vector<std::string> names;
  for (const bench::FieldCase& one : bench::field_cases()) names.emplace_back(one.name);
  list("--cases", options->cases, "names of cases (default: all)")->check(CLI::IsMember(names));
  list("--shapers", options->shapers, "shapers of the DCMs")
      ->check(CLI::IsMember({"none", "byte-credits", "adaptive"}));
  list("--windows", options->window_bytes, "windows of byte-credits, of each DCM, in bytes")
      ->check(CLI::PositiveNumber);
  list("--loads", options->loads, "quiet, busy or both")->check(CLI::IsMember({"quiet", "busy"}));
  command->add_option("--seconds", options->seconds, "seconds per run")->check(CLI::Range(3.0, 3600.0));
  command->add_option("--rounds", options->rounds, "measurements of each point, in turn")
      ->check(CLI::Range(1, 100));
  command->add_option("--out", options->out, "folder for the page and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([options, &status] {
    options->command = typed_command();
    status = bench::run_field(*options, stdout, stderr);
  });
}

constexpr const char* kCoincidenceFooter =
    "\nRuns the filter coincidence on emulated slices with known tracks: efficiency over track length, "
    "background and\n"
    "bursts, purity, data reduction, CPU time. One JSON line per point; --out also writes a table, and "
    "`./dev "
    "plots`\n"
    "draws it. docs/benchmarks.md explains the fields.";

void add_coincidence(CLI::App& bench, int& status) {
  auto options = std::make_shared<bench::CoincidenceOptions>();
  CLI::App* command =
      bench.add_subcommand("coincidence", "Measure efficiency, purity and CPU time of the muon trigger");
  command->footer(kCoincidenceFooter);
  command->add_option("--slices", options->slices, "slices of 15 modules per point")
      ->check(CLI::Range(1UL, 1000000UL));
  command->add_option("--large-slices", options->large_slices, "slices of 900 modules per point")
      ->check(CLI::Range(1UL, 100000UL));
  command->add_option("--out", options->out, "folder for the table and the lines")->type_name("DIR");
  command->add_option("--name", options->name, "prefix of their names")->type_name("NAME");
  command->callback([options, &status] {
    options->command = typed_command();
    options->search_path = {node::plugin_folder()};
    status = bench::run_coincidence(*options, stdout, stderr);
  });
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("bench", "Measure the performance of this machine and build");
  command->require_subcommand(1);
  add_loopback(*command, status);
  add_assignment(*command, status);
  add_filter_benches(*command, status);
  add_coincidence(*command, status);
  add_changing_farm(*command, status);
  add_rcnp(*command, status);
  add_experiments(*command, status, "thesis", "Measure a figure of Jereczek's thesis in a virtual network",
                  bench::thesis_experiments());
  add_remote(*command, status);
  add_filter_node(*command, status);
  add_experiments(*command, status, "antares",
                  "Measure table 4.2 or a figure of the ANTARES thesis: pushed slices",
                  bench::antares_experiments());
  add_experiments(*command, status, "mixed",
                  "Measure a figure of the paper on mixed traffic: sources, and streams beside them",
                  bench::mixed_experiments());
  add_field(*command, status);
  add_network(*command, status, bench::Pattern::incast, "incast",
              "Measure many readouts with one DCM behind one port, in a virtual network");
  add_network(*command, status, bench::Pattern::all_to_all, "all-to-all",
              "Measure hosts with a readout and DCMs each, all to all, in a virtual network");
}

}  // namespace weir::commands
