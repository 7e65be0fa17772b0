#pragma once

#include <weir/base/time.hpp>
#include <weir/base/transitions.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::dcm {

enum class DcmPhase : std::uint8_t {
  ready,       // no run has begun
  running,     //
  told_early,  // ordered to end before a run had begun
  ending,      // ordered to end: waits for pending work
  over,        // the filter has been told that the run is over
};
constexpr std::size_t kRunPhases = 5;

// Every allowed transition.
inline constexpr Transitions kRunTransitions({
    Transition<DcmPhase>{DcmPhase::ready, DcmPhase::running},
    {DcmPhase::ready, DcmPhase::told_early},
    {DcmPhase::told_early, DcmPhase::ending},  // the begin comes after all
    {DcmPhase::running, DcmPhase::ending},
    {DcmPhase::ending, DcmPhase::over},
});

// The phases of a DCM in a run, and its patience at the end: every slice is settled then, but a writer's
// acknowledgement may be in transit, and the filter may hang. Pure.
class RunPhases {
 public:
  static constexpr DurationNs kEndPatience = 2 * kSecond;

  void begin() { enter(phase_ == DcmPhase::told_early ? DcmPhase::ending : DcmPhase::running); }
  void end(TimeNs now_ns);
  // The filter has been told that the run is over.
  void close() { enter(DcmPhase::over); }

  [[nodiscard]] DcmPhase phase() const { return phase_; }
  // A run has begun here, whether it is over or not.
  [[nodiscard]] bool has_begun() const { return phase_ != DcmPhase::ready && phase_ != DcmPhase::told_early; }
  // The supervisor has ended the run.
  [[nodiscard]] bool is_ending() const { return phase_ >= DcmPhase::told_early; }
  [[nodiscard]] bool is_running() const { return phase_ == DcmPhase::running; }
  // True if the final report may be sent. `at_rest`: no work is pending.
  [[nodiscard]] bool may_report_finally(bool at_rest, TimeNs now_ns) const {
    return is_ending() && (at_rest || now_ns >= end_deadline_ns_);
  }

 private:
  void enter(DcmPhase to);

  DcmPhase phase_ = DcmPhase::ready;
  TimeNs end_deadline_ns_ = 0;
};

}  // namespace weir::dcm
