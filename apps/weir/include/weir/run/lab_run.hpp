#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/counters.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>
#include <weir/lab/port_record.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run/summary.hpp>

#include <map>
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
  // The calling thread is in the lab's control network afterwards, and stays there.
  [[nodiscard]] static Expected<LabRun, LabError> make(const lab::LabPlan& plan);

  [[nodiscard]] const lab::LabPlan& plan() const { return plan_; }
  // Where the farm's nodes run.
  [[nodiscard]] std::map<std::string, NodePlace> places() const;
  // Often: reads the ports' counters when it is time.
  void pass(TimeNs now_ns);
  // The ports' last readings, and what the lab was.
  void account(Summary& summary);

 private:
  LabRun(lab::LabPlan plan, lab::Network network, lab::Counters counters);

  lab::LabPlan plan_;
  lab::Network network_;
  lab::Counters counters_;
  lab::PortRecord record_;
  TimeNs next_sample_ns_ = 0;
  TimeNs now_ns_ = 0;
};

}  // namespace weir::run
