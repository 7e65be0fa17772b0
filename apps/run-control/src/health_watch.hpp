#pragma once

#include "members.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/control/filter_flow.hpp>
#include <weir/control/headline.hpp>
#include <weir/control/health.hpp>
#include <weir/control/rules.hpp>
#include <weir/control/trigger_flow.hpp>
#include <weir/reports/loop_use.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// Limits of the findings, from the first rule of each kind.
[[nodiscard]] control::FlowLimits flow_limits(const std::vector<control::Rule>& rules);

// The farm's health, as shown first by the page, `weir ctl status` and `weir top`.
class HealthWatch {
 public:
  // Whether this process is the farm's first run control, or resumes an earlier one's state.
  enum class Begin : std::uint8_t { anew, recalled };
  HealthWatch(Begin begin, DurationNs heartbeat, const control::FlowLimits& limits, TimeNs now)
      : begin_(begin), heartbeat_ns_(heartbeat), limits_(limits), begin_ns_(now) {}

  // From filter.error_share_max: a higher share of failed slices is an error.
  void set_error_share_max(double share) { error_share_max_ = share; }
  // From trigger.rate_hz, in Hz; 0: unknown.
  void set_expected_rate(double rate) { limits_.expected_rate = rate; }
  // Of a missing supervisor.
  void set_freeze(const control::Freeze& freeze) { freeze_ = freeze; }
  void set_records(control::HealthView::Records records) { records_ = std::move(records); }
  void set_missing_disks(std::vector<control::MissingDisk> disks) { missing_disks_ = std::move(disks); }
  void set_disks(std::vector<control::DiskUse> disks) { disks_ = std::move(disks); }
  // The farm's groups of DCMs. Empty: none.
  struct Groups {
    std::map<std::string, std::string> of_dcm;         // by name
    std::map<std::string, std::uint64_t> pending_max;  // by group
  };
  void set_groups(Groups groups) { groups_ = std::move(groups); }

  // Each turn: whether the run gets on, of the reports.
  void look(const control::FarmMachine& machine, const Members& members, TimeNs now);
  // Share of the last seconds in which triggers were accepted; nullopt: unknown.
  [[nodiscard]] std::optional<double> live_share() const {
    return draining_ ? std::nullopt : flow_.live_share();
  }
  // Flow of the present run; nullopt: no triggers are expected now.
  [[nodiscard]] std::optional<control::RulesView::Flow> flow() const;
  [[nodiscard]] std::vector<control::Finding> findings(const control::FarmMachine& machine,
                                                       const Members& members,
                                                       std::optional<control::HealthView::LastRun> last,
                                                       TimeNs now) const;

 private:
  void take_reports(const control::FarmMachine& machine, const Members& members, TimeNs now);
  void add_groups(const control::FarmMachine& machine, const Members& members,
                  control::HealthView& out) const;
  void add_measures(TimeNs now, control::HealthView& out) const;
  [[nodiscard]] std::vector<std::string> full(const control::FarmMachine& machine,
                                              const Members& members) const;
  [[nodiscard]] std::vector<control::Finding> judge(const control::FarmMachine& machine,
                                                    const Members& members,
                                                    std::optional<control::HealthView::LastRun> last,
                                                    TimeNs now) const;

  Begin begin_;
  DurationNs heartbeat_ns_;
  control::FlowLimits limits_;
  TimeNs begin_ns_;
  control::RunProgress progress_;
  control::TriggerFlow flow_;
  control::FilterFlow filters_;
  double error_share_max_ = 0.01;
  Groups groups_;
  control::Freeze freeze_;
  control::HealthView::Records records_;
  std::vector<control::MissingDisk> missing_disks_;
  std::vector<control::DiskUse> disks_;
  control::Headline headline_;  // of a run
  bool draining_ = false;
  std::map<std::size_t, reports::LoopWatch> loops_;  // of the members in a run
  TimeNs next_look_ns_ = 0;
  std::int64_t looked_at_ns_ = 0;  // the supervisor's clock in the report that was looked at
};

}  // namespace weir::run_control
