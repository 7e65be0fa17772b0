#pragma once

#include "members.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/control/health.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::run_control {

// How the farm is: what the page, `weir ctl status` and `weir top` say first.
class HealthWatch {
 public:
  // Whether this process is the farm's first run control, or goes on from what an earlier one knew.
  enum class Begin : std::uint8_t { anew, recalled };
  HealthWatch(Begin begin, DurationNs heartbeat, TimeNs now)
      : begin_(begin), heartbeat_ns_(heartbeat), begin_ns_(now) {}

  // Each turn: whether the run gets on, of the supervisor's reports.
  void look(const control::FarmMachine& machine, const Members& members, TimeNs now);
  [[nodiscard]] std::vector<control::Finding> findings(const control::FarmMachine& machine,
                                                       const Members& members,
                                                       std::optional<control::HealthView::LastRun> last,
                                                       TimeNs now) const;

 private:
  Begin begin_;
  DurationNs heartbeat_ns_;
  TimeNs begin_ns_;
  control::RunProgress progress_;
  TimeNs next_look_ns_ = 0;
  std::int64_t looked_at_ns_ = 0;  // the supervisor's clock in the report that was looked at
};

}  // namespace weir::run_control
