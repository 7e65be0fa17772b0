#pragma once

#include <weir/base/time.hpp>
#include <weir/run_record/steady_part.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>

namespace weir::run {

// Run control's reports about the run: the supervisor's statuses, and its account. Pure.
class RunNews {
 public:
  enum class Phase : std::uint8_t {
    gathering,  // the run has not begun
    running,    // or paused
    draining,
    over  // every slice is settled: the supervisor ends the others, or has done so
  };

  // `settling_ns`: the steady part begins so long after the run's begin.
  explicit RunNews(DurationNs settling_ns = run_record::kStartUp) : steady_(settling_ns) {}

  // Returns true if the view has a new status.
  bool take(const v1::FarmView& view);
  // A message without an account is ignored: the supervisor's process ends and has the reason.
  void take(const v1::RunOver& over);

  [[nodiscard]] Phase phase() const { return phase_; }
  // Returns the last status.
  [[nodiscard]] const v1::FarmStatus& status() const { return status_; }
  // Returns when the supervisor made it, on the clock shared by this machine's processes; 0: none yet.
  [[nodiscard]] TimeNs told_ns() const { return told_ns_; }
  // Returns how long the run has lasted at this time.
  [[nodiscard]] DurationNs run_ns(TimeNs now) const;
  // Returns the run's parts, as last reported.
  [[nodiscard]] const v1::RunIdentity& identity() const { return identity_; }
  [[nodiscard]] const std::optional<v1::RunSummary>& account() const { return account_; }
  [[nodiscard]] const run_record::SteadyPart& steady() const { return steady_; }

 private:
  Phase phase_ = Phase::gathering;
  v1::FarmStatus status_;
  TimeNs told_ns_ = 0;
  v1::RunIdentity identity_;
  std::optional<v1::RunSummary> account_;
  run_record::SteadyPart steady_;
};

}  // namespace weir::run
