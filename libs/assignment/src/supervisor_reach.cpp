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
  for (const NodeIndex readout : reach_news_.take_readouts_down(reach_)) {
    // A process that is gone was named when it left.
    if (goes_on() && readouts_.live(readout))
      faults_.note({FaultKind::down, Role::readout, readout, readouts_.incarnation(readout), now, 0});
  }
}

void SupervisorMachine::follow_verdict(NodeIndex dcm, TimeNs now, Actions& out) {
  if (std::find(out.judged.begin(), out.judged.end(), dcm) == out.judged.end()) out.judged.push_back(dcm);
  if (reach_news_.changed(dcm, reach_)) {
    if (takes_slices(dcm)) {
      dcms_.let_go(dcm);
    } else {
      dcms_.hold_back(dcm);
    }
    renew_destinations();
    waiting_.look_again();
  }
  for (ReachNews::News& news : reach_news_.take(dcm, reach_)) {
    if (goes_on())
      faults_.note(
          {news.kind, Role::dcm, dcm, dcms_.incarnation(dcm), now, news.slices, std::move(news.readouts)});
  }
  leave_writers(dcm, now, out);
}

// What is confirmed to a writer that this DCM has no way to is confirmed to another, as if it had not
// answered.
void SupervisorMachine::leave_writers(NodeIndex dcm, TimeNs now, Actions& out) {
  const auto lost = reach_.writers_lost(dcm);
  for (const NodeIndex writer : reach_news_.take_writers_lost(dcm, reach_)) {
    if (!writers().live(writer)) continue;
    std::uint64_t moved = 0;
    if (writers().has_other(writer, lost)) {
      book_.collect(scratch_, [&](const SliceEntry& entry) {
        return entry.state == SliceState::confirmed && entry.dcm == dcm && entry.writer == writer;
      });
      moved = scratch_.size();
      for (const SliceId slice : scratch_) {
        ++ledger_.reconfirmed;
        confirm_elsewhere(*book_.find(slice), now, out);
      }
    }
    if (goes_on())
      faults_.note({FaultKind::no_writer, Role::dcm, dcm, dcms_.incarnation(dcm), now, moved, {writer}});
  }
}

}  // namespace weir::assignment
