// A farm runs in a lab, and its summary becomes figures.
#include "lab_farm.hpp"

#include "output.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/clock/clock.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/transport/signals.hpp>

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

NetworkPart part(const run_record::Percentiles& latency, double seconds, std::uint64_t retransmits) {
  NetworkPart part;
  part.p50_us = static_cast<double>(latency.p50);
  part.p90_us = static_cast<double>(latency.p90);
  part.p99_us = static_cast<double>(latency.p99);
  part.p999_us = static_cast<double>(latency.p999);
  part.max_us = static_cast<double>(latency.max);
  part.retransmits_per_s = seconds > 0 ? static_cast<double>(retransmits) / seconds : 0;
  return part;
}

Expected<NetworkRun, std::string> figures_of_run(const run_record::Summary& summary) {
  if (!summary.after_1s)
    return Unexpected<std::string>("the run was too short: nothing after its first second");
  const run_record::SteadySummary& after = *summary.after_1s;
  NetworkRun run;
  run.whole = part(summary.latency_us, summary.duration_s, summary.retransmits);
  run.whole.goodput_bytes_per_s = summary.goodput_bytes_per_s;
  run.whole.share_of_theory = run_record::share_of_theory(summary);
  run.whole.slices_per_s = summary.slices_per_s;
  run.whole.port_drops = static_cast<double>(run_record::port_drops(summary));
  run.after_1s = part(after.latency_us, after.seconds, after.retransmits);
  run.after_1s.goodput_bytes_per_s = after.goodput_bytes_per_s;
  run.after_1s.share_of_theory = after.goodput_share_of_theory;
  run.after_1s.slices_per_s = after.slices_per_s;
  run.after_1s.port_drops = static_cast<double>(run_record::port_drops_after_1s(summary));
  run.theory_bytes_per_s = summary.theory.goodput_bytes_per_s;
  run.serialisation_us = summary.theory.serialisation_us;
  run.dcm_share_min = after.dcm_share_min;
  run.dcm_share_max = after.dcm_share_max;
  if (summary.lab) run.machine_drops = static_cast<double>(summary.lab->machine_drops);
  if (summary.lab && summary.lab->relay) {
    run.jitter_us = static_cast<double>(summary.lab->relay->late_p99_us);
    run.inexact_delay = summary.lab->relay->is_inexact() ? 1 : 0;
  }
  run.cpu_s_per_s = summary.duration_s > 0 ? cpu_s_of(summary) / summary.duration_s : 0;
  run.latency_us = after.latency;
  return run;
}

// Returns the exit status. `text`: output and messages.
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
  const int status = run::run_farm(options, err, err, &summary);
  std::fclose(err);
  (void)note_signal();
  text.assign(said, bytes);
  std::free(said);
  return status;
}

}  // namespace

double cpu_s_of(const run_record::Summary& summary) {
  double cpu_s = 0;
  for (const run_record::ProcessRecord& process : summary.processes) cpu_s += process.end.cpu_s;
  return cpu_s;
}

Expected<run_record::Summary, std::string> summary_of_run(const std::string& farm_text, double seconds) {
  const ScratchFolder folder;
  run::RunOptions options;
  options.farm.farm_file = (folder.path() / "farm.yaml").string();
  if (!write(options.farm.farm_file, farm_text))
    return Unexpected<std::string>("cannot write " + options.farm.farm_file);
  options.duration_s = seconds;
  options.out = (folder.path() / "out").string();
  options.log_level = "error";
  options.quiet = true;
  run_record::Summary summary;
  std::string text;
  const int status = run_quietly(options, summary, text);
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

Expected<NetworkRun, std::string> measure_farm(const run::RunOptions& options) {
  const MachineLoad load;
  const auto summary = summary_of_lab_run(options);
  if (!summary) return Unexpected<std::string>(summary.error());
  auto figures = figures_of_run(*summary);
  if (!figures) return figures;
  figures->machine_cpu_s_per_s = load.cpu_s_per_s();
  return figures;
}

}  // namespace weir::bench
