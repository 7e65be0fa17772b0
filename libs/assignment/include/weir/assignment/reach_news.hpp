#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/assignment/reach_board.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// What was last told of the reach board's judgements: so each loss is told once, and once more when it comes
// back and is lost again. Pure; one thread.
class ReachNews {
 public:
  struct News {
    FaultKind kind = FaultKind::cut_off;  // cut_off, restored, marked
    std::uint64_t slices = 0;             // that it gave back while it was cut off, when it is restored
    std::vector<NodeIndex> readouts;
  };

  ReachNews(std::size_t dcms, std::size_t readouts) : told_(dcms), down_(readouts) {}

  // A new process of the DCM, or none: nothing was told of it.
  void forget(NodeIndex dcm) { told_[dcm.value] = {}; }
  // It gave back a slice that it cannot build.
  void handed_back(NodeIndex dcm) { ++told_[dcm.value].handed_back; }

  // It was cut off, or is so no more, since take() was asked last.
  [[nodiscard]] bool changed(NodeIndex dcm, const ReachBoard& reach) const {
    return told_[dcm.value].cut_off != reach.is_cut_off(dcm);
  }
  // What is new of a DCM, of its writers, and of readouts that no DCM reaches. It is told then.
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
