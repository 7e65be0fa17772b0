#pragma once

#include "request_accounts.hpp"
#include "request_queues.hpp"
#include "size_estimates.hpp"
#include <weir/shaping/readout_choice.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::dcm {

// Decides which readout receives the next request, and for which slice: the oldest slice first, within it the
// readout that the order chooses; requests ahead of a step come last. The cost of a request is independent of
// other requests, except for the logarithm of the number of readouts. Pure.
class RequestSchedule {
 public:
  // `accounts` and `sizes` give the load of a readout, and outlive this. `first`: this DCM's own place among
  // the readouts. No readout is connected at first.
  RequestSchedule(shaping::ReadoutOrder order, std::uint32_t first, std::uint32_t readouts,
                  const RequestAccounts& accounts, const SizeEstimates& sizes);

  // The slice wants data of the readout, ahead of a step or for one (Gathering::ahead).
  void add(assembly::BuiltSlice& slice, std::uint32_t readout) {
    queue_of(slice).add(slice, readout);
    touch(readout);
  }
  void remove(assembly::BuiltSlice& slice, std::uint32_t readout) { queue_of(slice).remove(slice, readout); }
  // The slice wants nothing of any readout.
  void remove(assembly::BuiltSlice& slice);
  // No slice gets data of this readout.
  void remove_all_of(std::uint32_t readout);
  void connected(std::uint32_t readout);
  // Slices go on wanting its data, except ahead of a step.
  void disconnected(std::uint32_t readout);
  [[nodiscard]] bool is_up(std::uint32_t readout) const { return of_[readout].up; }
  // Marks a change that may affect this readout's turn; the next round of requests checks it.
  void touch(std::uint32_t readout) {
    if (!of_[readout].touched) touch_first(readout);
  }

  // A round of requests begins: all connected readouts may receive some.
  void begin_round();
  // Returns the readout for the next request of the round, which is oldest()'s; nullopt: none.
  [[nodiscard]] std::optional<std::uint32_t> best() {
    const auto best = choice_.best();
    if (best) ++steps_;
    return best;
  }
  [[nodiscard]] assembly::BuiltSlice* oldest(std::uint32_t readout) const {
    assembly::BuiltSlice* const oldest = queue_.oldest(readout);
    return oldest != nullptr ? oldest : ahead_queue_.oldest(readout);
  }
  // Returns the oldest slice that wants data of the readout and is owed none; nullptr: none.
  [[nodiscard]] assembly::BuiltSlice* first_unasked(std::uint32_t readout);
  // The readout's load has changed within the round.
  void refresh(std::uint32_t readout);
  // The readout gets no further request in this round.
  void end_turn(std::uint32_t readout);

  // Visits slices before `order` that want data of readouts without a connection, each once for a connection.
  template <class Visit>
  void visit_held_up(std::uint64_t order, Visit visit) {
    for (const std::uint32_t readout : down_) {
      queue_.look_at_new(readout, order, [&](assembly::BuiltSlice& slice) {
        ++steps_;
        visit(slice);
      });
    }
  }
  // Returns true if no slice wants data for its present step.
  [[nodiscard]] bool is_empty() const { return queue_.empty(); }
  // Returns iterations of all loops over readouts and slices so far.
  [[nodiscard]] std::uint64_t steps() const {
    return steps_ + queue_.steps() + ahead_queue_.steps() + choice_.steps();
  }

 private:
  struct Readout {
    bool up = false;
    bool full = false;     // in this round: the shaper allows no further request to it
    bool touched = false;  // listed in touched_
  };
  [[nodiscard]] RequestQueues& queue_of(const assembly::BuiltSlice& slice) {
    return slice.gathering.ahead ? ahead_queue_ : queue_;
  }
  void touch_first(std::uint32_t readout);

  const RequestAccounts& accounts_;
  const SizeEstimates& sizes_;
  std::vector<Readout> of_;
  RequestQueues queue_;
  RequestQueues ahead_queue_;           // served if no request of queue_ is possible
  shaping::ReadoutChoice choice_;       // among readouts that are up, not full, and wanted
  std::vector<std::uint32_t> touched_;  // refreshed before the next round
  std::vector<std::uint32_t> full_;     // of this round
  std::vector<std::uint32_t> down_;     // readouts that are not up
  std::uint64_t steps_ = 0;
};

}  // namespace weir::dcm
