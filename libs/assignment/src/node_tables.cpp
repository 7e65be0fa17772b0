#include <weir/assignment/node_tables.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>

namespace weir::assignment {

void DcmTable::join(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits) {
  WEIR_ASSERT(!views_[dcm.value].live);
  views_[dcm.value] = {true, credits, credits};
  states_[dcm.value] = {incarnation, 0, {}};
  credits_free_ += credits;
}

void DcmTable::leave(NodeIndex dcm) {
  credits_free_ -= views_[dcm.value].credits_free;
  views_[dcm.value] = {};
  states_[dcm.value] = {};
}

void DcmTable::take(NodeIndex dcm) {
  WEIR_ASSERT(views_[dcm.value].credits_free > 0);
  --views_[dcm.value].credits_free;
  --credits_free_;
  ++states_[dcm.value].assigned;
}

void DcmTable::give_back(NodeIndex dcm) {
  WEIR_ASSERT(states_[dcm.value].assigned > 0);
  --states_[dcm.value].assigned;
  ++views_[dcm.value].credits_free;
  ++credits_free_;
  if (planted(Planted::double_credit)) ++views_[dcm.value].credits_free;
}

void DcmTable::revoke(NodeIndex dcm, SliceId slice, Attempt attempt) {
  WEIR_ASSERT(states_[dcm.value].assigned > 0);
  --states_[dcm.value].assigned;
  states_[dcm.value].revoked.push_back({slice, attempt});
}

bool DcmTable::redeem(NodeIndex dcm, SliceId slice, Attempt attempt) {
  auto& revoked = states_[dcm.value].revoked;
  const auto found = std::find_if(revoked.begin(), revoked.end(), [&](const Lease& lease) {
    return lease.slice == slice && lease.attempt == attempt;
  });
  if (found == revoked.end()) return false;
  *found = revoked.back();
  revoked.pop_back();
  ++views_[dcm.value].credits_free;
  ++credits_free_;
  return true;
}

NodeIndex NodeTable::next() {
  for (std::size_t step = 0; step < nodes_.size(); ++step) {
    if (++last_ >= nodes_.size()) last_ = 0;
    if (nodes_[last_].live) return NodeIndex(static_cast<std::uint16_t>(last_));
  }
  return kNoNode;
}

void ThrottleBoard::set(Role role, NodeIndex node, bool on, std::string_view reason) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.role == role && entry.node == node;
  });
  if (found == entries_.end()) {
    if (on) entries_.push_back({role, node, std::string(reason)});
  } else if (on) {
    found->reason = reason;
  } else {
    entries_.erase(found);
  }
}

}  // namespace weir::assignment
