#pragma once

#include "parts.hpp"
#include <weir/control/frozen.hpp>
#include <weir/v1/farm.pb.h>

#include <optional>
#include <string_view>

namespace weir::run_control {

// Reads what /proc/PID/status says of a process; nullopt: it has ended. `starter`: of run control.
[[nodiscard]] std::optional<control::ProcessLook> read_status(std::string_view status, int starter);

// Ends a frozen supervisor of a run, if its successor can resume the run.
class FrozenWatch {
 public:
  static constexpr DurationNs kInterval = kSecond;

  explicit FrozenWatch(DurationNs return_ns) : supervisor_(return_ns) {}

  // Each turn. Its work is noted in the events, in the run's record, and as the end of that process.
  void look(Parts& parts);
  [[nodiscard]] const control::Freeze& freeze() const { return supervisor_.freeze(); }

 private:
  void end(std::size_t member, Parts& parts) const;

  control::FrozenSupervisor supervisor_;
  TimeNs next_look_ns_ = 0;
};

}  // namespace weir::run_control
