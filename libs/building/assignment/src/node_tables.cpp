#include <weir/assignment/node_tables.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {

bool is_before(const Lease& one, const Lease& other) {
  return one.slice != other.slice ? one.slice < other.slice : one.attempt < other.attempt;
}

}  // namespace

void DcmTable::join(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits) {
  WEIR_ASSERT(!views_[dcm.value].live);
  views_[dcm.value] = {true, credits, credits, false};
  states_[dcm.value] = {};
  states_[dcm.value].incarnation = incarnation;
  credits_free_ += credits;
}

void DcmTable::leave(NodeIndex dcm) {
  WEIR_ASSERT(views_[dcm.value].credits_free <= credits_free_);
  credits_free_ -= views_[dcm.value].credits_free;
  views_[dcm.value] = {};
  states_[dcm.value] = {};
}

void DcmTable::take(NodeIndex dcm) {
  WEIR_ASSERT(views_[dcm.value].credits_free > 0);
  --views_[dcm.value].credits_free;
  WEIR_ASSERT(credits_free_ > 0);
  --credits_free_;
  ++states_[dcm.value].assigned;
}

void DcmTable::came_back(NodeIndex dcm) {
  State& state = states_[dcm.value];
  if (state.held_back) {
    ++state.kept;
    return;
  }
  ++views_[dcm.value].credits_free;
  ++credits_free_;
}

void DcmTable::give_back(NodeIndex dcm) {
  WEIR_ASSERT(states_[dcm.value].assigned > 0);
  --states_[dcm.value].assigned;
  came_back(dcm);
  if (planted(Planted::double_credit)) ++views_[dcm.value].credits_free;
}

void DcmTable::hold_back(NodeIndex dcm) {
  State& state = states_[dcm.value];
  state.held_back = true;
  views_[dcm.value].closed = true;
  state.kept += views_[dcm.value].credits_free;
  WEIR_ASSERT(views_[dcm.value].credits_free <= credits_free_);
  credits_free_ -= views_[dcm.value].credits_free;
  views_[dcm.value].credits_free = 0;
}

void DcmTable::let_go(NodeIndex dcm) {
  State& state = states_[dcm.value];
  state.held_back = false;
  views_[dcm.value].closed = false;
  views_[dcm.value].credits_free += state.kept;
  credits_free_ += state.kept;
  state.kept = 0;
}

void DcmTable::revoke(NodeIndex dcm, SliceId slice, Attempt attempt) {
  WEIR_ASSERT(states_[dcm.value].assigned > 0);
  --states_[dcm.value].assigned;
  states_[dcm.value].revoked.push_back({slice, attempt});
}

bool DcmTable::redeem(NodeIndex dcm, SliceId slice, Attempt attempt) {
  auto& revoked = states_[dcm.value].revoked;
  const auto found = std::find(revoked.begin(), revoked.end(), Lease{slice, attempt});
  if (found == revoked.end()) return false;
  *found = revoked.back();
  revoked.pop_back();
  came_back(dcm);
  return true;
}

void DcmTable::note_filter(NodeIndex dcm, const FilterNote& note, TimeNs now) {
  const std::size_t size = std::min<std::size_t>(note.for_long.size(), views_[dcm.value].credits);
  FilterNote sorted = note;
  sorted.for_long.resize(size);
  sorted.beside.resize(std::min<std::size_t>(note.beside.size(), views_[dcm.value].credits));
  std::sort(sorted.for_long.begin(), sorted.for_long.end(), is_before);
  std::vector<TimeNs> noted(size);
  for (std::size_t i = 0; i < size; ++i) noted[i] = noted_at(dcm, sorted.for_long[i]).value_or(now);
  State& state = states_[dcm.value];
  state.in_filter = std::move(sorted);
  state.noted_at = std::move(noted);
}

std::optional<TimeNs> DcmTable::noted_at(NodeIndex dcm, const Lease& lease) const {
  const State& state = states_[dcm.value];
  const auto& for_long = state.in_filter.for_long;
  const auto found = std::lower_bound(for_long.begin(), for_long.end(), lease, is_before);
  if (found == for_long.end() || *found != lease) return std::nullopt;
  return state.noted_at[static_cast<std::size_t>(found - for_long.begin())];
}

NodeIndex NodeTable::next(NodeIndex silent, std::span<const NodeIndex> unreached) {
  const auto reached = [&](NodeIndex node) {
    return unreached.empty() || std::find(unreached.begin(), unreached.end(), node) == unreached.end();
  };
  const auto choose = [&](const auto& wanted) {
    std::size_t place = last_;
    for (std::size_t step = 0; step < nodes_.size(); ++step) {
      if (++place >= nodes_.size()) place = 0;
      const NodeIndex node(static_cast<std::uint16_t>(place));
      if (!nodes_[place].live || nodes_[place].closed || !wanted(node)) continue;
      last_ = place;
      return node;
    }
    return kNoNode;
  };
  const auto good = [&](NodeIndex node) { return node != silent && reached(node); };
  const NodeIndex with_room = choose([&](NodeIndex node) { return good(node) && !nodes_[node.value].full; });
  if (with_room != kNoNode) return with_room;
  if (const NodeIndex full = choose(good); full != kNoNode) return full;
  if (const NodeIndex slow = choose(reached); slow != kNoNode) return slow;
  const NodeIndex other = choose([&](NodeIndex node) { return node != silent; });
  return other != kNoNode ? other : choose([](NodeIndex) { return true; });
}

bool NodeTable::has_other(NodeIndex node, std::span<const NodeIndex> unreached) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeIndex other(static_cast<std::uint16_t>(i));
    if (other == node || !nodes_[i].live || nodes_[i].closed) continue;
    if (std::find(unreached.begin(), unreached.end(), other) == unreached.end()) return true;
  }
  return false;
}

bool NodeTable::has_other(NodeIndex node) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i != node.value && nodes_[i].live && !nodes_[i].closed) return true;
  }
  return false;
}

bool NodeTable::has_room() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const Node& node) { return node.live && !node.closed && !node.full; });
}

}  // namespace weir::assignment
