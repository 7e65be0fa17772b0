#include "table.hpp"

#include "cases.hpp"

#include <cstdio>

namespace weir::packet_model {

void print_runs(const PullNetwork& network, const Options& options) {
  for (const ShaperSpec& shaper : options.shapers) {
    const RunResult run = run_all(network, {shaper}, options.run, options.runs)[0];
    std::printf("%-15s %-18s %6.1f %6.1f %8.2f %8.2f %7llu %7llu %7llu %7llu %5llu\n", network.name.c_str(),
                shaper.text().c_str(), 100 * run.goodput, 100 * run.start_goodput, run.p50, run.p99,
                static_cast<unsigned long long>(run.slices), static_cast<unsigned long long>(run.drops),
                static_cast<unsigned long long>(run.late_drops),
                static_cast<unsigned long long>(run.retransmissions),
                static_cast<unsigned long long>(run.timeouts));
    std::fflush(stdout);
  }
}

void print_header() {
  std::printf("%-15s %-18s %6s %6s %8s %8s %7s %7s %7s %7s %5s\n", "network", "shaper", "good%", "start%",
              "p50", "p99", "slices", "drops", "late", "again", "tmo");
}

int run_cases(const Options& options) {
  const std::vector<PullNetwork> chosen =
      options.case_name.empty() ? cases() : std::vector<PullNetwork>{case_named(options.case_name)};
  if (options.describe) {
    for (const PullNetwork& network : chosen) std::printf("%s", describe(network).c_str());
    return 0;
  }
  print_header();
  for (const PullNetwork& network : chosen) print_runs(network, options);
  return 0;
}

}  // namespace weir::packet_model
