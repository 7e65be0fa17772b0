#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/assignment/reach_board.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// Remembers which of the reach board's judgements were reported, so that each loss is reported once, and
// again when it recurs. Pure; one thread.
class ReachNews {
 public:
  struct News {
    FaultKind kind = FaultKind::cut_off;  // cut_off, restored, marked
    std::uint64_t slices = 0;             // returned while it was cut off; set with `restored`
    std::vector<NodeIndex> readouts;
  };

  ReachNews(std::size_t dcms, std::size_t readouts) : told_(dcms), down_(readouts) {}

  // The DCM has a new process, or none: forgets its state.
  void forget(NodeIndex dcm) { told_[dcm.value] = {}; }
  // The DCM returned a slice that it cannot build.
  void handed_back(NodeIndex dcm) { ++told_[dcm.value].handed_back; }

  // True if the DCM became cut off, or stopped being so, since the last take().
  [[nodiscard]] bool changed(NodeIndex dcm, const ReachBoard& reach) const {
    return told_[dcm.value].cut_off != reach.is_cut_off(dcm);
  }
  // Returns the unreported news of a DCM, of its writers, and of readouts that no DCM reaches, and marks it
  // as reported.
  [[nodiscard]] std::vector<News> take(NodeIndex dcm, const ReachBoard& reach);
  [[nodiscard]] std::vector<NodeIndex> take_writers_lost(NodeIndex dcm, const ReachBoard& reach);
  [[nodiscard]] std::vector<NodeIndex> take_readouts_down(const ReachBoard& reach);

 private:
  struct Told {
    bool cut_off = false;
    std::uint64_t handed_back = 0;  // since then
    std::vector<NodeIndex> missing;
    std::vector<NodeIndex> writers_lost;
  };
  std::vector<Told> told_;  // by DCM
  std::vector<bool> down_;  // by readout
};

}  // namespace weir::assignment
