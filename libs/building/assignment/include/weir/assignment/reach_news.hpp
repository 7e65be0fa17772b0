#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/assignment/reach_board.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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

  // A readout that no DCM reaches.
  struct Outage {
    NodeIndex readout;
    TimeNs since = 0;
    std::optional<DurationNs> lasted;  // nullopt: it has begun
    bool operator==(const Outage&) const = default;
  };

  ReachNews(std::size_t dcms, std::size_t readouts) : told_(dcms), down_(readouts) {}

  // The DCM has a new process, or none: forgets its state.
  void forget(NodeIndex dcm) { told_[dcm.value] = {}; }
  // The DCM returned a slice that it cannot build. Returns the news that its being cut off has moved a slice,
  // once each time.
  [[nodiscard]] std::optional<News> handed_back(NodeIndex dcm);

  // True if the DCM became cut off, or stopped being so, since the last take().
  [[nodiscard]] bool changed(NodeIndex dcm, const ReachBoard& reach) const {
    return told_[dcm.value].cut_off != reach.is_cut_off(dcm);
  }
  // Returns the unreported news of a DCM, of its writers, and of readouts that no DCM reaches, and marks it
  // as reported.
  [[nodiscard]] std::vector<News> take(NodeIndex dcm, const ReachBoard& reach);
  [[nodiscard]] std::vector<NodeIndex> take_writers_lost(NodeIndex dcm, const ReachBoard& reach);
  [[nodiscard]] std::vector<Outage> take_outages(const ReachBoard& reach);
  // The start of this readout's outage is not reported: neither is its end.
  void withdraw(NodeIndex readout) { down_[readout.value].told = false; }

 private:
  struct Told {
    bool cut_off = false;
    std::vector<NodeIndex> cut_off_from;
    std::uint64_t handed_back = 0;  // since then
    std::vector<NodeIndex> missing;
    std::vector<NodeIndex> writers_lost;
  };
  struct Down {
    std::optional<TimeNs> since;
    bool told = true;
  };
  std::vector<Told> told_;  // by DCM
  std::vector<Down> down_;  // by readout
};

}  // namespace weir::assignment
