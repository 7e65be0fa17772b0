#include <weir/assignment/reach_news.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace weir::assignment {
namespace {

// Returns the nodes of `now` that are not in `before`.
std::vector<NodeIndex> added(std::span<const NodeIndex> now, std::span<const NodeIndex> before) {
  std::vector<NodeIndex> nodes;
  std::copy_if(now.begin(), now.end(), std::back_inserter(nodes),
               [&](NodeIndex node) { return std::find(before.begin(), before.end(), node) == before.end(); });
  return nodes;
}

}  // namespace

std::vector<ReachNews::News> ReachNews::take(NodeIndex dcm, const ReachBoard& reach) {
  WEIR_ASSERT(dcm.value < told_.size());
  Told& told = told_[dcm.value];
  std::vector<News> news;
  const bool cut_off = reach.is_cut_off(dcm);
  if (cut_off && !told.cut_off) {
    const auto lacking = reach.lacking(dcm);
    news.push_back({FaultKind::cut_off, 0, {lacking.begin(), lacking.end()}});
    told.cut_off_from.assign(lacking.begin(), lacking.end());
    told.handed_back = 0;
  }
  if (!cut_off && told.cut_off) news.push_back({FaultKind::restored, told.handed_back, {}});
  told.cut_off = cut_off;
  // A readout that is down does not count as a single DCM's loss.
  std::vector<NodeIndex> missing;
  for (const NodeIndex readout : reach.missing(dcm)) {
    if (!reach.is_down(readout)) missing.push_back(readout);
  }
  if (!added(missing, told.missing).empty()) news.push_back({FaultKind::marked, 0, missing});
  told.missing = std::move(missing);
  return news;
}

std::vector<NodeIndex> ReachNews::take_writers_lost(NodeIndex dcm, const ReachBoard& reach) {
  const auto lost = reach.writers_lost(dcm);
  std::vector<NodeIndex>& told = told_[dcm.value].writers_lost;
  std::vector<NodeIndex> fresh = added(lost, told);
  told.assign(lost.begin(), lost.end());
  return fresh;
}

std::optional<ReachNews::News> ReachNews::handed_back(NodeIndex dcm) {
  WEIR_ASSERT(dcm.value < told_.size());
  Told& told = told_[dcm.value];
  if (++told.handed_back > 1 || !told.cut_off) return std::nullopt;
  return News{FaultKind::cut_off, 1, told.cut_off_from};
}

std::vector<ReachNews::Outage> ReachNews::take_outages(const ReachBoard& reach) {
  std::vector<Outage> news;
  for (std::size_t i = 0; i < down_.size(); ++i) {
    const NodeIndex readout(static_cast<std::uint16_t>(i));
    const TimeNs changed = reach.changed_at(readout);
    Down& down = down_[i];
    if (!down.since && reach.is_down(readout)) {
      down = {changed, true};
      news.push_back({readout, changed, std::nullopt});
    } else if (down.since && changed > *down.since) {
      if (down.told) news.push_back({readout, *down.since, changed - *down.since});
      down.since.reset();
    }
  }
  return news;
}

}  // namespace weir::assignment
