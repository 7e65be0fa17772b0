#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/network.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run_record/summary.hpp>

#include <string>

namespace weir::bench {

// Runs a farm once in a lab, in a separate thread, because that thread stays in the lab's network. Removes
// earlier contents of the run's folder. Errors are messages, which begin with "SIG" if a signal ended the
// run.
[[nodiscard]] Expected<run_record::Summary, std::string> summary_of_lab_run(const run::RunOptions& options);

// Runs a farm file's text on this machine, without a lab. Errors: also if the ledger does not balance or no
// slice was decided. Triggers that were vetoed are not an error.
[[nodiscard]] Expected<run_record::Summary, std::string> summary_of_run(const std::string& farm_text,
                                                                        double seconds);

// Returns the CPU time of all processes of the farm.
[[nodiscard]] double cpu_s_of(const run_record::Summary& summary);

// CPU time of the whole machine since this object was made.
class MachineLoad {
 public:
  MachineLoad();
  [[nodiscard]] double cpu_s_per_s() const;
  // Returns the same without the CPU time of the farm's processes.
  [[nodiscard]] double others_cpu_s_per_s(double farm_cpu_s) const;

 private:
  double cpu_before_s_;
  double before_s_;
};

// As summary_of_lab_run(), with the figures of a network point.
[[nodiscard]] Expected<NetworkRun, std::string> measure_farm(const run::RunOptions& options);

}  // namespace weir::bench
