#include <weir/assignment/confirmations.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

namespace weir::assignment {
namespace {

// True if the copy of the last confirmation arrived late and no other was confirmed since: its DCM died after
// sending it, or its writer died and reconnected.
bool wants_copy(const SliceEntry& entry, NodeIndex writer, const CopyId& ack) {
  if (entry.copy_writer != writer || entry.copy_attempt != ack.attempt || entry.epoch != ack.epoch)
    return false;
  if (entry.state == SliceState::waiting_writer) return entry.attempt == ack.attempt;
  return entry.state == SliceState::pending || entry.state == SliceState::assigned;
}

}  // namespace

Confirmations::Result Confirmations::confirm(SliceEntry& entry, TimeNs now, NodeIndex silent,
                                             std::span<const NodeIndex> unreached) {
  WEIR_ASSERT(entry.live() && entry.state != SliceState::pending);
  if (entry.confirmations == UINT16_MAX) return Result::exhausted;
  entry.writer = writers_.next(silent, unreached);
  if (entry.writer == kNoNode) {
    enter(entry, SliceState::waiting_writer);
    return Result::no_writer;
  }
  enter(entry, SliceState::confirmed);
  entry.epoch = StoreEpoch(entry.confirmations++);
  if (planted(Planted::forget_epoch)) entry.epoch = StoreEpoch(0);
  entry.copy_attempt = entry.attempt;
  entry.copy_writer = entry.writer;
  entry.copy_incomplete = entry.incomplete;
  entry.since = now;
  return Result::confirmed;
}

void Confirmations::give_up(const SliceEntry& entry) {
  if (entry.state == SliceState::confirmed) given_up_.add({entry.slice, entry.copy_writer, entry.epoch});
}

Copy Confirmations::judge(const SliceEntry* entry, NodeIndex writer, const CopyId& ack) const {
  if (entry == nullptr) return given_up_.has(ack.slice, writer, ack.epoch) ? Copy::old_dead : Copy::old_live;
  const bool last = entry->writer == writer && entry->attempt == ack.attempt && entry->epoch == ack.epoch;
  if (last && entry->state == SliceState::confirmed) return Copy::live;
  if (wants_copy(*entry, writer, ack)) return Copy::late_live;
  const bool stored = entry->state == SliceState::settled && entry->outcome == Outcome::stored;
  return last && stored ? Copy::repeated : Copy::dead;
}

void Confirmations::take(SliceEntry& entry, NodeIndex writer, const CopyId& ack) {
  WEIR_ASSERT(wants_copy(entry, writer, ack));
  given_up_.take_back(entry.slice, writer, ack.epoch);
  entry.attempt = ack.attempt;
  entry.writer = writer;
  entry.incomplete = entry.copy_incomplete;
}

}  // namespace weir::assignment
