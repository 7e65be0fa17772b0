#include <weir/assignment/reach_board.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

void ReachBoard::forget(NodeIndex dcm) {
  WEIR_ASSERT(dcm.value < dcms_.size());
  const bool takes_part = dcms_[dcm.value].takes_part;
  dcms_[dcm.value] = {};
  dcms_[dcm.value].takes_part = takes_part;
  dirty_ = true;
}

void ReachBoard::set_part(NodeIndex dcm, bool takes_part) {
  WEIR_ASSERT(dcm.value < dcms_.size());
  dirty_ = dirty_ || dcms_[dcm.value].takes_part != takes_part;
  dcms_[dcm.value].takes_part = takes_part;
}

void ReachBoard::report(NodeIndex dcm, std::span<const NodeIndex> readouts,
                        std::span<const NodeIndex> writers, TimeNs now) {
  WEIR_ASSERT(dcm.value < dcms_.size());
  Dcm& self = dcms_[dcm.value];
  self.known = true;
  merge(self.readouts, readouts, now);
  WEIR_ASSERT(self.readouts.empty() || self.readouts.back().node.value < readouts_.size());
  merge(self.writers, writers, now);
  dirty_ = true;
}

void ReachBoard::merge(std::vector<Loss>& losses, std::span<const NodeIndex> said, TimeNs now) {
  said_.assign(said.begin(), said.end());
  if (!std::is_sorted(said_.begin(), said_.end())) std::sort(said_.begin(), said_.end());
  merged_.clear();
  auto known = losses.begin();
  const auto take_known = [&](bool still) {
    ++steps_;
    if (known->lost != still) known->told = now;
    known->lost = still;
    merged_.push_back(*known++);
  };
  for (const NodeIndex node : said_) {
    ++steps_;
    while (known != losses.end() && known->node < node) take_known(false);
    if (known != losses.end() && known->node == node) {
      take_known(true);
    } else {
      merged_.push_back({node, now});
    }
  }
  while (known != losses.end()) take_known(false);
  losses.swap(merged_);
}

void ReachBoard::begin_anew(std::vector<Loss> Dcm::*losses, NodeIndex node, TimeNs now) {
  for (Dcm& dcm : dcms_) {
    ++steps_;
    std::vector<Loss>& all = dcm.*losses;
    const auto found = std::lower_bound(
        all.begin(), all.end(), node, [](const Loss& loss, NodeIndex wanted) { return loss.node < wanted; });
    if (found == all.end() || found->node != node) continue;
    found->told = now;
    found->believed = false;
    dirty_ = true;
  }
}

bool ReachBoard::has_come(TimeNs moment, TimeNs now) {
  if (moment > now) next_ns_ = std::min(next_ns_, moment);
  return moment <= now;
}

void ReachBoard::look_at_readouts(TimeNs now) {
  steps_ += readouts_.size() + dcms_.size();
  const auto counting = static_cast<std::size_t>(
      std::count_if(dcms_.begin(), dcms_.end(), [](const Dcm& dcm) { return dcm.counts(); }));
  for (Readout& readout : readouts_) readout.losses = 0;
  for (const Dcm& dcm : dcms_) {
    if (!dcm.counts()) continue;
    steps_ += dcm.readouts.size();
    for (const Loss& loss : dcm.readouts) readouts_[loss.node.value].losses += loss.lost ? 1 : 0;
  }
  for (Readout& readout : readouts_) {
    const bool reached = readout.losses < counting;
    if (reached != readout.reached) readout.changed = now;
    readout.reached = reached;
    const TimeNs down_at = std::max(readout.changed + settings_.grace_ns, waits_until_);
    readout.down = counting > 0 && !reached && has_come(down_at, now);
  }
}

// A readout that only this DCM cannot reach is the DCM's loss; one that no DCM reaches is the readout's
// fault.
void ReachBoard::believe(Dcm& dcm, TimeNs now) {
  for (Loss& loss : dcm.readouts) {
    const Readout& readout = readouts_[loss.node.value];
    if (!loss.lost) {
      loss.believed = loss.believed && !has_come(loss.told + settings_.return_ns, now);
    } else if (!readout.reached) {
      loss.believed = false;
    } else if (!loss.believed) {
      loss.believed = has_come(std::max(loss.told, readout.changed) + settings_.settle_ns, now);
    }
  }
  std::erase_if(dcm.readouts, [](const Loss& loss) { return !loss.lost && !loss.believed; });
}

void ReachBoard::believe_writers(Dcm& dcm, TimeNs now) {
  const DurationNs grace_ns = std::max(settings_.grace_ns, settings_.settle_ns);
  for (Loss& loss : dcm.writers) {
    if (!loss.lost) {
      loss.believed = loss.believed && !has_come(loss.told + settings_.return_ns, now);
    } else if (!loss.believed) {
      loss.believed = has_come(loss.told + grace_ns, now);
    }
  }
  std::erase_if(dcm.writers, [](const Loss& loss) { return !loss.lost && !loss.believed; });
}

std::vector<NodeIndex> ReachBoard::marked(const Dcm& dcm, bool cut_off, TimeNs now) {
  std::vector<NodeIndex> marked;
  for (const Loss& loss : dcm.readouts) {
    if (!loss.lost || !dcm.known) continue;
    const Readout& readout = readouts_[loss.node.value];
    const bool no_better = !readout.reached || (loss.believed && !cut_off);
    const TimeNs since = std::max({loss.told, dcm.let_go, readout.reached ? 0 : readout.changed});
    if (no_better && has_come(std::max(since + settings_.grace_ns, waits_until_), now))
      marked.push_back(loss.node);
  }
  return marked;
}

void ReachBoard::judge(TimeNs now) {
  dirty_ = false;
  next_ns_ = INT64_MAX;
  changed_.clear();
  look_at_readouts(now);
  constexpr std::size_t kNobody = SIZE_MAX;
  std::vector<std::size_t> best(kGroupsMax, kNobody);  // by group
  const auto nodes_of = [](const std::vector<Loss>& losses) {
    std::vector<NodeIndex> nodes;
    for (const Loss& loss : losses) {
      if (loss.believed) nodes.push_back(loss.node);
    }
    return nodes;
  };
  std::vector<std::size_t> lacks(dcms_.size());
  for (std::size_t i = 0; i < dcms_.size(); ++i) {
    believe(dcms_[i], now);
    believe_writers(dcms_[i], now);
    lacks[i] = nodes_of(dcms_[i].readouts).size();
    WEIR_ASSERT(groups_[i].value < best.size());
    std::size_t& of_group = best[groups_[i].value];
    if (dcms_[i].counts()) of_group = std::min(of_group, lacks[i]);
  }
  for (std::size_t i = 0; i < dcms_.size(); ++i) {
    Dcm& dcm = dcms_[i];
    const bool remote = remote_[groups_[i].value] && !planted(Planted::build_cut_off);
    const std::size_t of_group = remote ? 0 : best[groups_[i].value];
    const bool cut_off = dcm.known && of_group != kNobody && lacks[i] > of_group;
    if (dcm.cut_off && !cut_off) dcm.let_go = now;
    std::vector<NodeIndex> missing = marked(dcm, cut_off, now);
    std::vector<NodeIndex> writers = nodes_of(dcm.writers);
    std::vector<NodeIndex> lacking;
    for (const Loss& loss : dcm.readouts) {
      if (loss.lost && readouts_[loss.node.value].reached) lacking.push_back(loss.node);
    }
    const bool same = cut_off == dcm.cut_off && missing == dcm.missing && lacking == dcm.lacking &&
                      writers == dcm.writers_lost;
    if (!same) changed_.push_back(NodeIndex(static_cast<std::uint16_t>(i)));
    dcm.cut_off = cut_off;
    dcm.missing = std::move(missing);
    dcm.lacking = std::move(lacking);
    dcm.writers_lost = std::move(writers);
  }
}

}  // namespace weir::assignment
