// Who reaches whom: what the DCMs say, and what they are told.
#include "supervisor_node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::supervisor {
namespace {

// Ascending, each once. False: some index is beyond what there is.
bool take_lost(const google::protobuf::RepeatedField<std::uint32_t>& lost, std::size_t places,
               std::vector<NodeIndex>& out) {
  for (const std::uint32_t index : lost) {
    if (index >= places) return false;
    out.emplace_back(static_cast<std::uint16_t>(index));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

}  // namespace

Expected<void, wire::WireError> SupervisorNode::take_reach(Member& member, const v1::Reach& reach) {
  std::vector<NodeIndex> readouts;
  std::vector<NodeIndex> writers;
  const std::size_t readouts_there = setup_.plan.of_role(Role::readout).size();
  const std::size_t writers_there = setup_.plan.of_role(Role::writer).size();
  if (!take_lost(reach.readouts(), readouts_there, readouts) ||
      !take_lost(reach.writers(), writers_there, writers)) {
    return Unexpected<wire::WireError>(wire::WireError::bad_payload);
  }
  machine_.reach(member.index, readouts, writers, now_ns_);
  return {};
}

void SupervisorNode::send_verdicts() {
  for (const NodeIndex dcm : actions_.judged) {
    Member* member = roster_.find(Role::dcm, dcm);
    if (member == nullptr || member->peer == nullptr) continue;
    v1::Control message;
    v1::ReachVerdict& verdict = *message.mutable_reach_verdict();
    verdict.set_cut_off(machine_.reach().is_cut_off(dcm));
    for (const NodeIndex readout : machine_.reach().missing(dcm)) verdict.add_missing(readout.value);
    member->peer->send(message);
  }
  log_new_faults();
}

void SupervisorNode::log_new_faults() {
  const auto faults = machine_.faults();
  for (; faults_logged_ < faults.size(); ++faults_logged_) {
    const assignment::Fault& fault = faults[faults_logged_];
    if (fault.kind > assignment::FaultKind::stalled) spdlog::warn("{}", assignment::describe(fault));
  }
}

}  // namespace weir::supervisor
