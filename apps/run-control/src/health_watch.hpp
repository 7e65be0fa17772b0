#pragma once

#include "members.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/control/health.hpp>
#include <weir/control/rules.hpp>
#include <weir/control/trigger_flow.hpp>

#include <cstdint>
#include <optional>
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

  // Each turn: whether the run gets on, of the supervisor's reports.
  void look(const control::FarmMachine& machine, const Members& members, TimeNs now);
  // Flow of the present run; nullopt: no triggers are expected now.
  [[nodiscard]] std::optional<control::RulesView::Flow> flow() const;
  [[nodiscard]] std::vector<control::Finding> findings(const control::FarmMachine& machine,
                                                       const Members& members,
                                                       std::optional<control::HealthView::LastRun> last,
                                                       TimeNs now) const;

 private:
  Begin begin_;
  DurationNs heartbeat_ns_;
  control::FlowLimits limits_;
  TimeNs begin_ns_;
  control::RunProgress progress_;
  control::TriggerFlow flow_;
  bool draining_ = false;
  TimeNs next_look_ns_ = 0;
  std::int64_t looked_at_ns_ = 0;  // the supervisor's clock in the report that was looked at
};

}  // namespace weir::run_control
