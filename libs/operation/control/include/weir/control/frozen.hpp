#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace weir::control {

// The system's view of a process.
struct ProcessLook {
  bool same_starter = false;  // started by the program that started run control, which starts it again
  bool stopped = false;       // by a signal
  bool traced = false;        // by a debugger
  bool in_disk = false;       // waits for a disk, where no signal ends it
  std::optional<std::uint64_t> waits;  // how often its loop has waited; nullopt: not counted
};

// A supervisor that is silent although its process exists.
struct Freeze {
  enum class Kind : std::uint8_t { none, stopped, hung, traced, in_disk };
  Kind kind = Kind::none;
  // Until run control ends the process; nullopt: it does not.
  std::optional<DurationNs> end_in_ns;
};
[[nodiscard]] std::string text_of(Freeze::Kind kind);  // "stopped by a signal", …

// Decides when a frozen supervisor is ended, so that its successor resumes the run from the journal. A
// process is frozen if it is silent and stopped, or silent while its loop has not waited anew for kHungAfter.
// It is ended in the middle of the time for which a run waits for it: the first half is for a freeze that
// passes, the second for the successor. Only a process that its starter starts again is ended, never a traced
// one. Pure; times are of a clock that leaves out run control's own pauses.
class FrozenSupervisor {
 public:
  static constexpr DurationNs kHungAfter = 5 * kSecond;

  // `return_ns`: for how long a run waits for its supervisor.
  explicit FrozenSupervisor(DurationNs return_ns) : end_after_ns_(return_ns / 2) {}

  // Takes a look at the process of a run's supervisor that was heard `silent_ns` ago, and is missed.
  // `resumes`: a successor can resume the run.
  void look(const ProcessLook& process, DurationNs silent_ns, bool resumes, TimeNs now);
  // It is heard, its process is gone, or no run needs it.
  void clear();
  // True once per freeze: the process is to be ended now.
  [[nodiscard]] bool ends_now();
  [[nodiscard]] const Freeze& freeze() const { return freeze_; }

 private:
  [[nodiscard]] Freeze::Kind kind_of(const ProcessLook& process, TimeNs now);

  DurationNs end_after_ns_;
  Freeze freeze_;
  std::optional<std::uint64_t> waits_;
  TimeNs waited_ns_ = 0;  // when waits_ was new
  bool ended_ = false;
};

}  // namespace weir::control
