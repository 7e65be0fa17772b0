#include "bench_options.hpp"
#include "commands.hpp"
#include <weir/bench/antares_model.hpp>
#include <weir/bench/assignment.hpp>
#include <weir/bench/changing_farm.hpp>
#include <weir/bench/coincidence.hpp>
#include <weir/bench/costs.hpp>
#include <weir/bench/experiment.hpp>
#include <weir/bench/field.hpp>
#include <weir/bench/filter_node.hpp>
#include <weir/bench/latency.hpp>
#include <weir/bench/loopback.hpp>
#include <weir/bench/network.hpp>
#include <weir/bench/rcnp.hpp>
#include <weir/bench/remote.hpp>
#include <weir/bench/remote_idle.hpp>
#include <weir/bench/scale.hpp>
#include <weir/bench/store.hpp>
#include <weir/node/paths.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weir::commands {

std::string typed_command() {
  std::ifstream file("/proc/self/cmdline");
  std::string text;
  std::string word;
  bool folder = false;
  for (bool first = true; std::getline(file, word, '\0'); first = false) {
    if (folder && word.starts_with('/')) word = "DIR";  // means nothing on another machine
    folder = word == "--out";
    const bool plain = word.find_first_of(" \t\n'\"$&;|<>()*?\\") == word.npos && !word.empty();
    text += first ? "weir" : plain ? " " + word : " '" + word + "'";
  }
  return text;
}

namespace {

void add_loopback(CLI::App& bench, int& status) {
  BenchCommand<bench::LoopbackOptions> command(
      bench, "loopback", "Compare a whole farm on 127.0.0.1, without storage, with a bare exchange",
      "The farm's rate, the rate of a bare exchange of the same bytes on this machine (\"ceiling\": without\n"
      "supervisor, filter, decisions and checksums), and the median of their ratios. Farm and ceiling run "
      "in\n"
      "turn, round after round.");
  bench::LoopbackOptions& options = *command.options;
  command.list("--sizes", options.fragment_bytes, "fragment sizes in bytes");
  command.list("--dcms", options.dcms, "numbers of DCMs");
  command.list("--checksums", options.checksums, "CRC32C on, off, or on,off")
      ->check(CLI::IsMember({"on", "off"}));
  command.add("--readouts", options.readouts, "number of readouts")->check(CLI::Range(1, 32));
  command.add("--sources", options.sources, "sources of each readout, with a fragment per slice each")
      ->check(CLI::Range(1, 1024));
  command.rounds(options.rounds);
  command.seconds(options.seconds, 0.1, "seconds per measurement");
  command.app->add_flag("--tls", options.tls, "also measure the farm over TLS, and compare");
  command
      .add("--yardstick", options.yardstick,
           "reference program to measure in turn, for comparison with the ceiling")
      ->type_name("PROGRAM");
  command.runs(status, bench::run_loopback);
}

void add_store(CLI::App& bench, int& status) {
  BenchCommand<bench::StoreOptions> command(
      bench, "store", "Compare a farm that stores every slice with its disk",
      "The farm has its default settings. After each run a single file gets as many bytes with as many\n"
      "syncs: the disk's own rate. The line names the file system.");
  bench::StoreOptions& options = *command.options;
  command.list("--sizes", options.slice_bytes, "slice sizes in bytes");
  command.list("--dcms", options.dcms, "numbers of DCMs");
  command.add("--readouts", options.readouts, "number of readouts")->check(CLI::Range(1, 32));
  command.add("--sources", options.sources, "sources of each readout, with a fragment per slice each")
      ->check(CLI::Range(1, 1024));
  command.add("--writers", options.writers, "number of writers")->check(CLI::Range(1, 32));
  command.add("--folder", options.folder, "folder on the disk to measure; empty: the current one")
      ->type_name("DIR");
  command.rounds(options.rounds);
  command.seconds(options.seconds, 0.1, "seconds per farm");
  command.runs(status, bench::run_store);
}

void add_scale(CLI::App& bench, int& status) {
  BenchCommand<bench::ScaleOptions> command(
      bench, "scale", "Compare farms of more and more processes, on more and more cores",
      "As many readouts as DCMs, on the first cores of this machine. Each line names the processes that\n"
      "limit the farm. The bare exchange (\"ceiling\") has the same processes and cores.");
  bench::ScaleOptions& options = *command.options;
  command.list("--processes", options.processes, "numbers of readouts, and of DCMs; empty: 1, 2, 4, … cores");
  command.list("--cores", options.cores, "numbers of cores; empty: 1, 2, 4, … of this machine");
  command.list("--sizes", options.fragment_bytes, "fragment sizes in bytes");
  command.add("--sources", options.sources, "sources of each readout, with a fragment per slice each")
      ->check(CLI::Range(1, 1024));
  command.rounds(options.rounds);
  command.seconds(options.seconds, 0.1, "seconds per measurement");
  command.runs(status, bench::run_scale);
}

void add_costs(CLI::App& bench, int& status) {
  BenchCommand<bench::CostsOptions> command(
      bench, "costs", "Measure the processor time of a slice in each process",
      "Farms of one DCM with their default settings, as fast as they can, without storage and with it. The\n"
      "lines are a table for `weir check --costs` and `weir size --costs`.");
  bench::CostsOptions& options = *command.options;
  command.add("--folder", options.folder, "folder for stored slices; empty: the current one")
      ->type_name("DIR");
  command.rounds(options.rounds);
  command.seconds(options.seconds, 0.1, "seconds per farm");
  command.runs(status, bench::run_costs);
}

void add_latency(CLI::App& bench, int& status) {
  BenchCommand<bench::LatencyOptions> command(
      bench, "latency", "Measure the time from assignment to slice at several rates",
      "A farm with one DCM and its default settings, without storage. After each farm the same bytes are\n"
      "exchanged without it, one slice after the other.");
  bench::LatencyOptions& options = *command.options;
  command.list("--rates", options.rates_hz, "rates of triggers in Hz")->check(CLI::Range(1.0, 1e6));
  command.add("--size", options.fragment_bytes, "size of a fragment in bytes")
      ->check(CLI::Range(1U, 1U << 24));
  command.add("--readouts", options.readouts, "number of readouts")->check(CLI::Range(1, 32));
  command.add("--sources", options.sources, "sources of each readout, with a fragment per slice each")
      ->check(CLI::Range(1, 1024));
  command.rounds(options.rounds);
  command.seconds(options.seconds, 0.1, "seconds per farm");
  command.runs(status, bench::run_latency);
}

void add_sweep(BenchCommand<bench::NetworkOptions>& command) {
  bench::NetworkOptions& options = *command.options;
  command.list("--shapers", options.shapers, "shapers of the DCMs")
      ->check(CLI::IsMember({"none", "byte-credits", "fragment-credits", "diatcp", "paced", "adaptive"}));
  command.list("--windows", options.window_bytes,
               "windows of byte-credits and diatcp, of each DCM, in bytes");
  command.list("--quotas", options.window_fragments, "quotas of fragment-credits, of each DCM");
  command.list("--static-windows", options.window_segments,
               "static congestion windows in segments; 0: the congestion control's own");
  command.list("--congestion", options.congestion, "TCP congestion controls");
  command.list("--sizes", options.fragment_bytes, "fragment sizes in bytes");
  command.list("--fragments", options.fragments, "fragments per slice at each readout")
      ->check(CLI::Range(1, 1024));
  command.list("--readouts", options.readouts, "numbers of readouts")->check(CLI::Range(1, 200));
  command.list("--loads", options.loads,
               "trigger rates as a share of theory, such as 0.9; 0: as fast as slices are built");
  command.add("--rate", options.rate, "rate of the ports")->type_name("RATE");
  command.add("--buffer", options.buffer, "buffer of the ports")->type_name("SIZE");
  command.add("--credits", options.credits, "slices in progress at a DCM")->check(CLI::Range(1, 1000));
  command.add("--pace", options.pace, "rate of the shaper `paced`, as a share of theory")
      ->check(CLI::Range(0.01, 2.0));
  command.seconds(options.seconds, 2.0);
  command.rounds(options.rounds);
  command.add("--trace", options.trace, "slices of each run with recorded arrivals")
      ->check(CLI::Range(1, 1000));
  command.output();
}

void add_network(CLI::App& bench, int& status, const char* name, const char* what,
                 const bench::NetworkOptions& start) {
  BenchCommand<bench::NetworkOptions> command(
      bench, name, what,
      "Every combination of the lists is a point: a farm in its own virtual network (docs/lab.md), measured\n"
      "--rounds times for --seconds: goodput and its share of theory, latency, retransmissions and drops, "
      "of\n"
      "the whole run and after its first second, and the CPU time. Needs root.",
      start);
  command.options->output.name = name;
  add_sweep(command);
  if (start.pattern == bench::Pattern::all_to_all)
    command
        .add("--dcms-per-host", command.options->dcms_per_host, "DCMs on each host, in addition to a readout")
        ->check(CLI::Range(1, 64));
  command.runs(status, bench::run_network);
}

void add_assignment(CLI::App& bench, int& status) {
  BenchCommand<bench::AssignmentOptions> command(
      bench, "assignment", "Simulate the decision latency of the assignment policies",
      "Runs the supervisor's policies with simulated destinations and time (RCNP emulation: 5 slow and 6 "
      "fast\n"
      "destinations): mean, percentiles and each destination's share of slices.");
  bench::AssignmentOptions& options = *command.options;
  command.list("--policies", options.policies, "values of supervisor.policy");
  command.list("--loads", options.loads, "offered loads, as shares of the processors' total capacity")
      ->check(CLI::Range(0.01, 1.5));
  command.seconds(options.seconds, 1.0, "simulated seconds per point");
  command.add("--credits", options.credits, "credits of each destination")->check(CLI::Range(1, 65535));
  command.add("--seed", options.seed, "seed of the trigger times");
  command.output();
  command.runs(status, bench::run_assignment);
}

void add_changing_farm(CLI::App& bench, int& status) {
  BenchCommand<bench::ChangingFarmOptions> command(
      bench, "changing-farm", "Measure the rate while DCMs leave a run and rejoin it",
      "Runs a farm on this machine under run control. DCMs are removed one after the other and added again,\n"
      "one is killed and restarted; the rate of stored slices must follow the number of present DCMs within\n"
      "5 %. With --remote three nodes behind a long line leave and return, as in Fig. 8 of the paper.");
  bench::ChangingFarmOptions& options = *command.options;
  command.app->add_flag("--remote", options.remote,
                        "unlike nodes behind a line of 20 ms in a lab (remote farms, Fig. 8); needs root");
  command.add("--scale", options.scale, "with --remote: factor for the paper's rates and sizes")
      ->check(CLI::Range(0.01, 1.0));
  command.add("--pace", options.pace, "with --remote: factor for the paper's times")
      ->check(CLI::Range(0.1, 10.0));
  command.add("--dcms", options.dcms, "number of DCMs")->check(CLI::Range(2, 64));
  command.add("--filter-ms", options.filter_ms, "milliseconds that the filter sleeps per slice")
      ->check(CLI::Range(1.0, 1000.0));
  command.add("--step", options.step_s, "seconds between two changes")->check(CLI::Range(2.0, 3600.0));
  command.output();
  command.runs(status, [app = command.app](bench::ChangingFarmOptions& given, auto... files) {
    if (given.remote && app->count("--name") == 0) given.output.name += "-remote";
    return bench::run_changing_farm(given, files...);
  });
}

void add_rcnp(CLI::App& bench, int& status) {
  BenchCommand<bench::RcnpOptions> command(
      bench, "rcnp", "Measure a figure of the RCNP emulation: steps, latencies, CPU time",
      "Runs the farms of a figure of the RCNP emulation (sequential selection) one after the other on this\n"
      "machine; the page has the paper's values beside the measured ones.");
  bench::RcnpOptions& options = *command.options;
  std::vector<std::string> names;
  for (const bench::RcnpFigure& figure : bench::rcnp_figures()) names.push_back(figure.id);
  for (const bench::Experiment& figure : bench::rcnp_experiments()) names.push_back(figure.id);
  command.add("--figure", options.figure, "figure")->required()->check(CLI::IsMember(names));
  CLI::Option* const seconds = command.seconds(options.seconds, 1.0);
  command.add("--rounds", options.rounds, "runs of the whole figure; the page states whether they agree")
      ->check(CLI::Range(1, 100));
  command
      .add("--judge", options.judge, "print the page of earlier lines, with today's criteria; runs nothing")
      ->type_name("FILE");
  command.output();
  command.runs(status, [seconds](const bench::RcnpOptions& given, auto... files) {
    const auto& networks = bench::rcnp_experiments();
    if (std::ranges::find(networks, given.figure, &bench::Experiment::id) == networks.end())
      return bench::run_rcnp(given, files...);
    bench::ExperimentOptions run;
    run.bench = "rcnp";
    run.figure = given.figure;
    run.measure_s = seconds->count() > 0 ? given.seconds : 0;
    run.rounds = given.rounds;
    run.judge = given.judge;
    run.output = given.output;
    return bench::run_experiment(networks, run, files...);
  });
}

BenchCommand<bench::ExperimentOptions> add_experiments(CLI::App& bench, int& status, const char* name,
                                                       const char* what,
                                                       const std::vector<bench::Experiment>& experiments) {
  BenchCommand<bench::ExperimentOptions> command(
      bench, name, what,
      "A figure is a list of runs, each of a whole farm in a virtual network of its own (docs/lab.md). The "
      "page\n"
      "has the paper's statements and whether they hold here. docs/benchmarks/README.md has a row for each\n"
      "figure. Needs root. The first line says how long it takes.");
  bench::ExperimentOptions& options = *command.options;
  options.bench = name;
  std::vector<std::string> figures;
  for (const bench::Experiment& experiment : experiments) figures.push_back(experiment.id);
  command.add("--figure", options.figure, "figure")->required()->check(CLI::IsMember(figures));
  command
      .add("--tcp", options.tcp,
           "hosts' TCP: without SACK, RACK and tail-loss probes (old), the same with a static window "
           "(thesis), the "
           "kernel's (new), or the figure's (both)")
      ->check(CLI::IsMember({"old", "new", "thesis", "both"}));
  command.add("--scale", options.scale, "factor for the paper's sizes (default: the figure's)")
      ->check(CLI::Range(0.001, 10.0));
  command.add("--settle", options.settle_s, "settling time in seconds (default: the figure's)")
      ->check(CLI::Range(0.5, 3600.0));
  command.add("--measure", options.measure_s, "measuring time in seconds (default: the figure's)")
      ->check(CLI::Range(1.0, 3600.0));
  command.app->add_flag("--loss-free", options.loss_free,
                        "largest load without losses (G_mlf), by bisection, instead of the figure's loads");
  command.add("--rounds", options.rounds, "runs of the whole figure; the page states whether they agree")
      ->check(CLI::Range(1, 100));
  command.app->add_flag("--spinners", options.spinners,
                        "beside each run, a process on every core that only computes");
  command
      .add("--judge", options.judge, "print the page of earlier lines, with today's criteria; runs nothing")
      ->type_name("FILE");
  command.add("--json", options.output.json, "file for the lines, instead of standard output")
      ->type_name("FILE");
  command.folder();
  command.runs(status, [&experiments](const bench::ExperimentOptions& given, auto... files) {
    return bench::run_experiment(experiments, given, files...);
  });
  return command;
}

// The figures of ANTARES run in a lab with --figure, and all at their own size in a model with --model.
void add_antares(CLI::App& bench, int& status) {
  const std::vector<bench::Experiment>& experiments = bench::antares_experiments();
  auto command =
      add_experiments(bench, status, "antares",
                      "Measure table 4.2 or a figure of the ANTARES thesis: pushed slices", experiments);
  auto model = std::make_shared<bench::AntaresModelOptions>();
  auto chosen = std::make_shared<bool>(false);
  CLI::Option* const figure = command.app->get_option("--figure")->required(false);
  CLI::Option* const flag =
      command.app
          ->add_flag("--model", *chosen,
                     "simulate tables 4.2 and 4.3 at their own size (300 LCMs, 100 PCs), without root")
          ->excludes(figure);
  std::vector<std::string> names;
  for (const bench::ModelRow& row : bench::model_rows()) names.push_back(row.name);
  command.list("--rows", model->rows, "with --model: rows of the tables (default: all)")
      ->check(CLI::IsMember(names))
      ->needs(flag);
  command.seconds(model->seconds, 0.1, "with --model: simulated seconds of each row")->needs(flag);
  command.add("--seed", model->seed, "with --model: seed of bursts and bit errors")->needs(flag);
  command.runs(status, [=, &experiments](const bench::ExperimentOptions& given, auto... files) {
    if (*chosen) {
      model->output.out = given.output.out;
      model->judge = given.judge;
      model->output.json = given.output.json;
      model->output.command = given.output.command;
      return bench::run_antares_model(*model, files...);
    }
    if (figure->count() == 0) throw CLI::RequiredError("--figure, or --model,");
    return bench::run_experiment(experiments, given, files...);
  });
}

void add_filter_node(CLI::App& bench, int& status) {
  BenchCommand<bench::FilterNodeOptions> command(
      bench, "filter-node", "Measure the CPU time of a filter node, and its largest input without a loss",
      "A DCM bound to one or two CPUs, with one or two filters, gets slices of 10 ms at an input that rises "
      "by\n"
      "10 kHz until slices are thrown away (ANTARES thesis, table 5.2); the page has the thesis' values "
      "beside\n"
      "the measured ones. Needs two CPUs; about six minutes.");
  command.seconds(command.options->seconds, 2.0);
  command.output();
  command.runs(status, bench::run_filter_node);
}

// Figures 4 and 5 have another line and other runs than figure 8.
int run_idle(const CLI::App& given, const bench::RemoteOptions& options, std::FILE* out, std::FILE* err) {
  bench::IdleOptions idle;
  const auto take = [&](const char* name, const auto& value, auto& to) {
    if (given.count(name) > 0) to = value;
  };
  take("--seconds", options.seconds, idle.seconds);
  take("--rate", options.line_mbit, idle.line_mbit);
  take("--delay", options.delay_ms, idle.delay_ms);
  take("--name", options.output.name, idle.output.name);
  idle.output.out = options.output.out;
  idle.output.command = options.output.command;
  return bench::run_remote_idle(idle, out, err);
}

void add_remote(CLI::App& bench, int& status) {
  BenchCommand<bench::RemoteOptions> command(
      bench, "remote", "Measure a remote farm beside a local one",
      "A local group of DCMs beside a remote one behind a long thin line, in a virtual network: the remote\n"
      "group idle, busy, and with its line cut, in turn (figure 8); or requests over a line that idles in\n"
      "between (figure 4). Needs root.");
  bench::RemoteOptions& options = *command.options;
  auto figure = std::make_shared<std::string>("8");
  command.add("--figure", *figure, "figure of the paper on remote farms")->check(CLI::IsMember({"4", "8"}));
  command.rounds(options.rounds);
  command.seconds(options.seconds, 6.0);
  command.add("--rate", options.line_mbit, "rate of the line in Mb/s")->check(CLI::Range(1.0, 10000.0));
  command.add("--delay", options.delay_ms, "delay of the line in each direction, in ms")
      ->check(CLI::Range(0.0, 1000.0));
  command.add("--fragment-bytes", options.fragment_bytes, "bytes of a fragment; 16 are a slice")
      ->check(CLI::Range(1, 1'000'000));
  command.app->add_flag("--fetch", options.fetch,
                        "the remote group fetches built slices from the local DCM (docs/selection.md)");
  command.output();
  command.runs(status, [figure, app = command.app](const bench::RemoteOptions& given, auto... files) {
    return *figure == "4" ? run_idle(*app, given, files...) : bench::run_remote(given, files...);
  });
}

void add_field(CLI::App& bench, int& status) {
  BenchCommand<bench::FieldOptions> command(
      bench, "field", "Measure shapers in realistic networks: long lines, slow hosts, busy machines",
      "Each case is a farm in its own virtual network (docs/lab.md): mixed sizes, long lines, a slow or a\n"
      "pausing readout, a changing port, a bottleneck in the core and more; quiet, and with a spinner on "
      "each\n"
      "core. Needs root; a round of all cases takes three quarters of an hour.");
  bench::FieldOptions& options = *command.options;
  std::vector<std::string> names;
  for (const bench::FieldCase& one : bench::field_cases()) names.emplace_back(one.name);
  command.list("--cases", options.cases, "names of cases (default: all)")->check(CLI::IsMember(names));
  command.list("--shapers", options.shapers, "shapers of the DCMs")
      ->check(CLI::IsMember({"none", "byte-credits", "adaptive"}));
  command.list("--windows", options.window_bytes, "windows of byte-credits, of each DCM, in bytes")
      ->check(CLI::PositiveNumber);
  command.list("--loads", options.loads, "quiet, busy or both")->check(CLI::IsMember({"quiet", "busy"}));
  command.seconds(options.seconds, 3.0);
  command.rounds(options.rounds);
  command.output();
  command.runs(status, bench::run_field);
}

void add_coincidence(CLI::App& bench, int& status) {
  BenchCommand<bench::CoincidenceOptions> command(
      bench, "coincidence", "Measure efficiency, purity and CPU time of the muon trigger",
      "Runs the filter coincidence on emulated slices with known tracks: efficiency over track length,\n"
      "background and bursts, purity, data reduction, CPU time.");
  bench::CoincidenceOptions& options = *command.options;
  options.search_path = {node::plugin_folder()};
  command.add("--slices", options.slices, "slices of 15 modules per point")
      ->check(CLI::Range(1UL, 1000000UL));
  command.add("--large-slices", options.large_slices, "slices of 900 modules per point")
      ->check(CLI::Range(1UL, 100000UL));
  command.output();
  command.runs(status, bench::run_coincidence);
}

}  // namespace

void add_bench(CLI::App& app, int& status) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure the performance of this machine and build");
  bench.require_subcommand(1);
  add_loopback(bench, status);
  add_store(bench, status);
  add_scale(bench, status);
  add_costs(bench, status);
  add_latency(bench, status);
  add_assignment(bench, status);
  add_filter_benches(bench, status);
  add_coincidence(bench, status);
  add_changing_farm(bench, status);
  add_rcnp(bench, status);
  add_experiments(bench, status, "thesis", "Measure a figure of Jereczek's thesis in a virtual network",
                  bench::thesis_experiments());
  add_remote(bench, status);
  add_filter_node(bench, status);
  add_antares(bench, status);
  add_experiments(bench, status, "mixed",
                  "Measure a figure of the paper on mixed traffic: sources, and streams beside them",
                  bench::mixed_experiments());
  add_field(bench, status);
  add_network(bench, status, "incast",
              "Measure many readouts with one DCM behind one port, in a virtual network", {});
  bench::NetworkOptions each;
  each.pattern = bench::Pattern::all_to_all;
  each.readouts = {6};
  each.rate = "50mbit";
  each.window_bytes = {36'000};
  each.credits = 8;
  add_network(bench, status, "all-to-all",
              "Measure hosts with a readout and DCMs each, all to all, in a virtual network", each);
}

}  // namespace weir::commands
