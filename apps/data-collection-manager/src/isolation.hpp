#pragma once

#include <weir/base/time.hpp>
#include <weir/filter_host/job.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

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

  // A suspect that is complete.
  void add(const filter_host::Job& job) { waiting_.push_back(job); }
  // The units have done with a job.
  void returned(std::uint64_t token);
  // The supervisor has heard what was told under this serial.
  void answered(std::uint64_t serial) { answered_ = serial == told_ ? serial : answered_; }
  // Nobody waits any more, and nothing is to be told: there is no supervisor.
  void clear();

  struct Step {
    bool tell = false;                    // the supervisor, under serial()
    std::optional<filter_host::Job> job;  // to the units
  };
  // The next step, if its time has come; to be asked until there is none. `with_units`: jobs that they have.
  [[nodiscard]] Step step(TimeNs now_ns, std::size_t with_units);

  [[nodiscard]] bool is_open() const { return phase_ == Phase::open; }
  // To be told: what is with the units, or about to be; nothing: no suspect.
  [[nodiscard]] const std::optional<filter_host::Job>& suspect() const { return current_; }
  [[nodiscard]] bool alone() const { return current_ && alone_; }
  // What is told next is told under a new one, as is whatever else the supervisor has to know.
  [[nodiscard]] std::uint64_t next_serial() { return ++told_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  enum class Phase : std::uint8_t { open, draining, telling, alone, lifting };

  void enter(Phase phase, TimeNs now_ns);

  DurationNs patience_ns_;
  Phase phase_ = Phase::open;
  TimeNs since_ns_ = 0;
  std::deque<filter_host::Job> waiting_;  // bounded by the credits; the supervisor gives one at a time
  std::optional<filter_host::Job> current_;
  bool alone_ = false;
  bool returned_ = false;
  std::uint64_t told_ = 0;
  std::uint64_t answered_ = 0;
};

}  // namespace weir::dcm
