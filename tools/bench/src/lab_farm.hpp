#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/network.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/run_record/summary.hpp>

#include <string>

namespace weir::bench {

// Writes a farm file and a lab file into the folder, and returns the options of a run of them with its output
// in FOLDER/out. Without a lab file the farm runs on this machine as it is.
[[nodiscard]] Expected<run::RunOptions, std::string> prepare_run(const std::string& folder,
                                                                 const std::string& farm_text,
                                                                 const std::string& lab_text = {});

// Runs a farm, and returns its exit status. `text`: its output and messages. A signal is the summary's
// reason.
int run_quietly(const run::RunOptions& options, run_record::Summary& summary, std::string& text);

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

// Returns the limits of a prepared run's network, for slices of so many bytes and fragments. Errors: a farm
// or a lab that is invalid.
[[nodiscard]] Expected<run_record::Theory, std::string> theory_of_run(const run::RunOptions& options,
                                                                      double slice_bytes, double fragments);

// As summary_of_lab_run(), with the figures of its network.
[[nodiscard]] Expected<NetworkRun, std::string> measure_in_lab(const run::RunOptions& options);

}  // namespace weir::bench
