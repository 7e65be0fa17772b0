#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>

namespace weir::dcm {

// When a suspect goes to the processing units: alone, and only once the supervisor knows that it does. So
// when the filter takes the process with it, from its first instruction on, one slice is to blame and no
// other. Pure.
//
//   open ──► draining ──► telling ──► alone ──► lifting ──► open
//            no other     the super-  the job   the super-
//            job is with  visor is    is with   visor is
//            the units    told        them      told
//
// Ordinary jobs go in `open` alone. Where the units do not come to rest in time (one of them hangs), the
// suspect goes all the same, and is told to be one of several; where it hangs itself, the others go on.
class Isolation {
 public:
  explicit Isolation(DurationNs patience_ns) : patience_ns_(patience_ns) {}

  // The units have done with a slice.
  void returned(const assembly::BuiltSlice& slice);
  // The supervisor has heard what was told under this serial.
  void answered(std::uint64_t serial) { answered_ = serial == told_ ? serial : answered_; }
  // No slice waits any more, and nothing is to be told: there is no supervisor.
  void clear();

  struct Step {
    bool tell = false;                    // the supervisor, under serial()
    assembly::BuiltSlice* job = nullptr;  // to the units
  };
  // The next step, if its time has come; to be asked until there is none. `with_units`: jobs that they have.
  // `waiting`: the first suspect that waits; null: none.
  [[nodiscard]] Step step(TimeNs now_ns, std::size_t with_units, assembly::BuiltSlice* waiting);

  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }
  // To be told: what is with the units, or about to be; nothing: no suspect.
  [[nodiscard]] const assembly::BuiltSlice* suspect() const { return current_; }
  [[nodiscard]] bool alone() const { return current_ != nullptr && alone_; }
  // What is told next is told under a new one, as is whatever else the supervisor has to know.
  [[nodiscard]] std::uint64_t next_serial() { return ++told_; }

 private:
  enum class Phase : std::uint8_t { open, draining, telling, alone, lifting };

  void enter(Phase phase, TimeNs now_ns);

  DurationNs patience_ns_;
  Phase phase_ = Phase::open;
  TimeNs since_ns_ = 0;
  assembly::BuiltSlice* current_ = nullptr;
  bool alone_ = false;
  bool returned_ = false;
  std::uint64_t told_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace weir::dcm
