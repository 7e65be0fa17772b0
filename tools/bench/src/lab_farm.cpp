// A farm runs on this machine or in a lab, and its summary becomes figures.
#include "lab_farm.hpp"

#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run/lab_network.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/transport/signals.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace weir::bench {
namespace {

// Seconds of work of all cores since the machine started (proc(5): user, nice, system, idle, iowait, irq,
// softirq; time taken by a hypervisor is excluded).
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

Line part_of(double seconds, double goodput, double share, double slices_per_s,
             const run_record::Percentiles& latency, std::uint64_t retransmits, std::uint64_t drops) {
  const auto us = [](std::uint64_t value) { return four_digits(static_cast<double>(value)); };
  return {{"goodput_bytes_per_s", four_digits(goodput)},
          {"share_of_theory", four_digits(share)},
          {"slices_per_s", four_digits(slices_per_s)},
          {"p50_us", us(latency.p50)},
          {"p90_us", us(latency.p90)},
          {"p99_us", us(latency.p99)},
          {"p999_us", us(latency.p999)},
          {"max_us", us(latency.max)},
          {"retransmits_per_s", seconds > 0 ? four_digits(static_cast<double>(retransmits) / seconds) : 0},
          {"port_drops", us(drops)}};
}

}  // namespace

int run_quietly(const run::RunOptions& options, run_record::Summary& summary, std::string& text) {
  static transport::SignalWatch watch({SIGINT, SIGTERM, SIGHUP});  // a sweep ends between two runs as well
  const auto note_signal = [&summary] {
    const auto signal = watch.received();
    if (signal && !summary.reason.starts_with("SIG"))
      summary.reason = std::string("SIG") + ::sigabbrev_np(*signal);
    return signal.has_value();
  };
  if (note_signal()) return 1;
  char* said = nullptr;
  std::size_t bytes = 0;
  std::FILE* err = ::open_memstream(&said, &bytes);
  if (err == nullptr) {
    text = "no memory";
    return 1;
  }
  run::RunOptions own = options;
  own.signalled = note_signal;  // while the lab was made
  const int status = run::run_farm(own, err, err, &summary);
  std::fclose(err);
  (void)note_signal();
  text.assign(said, bytes);
  std::free(said);
  return status;
}

double cpu_s_of(const run_record::Summary& summary) {
  double cpu_s = 0;
  for (const run_record::ProcessRecord& process : summary.processes) cpu_s += process.end.cpu_s;
  return cpu_s;
}

Expected<run_record::Summary, std::string> summary_of_run(const std::string& farm_text, double seconds) {
  const ScratchFolder folder;
  auto options = prepare_run(folder.path().string(), farm_text);
  if (!options) return Unexpected<std::string>(options.error());
  options->duration_s = seconds;
  run_record::Summary summary;
  std::string text;
  const int status = run_quietly(*options, summary, text);
  if (summary.reason.starts_with("SIG")) return Unexpected<std::string>(summary.reason);
  if (!summary.ledger_balanced || summary.decision_latency_us.count == 0)
    return Unexpected<std::string>("the farm ended with status " + std::to_string(status) + ": " + text);
  return summary;
}

Expected<run_record::Summary, std::string> summary_of_lab_run(const run::RunOptions& options) {
  std::error_code ignored;
  std::filesystem::remove_all(options.out, ignored);
  run_record::Summary summary;
  std::string text;
  int status = 1;
  std::thread([&] { status = run_quietly(options, summary, text); }).join();
  if (status != 0 && summary.reason.empty()) return Unexpected<std::string>(text);
  if (!summary.failure.empty()) return Unexpected<std::string>(summary.failure);
  if (summary.reason.starts_with("SIG")) return Unexpected<std::string>(summary.reason);
  return summary;
}

MachineLoad::MachineLoad() : cpu_before_s_(machine_cpu_s()), before_s_(monotonic_now_s()) {}

double MachineLoad::cpu_s_per_s() const {
  return (machine_cpu_s() - cpu_before_s_) / (monotonic_now_s() - before_s_);
}

double MachineLoad::others_cpu_s_per_s(double farm_cpu_s) const {
  return std::max(0.0, cpu_s_per_s() - farm_cpu_s / (monotonic_now_s() - before_s_));
}

Expected<run::RunOptions, std::string> prepare_run(const std::string& folder, const std::string& farm_text,
                                                   const std::string& lab_text) {
  run::RunOptions options;
  options.farm.farm_file = folder + "/farm.yaml";
  if (!lab_text.empty()) options.lab_file = folder + "/lab.yaml";
  if (!write(options.farm.farm_file, farm_text) || (!lab_text.empty() && !write(options.lab_file, lab_text)))
    return Unexpected<std::string>("cannot write into " + folder);
  options.out = folder + "/out";
  options.log_level = "error";
  options.quiet = true;
  return options;
}

Expected<run_record::Theory, std::string> theory_of_run(const run::RunOptions& options, double slice_bytes,
                                                        double fragments) {
  const auto farm = config::load_farm(options.farm.farm_file);
  if (!farm) return Unexpected<std::string>(config::to_text(farm.error()));
  const auto plan = config::expand(farm->farm, farm->locations);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  const auto lab_file = config::load_lab(options.lab_file);
  if (!lab_file) return Unexpected<std::string>(config::to_text(lab_file.error()));
  const auto lab = lab::plan_lab(*lab_file, &*plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  return run_record::theory_of(run::network_of(*lab, *plan), {slice_bytes, fragments});
}

namespace {

// The bytes received by foreign flows with a rate, over that rate and their time.
double foreign_share(const run_record::Summary& summary) {
  double received = 0;
  double offered = 0;
  for (const reports::ForeignReport& flow : summary.foreign) {
    if (flow.rate_bits_per_s == 0) continue;
    received += static_cast<double>(flow.bytes);
    offered += static_cast<double>(flow.rate_bits_per_s) / 8 * flow.seconds;
  }
  return offered > 0 ? four_digits(received / offered) : 0;
}

}  // namespace

Expected<NetworkRun, std::string> network_run_of(const run_record::Summary& summary) {
  if (!summary.after_1s)
    return Unexpected<std::string>("the run was too short: nothing after its first second");
  const run_record::SteadySummary& after = *summary.after_1s;
  const double unit = summary.theory.serialisation_us > 0 ? summary.theory.serialisation_us : 1;
  const auto over = [unit](std::uint64_t us) { return four_digits(static_cast<double>(us) / unit); };
  NetworkRun run;
  run.line = {
      {"theoretical_goodput_bytes_per_s", four_digits(summary.theory.goodput_bytes_per_s)},
      {"serialisation_us", four_digits(summary.theory.serialisation_us)},
      {"whole", part_of(summary.duration_s, summary.goodput_bytes_per_s, run_record::share_of_theory(summary),
                        summary.slices_per_s, summary.latency_us, summary.retransmits,
                        run_record::port_drops(summary))},
      {"after_1s",
       part_of(after.seconds, after.goodput_bytes_per_s, after.goodput_share_of_theory, after.slices_per_s,
               after.latency_us, after.retransmits, run_record::port_drops_after_1s(summary))},
      {"p50_over_serialisation", over(after.latency_us.p50)},
      {"p99_over_serialisation", over(after.latency_us.p99)},
      {"max_over_serialisation", over(after.latency_us.max)},
      {"dcm_share_min", four_digits(after.dcm_share_min)},
      {"dcm_share_max", four_digits(after.dcm_share_max)},
      {"machine_drops", summary.lab ? four_digits(static_cast<double>(summary.lab->machine_drops)) : 0},
      {"cpu_s_per_s", summary.duration_s > 0 ? four_digits(cpu_s_of(summary) / summary.duration_s) : 0}};
  if (const double share = foreign_share(summary); share > 0) run.line["foreign_share"] = share;
  if (summary.lab && summary.lab->relay) {
    run.jitter_us = static_cast<double>(summary.lab->relay->late_p99_us);
    run.inexact_delay = summary.lab->relay->is_inexact();
  }
  run.latency_us = after.latency;
  return run;
}

Expected<NetworkRun, std::string> measure_in_lab(const run::RunOptions& options) {
  const MachineLoad load;
  const auto summary = summary_of_lab_run(options);
  if (!summary) return Unexpected<std::string>(summary.error());
  auto figures = network_run_of(*summary);
  if (figures) figures->line["machine_cpu_s_per_s"] = four_digits(load.cpu_s_per_s());
  return figures;
}

}  // namespace weir::bench
