#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/disturbance.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/lab/port_record.hpp>
#include <weir/lab/relay.hpp>
#include <weir/lab/traffic.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run_record/summary.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run {

// Why a farm does not run in a lab, as it is printed.
struct LabError {
  std::string text;
  bool usage = false;  // the lab file, the command line or the user's rights
};

// A lab file with what the command line sets (`lab.KEY=VALUE`). The error is all problems.
[[nodiscard]] Expected<config::LabFile, std::string> load_lab(const std::string& path,
                                                              const std::vector<std::string>& sets);

// The lab of one `weir run`: made before the farm, gone with this object or this process.
class LabRun {
 public:
  // The calling thread is in the lab's control network afterwards, and stays there. `congestion_control`:
  // the farm's.
  [[nodiscard]] static Expected<LabRun, LabError> make(const config::LabFile& file, const lab::LabPlan& plan,
                                                       const std::string& congestion_control);

  // The lab file with every key, for the run's records.
  [[nodiscard]] const std::string& yaml() const { return yaml_; }
  // What a person is told at the start.
  [[nodiscard]] std::string introduction() const;
  [[nodiscard]] const lab::LabPlan& plan() const { return plan_; }
  // A descriptor of the network that this thread was in before, for setns(); valid as long as this object.
  [[nodiscard]] int outside() const { return network_.outside(); }
  // Where the farm's nodes run.
  [[nodiscard]] std::map<std::string, launch::NodePlace> places() const;
  // Often: reads the ports' counters when it is time.
  void pass(TimeNs now_ns);
  // The process of a node has started, again too.
  void started(const std::string& node, pid_t pid) { disturbance_.started(node, pid); }
  // The run began so long ago: foreign traffic, pauses and changes follow its times.
  void begun(DurationNs ago_ns);
  // The run drains or is given up: every process may work on.
  void ends() { disturbance_.ends(); }
  // The busiest port, and drops so far.
  [[nodiscard]] std::string live_line() const;
  // The ports' last readings, and what the lab was.
  void account(run_record::Summary& summary);

 private:
  LabRun(lab::LabPlan plan, lab::Disturbance disturbance, lab::Network network, lab::Counters counters);
  [[nodiscard]] const std::vector<lab::PortCount>& read();
  // Of the plan's ports, over the run.
  [[nodiscard]] std::vector<double> mean_rates(double seconds) const;

  std::string yaml_;
  lab::LabPlan plan_;
  lab::Disturbance disturbance_;
  lab::Network network_;
  lab::Counters counters_;
  std::optional<lab::Relay> relay_;
  std::optional<lab::Traffic> traffic_;
  std::vector<lab::Port> ports_;
  std::vector<lab::PortCount> counts_;
  lab::PortRecord record_;
  std::uint64_t machine_drops_before_ = lab::machine_drops();
  TimeNs next_sample_ns_ = 0;
  TimeNs now_ns_ = 0;
};

}  // namespace weir::run
