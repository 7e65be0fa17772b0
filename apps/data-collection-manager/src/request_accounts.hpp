#pragma once

#include "pending_requests.hpp"
#include <weir/assembly/built_slice.hpp>
#include <weir/shaping/shaper.hpp>
#include <weir/wire/frame.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::dcm {

// Counts the outstanding bytes and fragments of requests to each readout, also for slices that have left.
// Gives the credit of arrived data back to the shaper, and measures answers for a shaper that learns. Pure.
class RequestAccounts {
 public:
  using Part = assembly::Gathering::Part;

  // `learns`: the shaper does.
  RequestAccounts(std::uint32_t readouts, bool learns) : learns_(learns), of_(readouts) {}

  // `bytes` are expected with the answer; `part` is the part of the slice at this readout.
  void requested(std::uint32_t readout, Part& part, std::uint64_t bytes, PendingRequests::Question question);
  // Records received bytes; `part` is null if they belong to no open slice. Returns how many were owed.
  std::uint64_t arrived(std::uint32_t readout, Part* part, std::uint64_t bytes);
  // Records a complete answer. Returns false if the slice was owed none of it.
  bool answered(std::uint32_t readout, Part* part, const PendingRequests::Answer& answer);
  // Records the readout's timing of the request that it answered last; `arrived_ns`: its arrival at this
  // host.
  void timed(std::uint32_t readout, const wire::Timing& timing, TimeNs arrived_ns);
  // Discards timings of this pass: their arrival is unknown.
  void forget_timing(std::uint32_t readout);
  // The slice has left: its outstanding fragments arrive late or never.
  void leave(const assembly::BuiltSlice& slice);
  // The connection is lost: nothing that it owes will arrive.
  void disconnected(std::uint32_t readout);

  [[nodiscard]] std::uint64_t owed(std::uint32_t readout) const { return of_[readout].owed; }
  // Reports everything since the last call to the shaper, which needs the sum of many small fragments, not
  // each one. Call before requests.
  void report(shaping::Shaper& shaper, TimeNs now_ns);

 private:
  // An answer with its timing.
  struct Reply {
    std::uint32_t readout = 0;
    TimeNs asked_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t owed = 0;
    TimeNs arrived_ns = 0;
    DurationNs held_ns = 0;  // at the readout
  };
  // Bytes received from a readout since the last report.
  struct Progress {
    std::uint64_t bytes = 0;      // requested bytes
    std::uint32_t fragments = 0;  // answered
    std::uint64_t rest = 0;       // bytes that will not come any more, of those
    bool reported = true;         // false: listed in progressed_
  };
  struct Account {
    Progress progress;
    std::uint64_t owed = 0;   // bytes
    PendingRequests pending;  // where the shaper learns
    // Outstanding fragments of slices that have left.
    std::uint64_t late_fragments = 0;
    std::uint64_t late_bytes = 0;
  };
  // Called for each fragment, and more than once.
  Progress& progress_of(std::uint32_t readout) {
    Progress& progress = of_[readout].progress;
    if (std::exchange(progress.reported, false)) progressed_.push_back(readout);
    return progress;
  }
  void note_answer(std::uint32_t readout, std::uint32_t fragments, std::uint64_t rest) {
    Progress& progress = progress_of(readout);
    progress.fragments += fragments;
    progress.rest += rest;
    of_[readout].owed -= std::min(of_[readout].owed, rest);
  }

  const bool learns_;
  std::vector<Account> of_;                // by readout
  std::vector<std::uint32_t> progressed_;  // readouts
  std::vector<Reply> replies_;             // of this pass, for a shaper that learns
};

// For each request and each received piece.
inline void RequestAccounts::requested(std::uint32_t readout, Part& part, std::uint64_t bytes,
                                       PendingRequests::Question question) {
  Account& of = of_[readout];
  question.owed = of.owed;
  if (learns_) of.pending.ask(question);
  of.owed += bytes;
  part.owed_fragments += question.fragments;
  part.owed_bytes += bytes;
}

inline std::uint64_t RequestAccounts::arrived(std::uint32_t readout, Part* part, std::uint64_t bytes) {
  Account& of = of_[readout];
  std::uint64_t& owed = part != nullptr ? part->owed_bytes : of.late_bytes;
  const std::uint64_t back = std::min(owed, bytes);
  owed -= back;
  of.owed -= std::min(of.owed, back);
  progress_of(readout).bytes += back;
  return back;
}

}  // namespace weir::dcm
