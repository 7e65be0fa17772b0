#pragma once

#include <weir/base/time.hpp>
#include <weir/run_record/steady_part.hpp>
#include <weir/v1/bus.pb.h>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <optional>

namespace weir::run {

// What run control has told of the run: the supervisor's statuses, and its account. Pure.
class RunNews {
 public:
  enum class Phase : std::uint8_t {
    gathering,  // the run has not begun
    running,    // paused, too
    draining,
    over  // every slice is settled: the supervisor tells the others to end, or has done so
  };

  // True: there is a status that was not told before.
  bool take(const v1::FarmView& view);
  // One without an account says nothing here: its process ends, and says why.
  void take(const v1::RunOver& over);

  [[nodiscard]] Phase phase() const { return phase_; }
  // The last one.
  [[nodiscard]] const v1::FarmStatus& status() const { return status_; }
  // When the supervisor made it, on the clock that the processes of this machine share; 0: none has come.
  [[nodiscard]] TimeNs told_ns() const { return told_ns_; }
  // How long the run has been on at this time.
  [[nodiscard]] DurationNs run_ns(TimeNs now) const;
  // What the run is made of, as run control has told last.
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
