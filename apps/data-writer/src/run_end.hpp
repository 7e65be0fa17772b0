#pragma once

#include <weir/base/time.hpp>
#include <weir/base/transitions.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::writer {

enum class EndPhase : std::uint8_t {
  open,      // takes records
  told,      // ordered to end: the fate of its copies may still be reported
  closing,   // the files are being closed
  closed,    // files are closed; commands for them (writer.on_close) may still run
  given_up,  // they could not be: the disk stays full, and the last one stays a .part
};
constexpr std::size_t kEndPhases = 5;

// Every transition. A process ends in `closed` or `given_up`.
inline constexpr Transitions kEndTransitions({
    Transition<EndPhase>{EndPhase::open, EndPhase::told},
    {EndPhase::told, EndPhase::closing},
    {EndPhase::closing, EndPhase::closed},
    {EndPhase::closing, EndPhase::given_up},
});

// How a writer comes to its run's end, and how long it waits on the way. Pure.
class WriterRunEnd {
 public:
  static constexpr DurationNs kPatience = 20 * kSecond;  // for reports on unsettled copies

  void tell(TimeNs now_ns);
  // True if the files are to be closed now. `unsettled`: the fate of some copies is unknown.
  [[nodiscard]] bool may_close(bool unsettled, TimeNs now_ns) const {
    return phase_ == EndPhase::told && (!unsettled || now_ns >= deadline_ns_);
  }
  void close(TimeNs now_ns, DurationNs patience_ns);
  // True if closing has exceeded its patience. `blocked`: the disk accepts no data.
  [[nodiscard]] bool is_in_vain(bool blocked, TimeNs now_ns) const {
    return phase_ == EndPhase::closing && blocked && now_ns >= close_until_ns_;
  }
  void give_up();
  // The files are closed, and commands for them get so long.
  void closed(TimeNs now_ns, DurationNs patience_ns);
  // The commands have ended, or had their time.
  [[nodiscard]] bool is_over(bool commands_run, TimeNs now_ns) const {
    if (phase_ == EndPhase::given_up) return true;
    return phase_ == EndPhase::closed && (!commands_run || now_ns >= commands_until_ns_);
  }

  [[nodiscard]] EndPhase phase() const { return phase_; }

 private:
  void enter(EndPhase to);

  EndPhase phase_ = EndPhase::open;
  TimeNs deadline_ns_ = 0;
  TimeNs close_until_ns_ = 0;
  TimeNs commands_until_ns_ = 0;
};

}  // namespace weir::writer
