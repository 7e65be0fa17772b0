#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/lab/cpu_shares.hpp>
#include <weir/lab/load.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/pauses.hpp>
#include <weir/lab/plan.hpp>
#include <weir/reports/lab.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

// Disturbances of a run in a lab, apart from its network: spinners, pauses, slow hosts, changes of ports.
// They end with this object and with this process, and leave no process stopped or running.
class Disturbance {
 public:
  // Starts the spinners. Requires: the calling thread lives as long as this object.
  [[nodiscard]] static Expected<Disturbance, std::string> open(const LabPlan& plan);

  // Returns a description for people; empty: no disturbances.
  [[nodiscard]] std::string introduction() const;
  // To be called soon after a node's process has started.
  void started(const std::string& node, pid_t pid);
  // The run began this long ago: pauses and changes follow its time.
  void begun(DurationNs ago_ns);
  // To be called often: makes the changes that are due, and returns them.
  [[nodiscard]] std::vector<PortChange> pass(const LabPlan& plan, const LabNetwork& network);
  // To be called often. Returns whether the long line goes down (true) or returns (false) now.
  [[nodiscard]] std::optional<bool> line_change(const LabPlan& plan);
  void line_failed(const std::string& why) { outages_.back().failure = why; }
  [[nodiscard]] const std::vector<reports::AppliedOutage>& outages() const { return outages_; }
  // To be called often: makes the cuts that are due, and ends those that are over.
  void cut(const LabPlan& plan, const LabNetwork& network);
  [[nodiscard]] const std::vector<reports::AppliedOutage>& cuts() const { return cuts_; }
  // The run drains: no more pauses.
  void ends();
  // Ends the spinners, and returns the CPU time that they used.
  [[nodiscard]] double stop_load() { return load_.stop(); }
  // Returns the hosts that were disturbed; `lost`: frames, by host.
  [[nodiscard]] std::vector<reports::DisturbedHost> hosts(const LabPlan& plan,
                                                          const std::vector<std::uint64_t>& lost) const;
  [[nodiscard]] const std::vector<reports::AppliedChange>& changes() const { return applied_; }

 private:
  Disturbance() = default;

  Load load_;
  std::uint32_t spinners_ = 0;
  Pauses pauses_;
  std::optional<CpuShares> shares_;           // nothing: replaced with pauses
  std::string no_groups_;                     // the reason
  std::map<std::string, std::string> hosts_;  // by node
  std::optional<TimeNs> began_ns_;
  bool over_ = false;
  std::size_t next_ = 0;  // of the plan's changes
  std::vector<reports::AppliedChange> applied_;
  struct Down {
    std::size_t cut = 0;      // of the plan's
    std::size_t applied = 0;  // of cuts_
  };
  std::size_t next_cut_ = 0;
  std::vector<Down> down_;
  std::vector<reports::AppliedOutage> cuts_;
  bool line_down_ = false;
  std::vector<reports::AppliedOutage> outages_;
};

}  // namespace weir::lab
