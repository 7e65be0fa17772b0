// A sweep over farms in virtual networks: measuring, and writing down.
#include "folder.hpp"
#include "output.hpp"
#include <weir/bench/figures.hpp>
#include <weir/bench/network.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/farm_network.hpp>
#include <weir/run/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace weir::bench {
namespace {

namespace fs = std::filesystem;

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Seconds that all cores together have worked since the machine started (proc(5): user, nice, system, idle,
// iowait, irq, softirq; what a hypervisor took is not counted).
double machine_cpu_s() {
  std::ifstream stat("/proc/stat");
  std::string word;
  double user = 0;
  double nice = 0;
  double system = 0;
  double idle = 0;
  double wait = 0;
  double irq = 0;
  double softirq = 0;
  stat >> word >> user >> nice >> system >> idle >> wait >> irq >> softirq;
  return (user + nice + system + irq + softirq) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What theory says of a point, and whether its farm and lab are good.
Expected<double, std::string> theory_of_point(const NetworkPoint& point, const std::string& farm_path,
                                              const std::string& lab_path) {
  const auto farm = config::load_farm(farm_path);
  if (!farm) return Unexpected<std::string>(config::to_text(farm.error()));
  const auto plan = config::expand(farm->farm, farm->locations);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  const auto lab_file = config::load_lab(lab_path);
  if (!lab_file) return Unexpected<std::string>(config::to_text(lab_file.error()));
  const auto lab = lab::plan_lab(*lab_file, &*plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  const double fragments = static_cast<double>(point.readouts) * point.fragments;
  const run::SliceLoad load{fragments * point.fragment_bytes, fragments};
  return run::theory_of(run::network_of(*lab, *plan), load).goodput_bytes_per_s;
}

// `weir run`, in a thread of its own: the one that runs a farm in a lab stays in the lab's network. The error
// is what it said.
Expected<run::Summary, std::string> run_in_lab(const run::RunOptions& options) {
  char* said = nullptr;
  std::size_t said_bytes = 0;
  std::FILE* err = ::open_memstream(&said, &said_bytes);
  if (err == nullptr) return Unexpected<std::string>("no memory");
  run::Summary summary;
  int status = 1;
  std::thread([&] { status = run::run_farm(options, err, err, &summary); }).join();
  std::fclose(err);
  const std::string text(said, said_bytes);
  std::free(said);
  if (status != 0 && summary.reason.empty()) return Unexpected<std::string>(text);
  if (!summary.failure.empty()) return Unexpected<std::string>(summary.failure);
  if (summary.reason.starts_with("SIG")) return Unexpected<std::string>(summary.reason);
  return summary;
}

NetworkPart part(const run::Percentiles& latency, double seconds, std::uint64_t retransmits) {
  NetworkPart part;
  part.p50_us = static_cast<double>(latency.p50);
  part.p90_us = static_cast<double>(latency.p90);
  part.p99_us = static_cast<double>(latency.p99);
  part.p999_us = static_cast<double>(latency.p999);
  part.max_us = static_cast<double>(latency.max);
  part.retransmits_per_s = seconds > 0 ? static_cast<double>(retransmits) / seconds : 0;
  return part;
}

Expected<NetworkRun, std::string> figures_of_run(const run::Summary& summary) {
  if (!summary.after_1s)
    return Unexpected<std::string>("the run was too short: nothing after its first second");
  const run::SteadySummary& after = *summary.after_1s;
  NetworkRun run;
  run.whole = part(summary.latency_us, summary.duration_s, summary.retransmits);
  run.whole.goodput_bytes_per_s = summary.goodput_bytes_per_s;
  run.whole.share_of_theory = run::share_of_theory(summary);
  run.whole.slices_per_s = summary.slices_per_s;
  run.whole.port_drops = static_cast<double>(run::port_drops(summary));
  run.after_1s = part(after.latency_us, after.seconds, after.retransmits);
  run.after_1s.goodput_bytes_per_s = after.goodput_bytes_per_s;
  run.after_1s.share_of_theory = after.goodput_share_of_theory;
  run.after_1s.slices_per_s = after.slices_per_s;
  run.after_1s.port_drops = static_cast<double>(run::port_drops_after_1s(summary));
  run.theory_bytes_per_s = summary.theory.goodput_bytes_per_s;
  run.serialisation_us = summary.theory.serialisation_us;
  run.dcm_share_min = after.dcm_share_min;
  run.dcm_share_max = after.dcm_share_max;
  if (summary.lab) run.machine_drops = static_cast<double>(summary.lab->machine_drops);
  double cpu_s = 0;
  for (const run::ProcessRecord& process : summary.processes) cpu_s += process.end.cpu_s;
  run.cpu_s_per_s = summary.duration_s > 0 ? cpu_s / summary.duration_s : 0;
  run.latency_us = after.latency;
  return run;
}

int write_out(const std::vector<NetworkResult>& results, const NetworkOptions& options, std::FILE* err) {
  const std::vector<Figure> figures = figures_of(results, options);
  std::string lines;
  for (const NetworkResult& result : results) lines += to_json_line(result, options) + "\n";
  return write_output(options.out, options.name, lines, table_of(results, options, figures, machine()),
                      figures, err);
}

}  // namespace

Expected<NetworkRun, std::string> measure(const NetworkPoint& point, const NetworkOptions& options,
                                          const std::string& folder) {
  const std::string farm_path = folder + "/farm.yaml";
  const std::string lab_path = folder + "/lab.yaml";
  if (!write(farm_path, farm_text(point, options, 0)) || !write(lab_path, lab_text(point, options)))
    return Unexpected<std::string>("cannot write into " + folder);
  const auto theory = theory_of_point(point, farm_path, lab_path);
  if (!theory) return Unexpected<std::string>(theory.error());
  if (point.load > 0) {
    const double slice_bytes = static_cast<double>(point.readouts) * point.fragments * point.fragment_bytes;
    if (!write(farm_path, farm_text(point, options, point.load * *theory / slice_bytes)))
      return Unexpected<std::string>("cannot write into " + folder);
  }
  run::RunOptions run;
  run.farm.farm_file = farm_path;
  run.lab_file = lab_path;
  run.out = folder + "/out";
  run.log_level = "warning";
  run.quiet = true;
  std::error_code ignored;
  fs::remove_all(run.out, ignored);
  const double cpu_before_s = machine_cpu_s();
  const double before_s = now_s();
  const auto summary = run_in_lab(run);
  if (!summary) return Unexpected<std::string>(summary.error());
  auto figures = figures_of_run(*summary);
  if (!figures) return figures;
  figures->machine_cpu_s_per_s = (machine_cpu_s() - cpu_before_s) / (now_s() - before_s);
  if (options.trace > 0) figures->arrivals = read(run.out + "/run-000001-dcm-0-arrivals.csv");
  return figures;
}

Expected<NetworkResult, std::string> measure_rounds(const NetworkPoint& point, const NetworkOptions& options,
                                                    const std::string& folder) {
  NetworkResult result{point, {}};
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    auto run = measure(point, options, folder);
    if (!run) return Unexpected<std::string>(run.error());
    result.runs.push_back(std::move(*run));
  }
  return result;
}

int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  const Folder folder;
  std::vector<NetworkResult> results;
  bool failed = false;
  for (const NetworkPoint& point : expand(options)) {
    auto measured = measure_rounds(point, options, folder.path());
    if (!measured) {
      // A sweep takes long: what fails costs its point, a signal those that would follow.
      failed = true;
      fmt::print(err, "weir bench: {}: {}\n", describe(point), measured.error());
      if (measured.error().starts_with("SIG")) break;
      continue;
    }
    const NetworkResult& result = results.emplace_back(std::move(*measured));
    fmt::print(out, "{}\n", to_json_line(result, options));
    std::fflush(out);
    const NetworkRun run = result.medians();
    fmt::print(err, "{}: {:.1f} % of theory, p99 {:.1f} ms, {:.0f} retransmissions/s, CPU {:.2f} of {}\n",
               describe(point), 100 * run.after_1s.share_of_theory, run.after_1s.p99_us / 1000,
               run.after_1s.retransmits_per_s, run.machine_cpu_s_per_s, std::thread::hardware_concurrency());
  }
  const int written = options.out.empty() ? 0 : write_out(results, options, err);
  return failed ? 1 : written;
}

}  // namespace weir::bench
