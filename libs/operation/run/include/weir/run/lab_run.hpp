#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/disturbance.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/network_tracer.hpp>
#include <weir/lab/plan.hpp>
#include <weir/lab/port_record.hpp>
#include <weir/lab/relay.hpp>
#include <weir/lab/traffic.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run/static_window.hpp>
#include <weir/run_record/summary.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run {

// Why a farm cannot run in a lab, as printed.
struct LabError {
  std::string text;
  bool usage = false;  // the lab file, the command line or the user's rights are at fault
};

// Loads a lab file with the command line's overrides (`lab.KEY=VALUE`). The error has all problems.
[[nodiscard]] Expected<config::LabFile, std::string> load_lab(const std::string& path,
                                                              const std::vector<std::string>& sets);

// The lab of one `weir run`: made before the farm, removed with this object or this process.
class LabRun {
 public:
  // Makes the lab. Afterwards the calling thread is in the lab's control network for good.
  // `congestion_control`: the farm's.
  [[nodiscard]] static Expected<LabRun, LabError> make(const config::LabFile& file, const lab::LabPlan& plan,
                                                       const std::string& congestion_control);

  // Returns the lab file with every key, for the run's records.
  [[nodiscard]] const std::string& yaml() const { return yaml_; }
  // Returns the description printed at the start.
  [[nodiscard]] std::string introduction() const;
  [[nodiscard]] const lab::LabPlan& plan() const { return plan_; }
  // Returns a descriptor of this thread's previous network for setns(), valid as long as this object.
  [[nodiscard]] int outside() const { return network_.outside(); }
  // Returns where the farm's nodes run.
  [[nodiscard]] std::map<std::string, launch::NodePlace> places() const;
  // The start that the ports' drops after 1 s leave out.
  void set_settling(DurationNs settling_ns) { record_.set_settling(settling_ns); }
  // Samples the network from the run's begin on. Requires: called before begun().
  [[nodiscard]] Expected<void, LabError> trace();
  // Writes the samples so far, and ends sampling. Returns an error text, or an empty string.
  [[nodiscard]] std::string write_trace(const std::string& path);
  // To be called often: reads the ports' counters when it is time.
  void pass(TimeNs now_ns);
  // A node's process has started or restarted.
  void started(const std::string& node, pid_t pid) { disturbance_.started(node, pid); }
  // The run began this long ago: foreign traffic, pauses and changes follow its time.
  void begun(DurationNs ago_ns);
  // The run drains or is given up: processes are no longer paused.
  void ends() { disturbance_.ends(); }
  // Returns the busiest port, and the drops so far.
  [[nodiscard]] std::string live_line() const;
  // Adds the ports' last readings and a description of the lab to the summary.
  void account(run_record::Summary& summary);

 private:
  LabRun(lab::LabPlan plan, lab::Disturbance disturbance, lab::LabNetwork network,
         lab::PortCounters counters);
  [[nodiscard]] const std::vector<lab::PortCount>& read();
  void set_line_down(bool down);
  // Returns the mean rates of the plan's ports over the run.
  [[nodiscard]] std::vector<double> mean_rates(double seconds) const;

  std::optional<StaticWindow> window_;  // outlives the network and its sockets
  std::string yaml_;
  lab::LabPlan plan_;
  lab::Disturbance disturbance_;
  lab::LabNetwork network_;
  lab::PortCounters counters_;
  std::optional<lab::Relay> relay_;
  std::optional<lab::Traffic> traffic_;
  std::optional<lab::NetworkTracer> tracer_;
  std::vector<lab::Port> ports_;
  std::vector<lab::PortCount> counts_;
  lab::PortRecord record_;
  std::uint64_t machine_drops_before_ = lab::machine_drops();
  TimeNs next_sample_ns_ = 0;
  TimeNs now_ns_ = 0;
};

}  // namespace weir::run
