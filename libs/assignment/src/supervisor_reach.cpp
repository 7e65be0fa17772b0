// Who reaches whom: a DCM that is cut off is left out, one that does not reach a writer gets another.
#include <weir/assignment/supervisor_machine.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

void SupervisorMachine::reach(NodeIndex dcm, std::span<const NodeIndex> readouts,
                              std::span<const NodeIndex> writers, TimeNs now) {
  if (!dcms_.live(dcm)) {
    ++ledger_.strangers;
    return;
  }
  reach_.set_part(dcm, parts_.takes_part(Role::dcm, dcm));
  reach_.report(dcm, readouts, writers, now);
}

void SupervisorMachine::judge_reach(TimeNs now, Actions& out) {
  reach_.judge(now);
  for (const NodeIndex dcm : reach_.changed()) {
    if (dcms_.live(dcm)) follow_verdict(dcm, now, out);
  }
  if (reach_.changed().empty()) return;
  for (std::size_t i = 0; i < settings_.readouts; ++i) {
    const NodeIndex readout(static_cast<std::uint16_t>(i));
    const bool down = reach_.is_down(readout);
    const bool was = down_told_[i];
    down_told_[i] = down;
    // A process that is gone was named when it left.
    if (down && !was && goes_on() && readouts_.live(readout))
      note_fault(FaultKind::down, Role::readout, readout, readouts_.incarnation(readout), now, 0);
  }
}

void SupervisorMachine::follow_verdict(NodeIndex dcm, TimeNs now, Actions& out) {
  const bool cut_off = reach_.is_cut_off(dcm);
  if (std::find(out.judged.begin(), out.judged.end(), dcm) == out.judged.end()) out.judged.push_back(dcm);
  if (cut_off != reach_told_[dcm.value].cut_off) {
    if (takes_slices(dcm)) {
      dcms_.let_go(dcm);
    } else {
      dcms_.hold_back(dcm);
    }
    renew_destinations();
    assignable_ = true;
  }
  name_losses(dcm, now);
  leave_writers(dcm, now, out);
}

// In words, once for each loss.
void SupervisorMachine::name_losses(NodeIndex dcm, TimeNs now) {
  ReachTold& told = reach_told_[dcm.value];
  const bool cut_off = reach_.is_cut_off(dcm);
  std::vector<NodeIndex> missing;
  for (const NodeIndex readout : reach_.missing(dcm)) {
    if (!reach_.is_down(readout)) missing.push_back(readout);
  }
  const bool names = goes_on();
  const auto note = [&](FaultKind kind, std::uint64_t slices, std::vector<NodeIndex> others) {
    if (names) note_fault(kind, Role::dcm, dcm, dcms_.incarnation(dcm), now, slices, std::move(others));
  };
  if (cut_off && !told.cut_off) {
    const auto lacking = reach_.lacking(dcm);
    note(FaultKind::cut_off, 0, {lacking.begin(), lacking.end()});
    told.handed_back = 0;
  }
  if (!cut_off && told.cut_off) note(FaultKind::restored, told.handed_back, {});
  const bool more = std::any_of(missing.begin(), missing.end(), [&](NodeIndex readout) {
    return std::find(told.missing.begin(), told.missing.end(), readout) == told.missing.end();
  });
  if (more) note(FaultKind::marked, 0, missing);
  told.cut_off = cut_off;
  told.missing = std::move(missing);
}

// What is confirmed to a writer that this DCM has no way to is confirmed to another, as if it had not
// answered.
void SupervisorMachine::leave_writers(NodeIndex dcm, TimeNs now, Actions& out) {
  const auto lost = reach_.writers_lost(dcm);
  std::vector<NodeIndex>& told = reach_told_[dcm.value].writers_lost;
  std::vector<NodeIndex> fresh;
  for (const NodeIndex writer : lost) {
    const bool is_told = std::find(told.begin(), told.end(), writer) != told.end();
    if (!is_told && writers_.live(writer)) fresh.push_back(writer);
  }
  told.assign(lost.begin(), lost.end());
  for (const NodeIndex writer : fresh) {
    std::uint64_t moved = 0;
    if (writers_.has_other(writer, lost)) {
      collect([&](const SliceEntry& entry) {
        return entry.state == SliceState::confirmed && entry.dcm == dcm && entry.writer == writer;
      });
      moved = scratch_.size();
      for (const SliceId slice : scratch_) {
        ++ledger_.reconfirmed;
        confirm_elsewhere(*book_.find(slice), now, out);
      }
    }
    if (goes_on())
      note_fault(FaultKind::no_writer, Role::dcm, dcm, dcms_.incarnation(dcm), now, moved, {writer});
  }
}

}  // namespace weir::assignment
