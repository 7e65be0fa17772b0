#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::dcm {

// Decides when a suspect goes to the processing units: alone if possible, and only after the supervisor has
// been notified. So if the filter kills the process, even with its first instruction, the slices that may be
// to blame are known. Pure.
//
//   open ──► draining ──► telling ──► alone ──► lifting ──► open
//            until no     until the   until the until the
//            other job    supervisor  job is    supervisor
//            runs         knows       done      knows
//
// Ordinary jobs run only in `open`. If the units do not become idle in time, because one of them hangs, the
// suspect runs in a free one; if the suspect itself hangs, the other jobs continue in a free one, later after
// one with a kill. So a suspect never waits for a unit: all that the units have when it is reported, runs.
class Isolation {
 public:
  // `units`: jobs that run side by side; 0: one in the caller's thread.
  Isolation(DurationNs patience_ns, std::size_t units) : patience_ns_(patience_ns), units_(units) {}

  // The units have done with a slice.
  void returned(const assembly::BuiltSlice& slice);
  // The supervisor has received the note with this serial.
  void answered(std::uint64_t serial) { answered_ = serial == told_ ? serial : answered_; }
  // Resets: no supervisor is connected, so no slice waits and no note is due.
  void clear();

  struct Step {
    bool tell = false;                    // the supervisor, under serial()
    assembly::BuiltSlice* job = nullptr;  // for the units
  };
  // True if a suspect goes before one that became complete earlier. One that was in a filter when its DCM
  // died goes before others can hang beside it: the newest, which was the last to enter that filter.
  [[nodiscard]] static bool goes_before(const assembly::BuiltSlice& suspect,
                                        const assembly::BuiltSlice& earlier) {
    return suspect.assignment.kills > 0 && suspect.assignment.kills >= earlier.assignment.kills;
  }
  // Returns the next step, if it is due; call until it returns none. `with_units`: number of running jobs.
  // `waiting`: the next suspect, or null.
  [[nodiscard]] Step step(TimeNs now_ns, std::size_t with_units, assembly::BuiltSlice* waiting);

  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }
  // The suspect to report: with the units, or about to be; null: none.
  [[nodiscard]] const assembly::BuiltSlice* suspect() const { return current_; }
  // Returns a new serial for the next note, and for anything else that the supervisor has to receive.
  [[nodiscard]] std::uint64_t next_serial() { return ++told_; }

 private:
  enum class Phase : std::uint8_t { open, draining, telling, alone, lifting };

  void enter(Phase phase, TimeNs now_ns);

  [[nodiscard]] bool is_patient(TimeNs now_ns) const;

  DurationNs patience_ns_;
  std::size_t units_;
  Phase phase_ = Phase::open;
  TimeNs since_ns_ = 0;
  assembly::BuiltSlice* current_ = nullptr;
  bool returned_ = false;
  std::uint64_t told_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace weir::dcm
