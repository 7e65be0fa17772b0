// Models of DCMs and writers in a World, after apps/data-collection-manager and apps/data-writer.
#include "world.hpp"

#include <algorithm>
#include <utility>

namespace weir::protocol_test {

using slice_rows::Answer;
using slice_rows::DiscardReason;
using slice_rows::Outcome;
using slice_rows::Verdict;

namespace {

// The report of a DCM on an attempt that it does not have or has given up.
Row lost(std::uint8_t slice, std::uint8_t attempt) {
  Row row{Row::Kind::decide, slice, attempt};
  row.code = static_cast<std::uint8_t>(Verdict::failed);
  row.reason = static_cast<std::uint8_t>(DiscardReason::lost);
  return row;
}

}  // namespace

void Pipe::send(std::vector<Row> message) {
  for (Row& row : message) row.last = &row == &message.back();
  rows_.insert(rows_.end(), message.begin(), message.end());
}

std::vector<Row> Pipe::receive() {
  const auto end =
      std::next(std::find_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.last; }));
  std::vector<Row> message(rows_.begin(), end);
  rows_.erase(rows_.begin(), end);
  return message;
}

void Pipe::append_state(std::vector<std::uint64_t>& out) const {
  out.push_back(rows_.size());
  for (const Row& row : rows_) {
    out.push_back(static_cast<std::uint64_t>(row.kind) | std::uint64_t{row.slice} << 8U |
                  std::uint64_t{row.attempt} << 16U | std::uint64_t{row.epoch} << 24U |
                  std::uint64_t{row.node} << 32U | std::uint64_t{row.code} << 40U |
                  std::uint64_t{row.reason} << 48U | std::uint64_t{row.last} << 56U);
  }
}

// Messages to a closed end are lost; messages that it had sent may still arrive.
void Connection::lose_listener() {
  listener = false;
  to_listener.clear();
}
void Connection::lose_connector() {
  connector = false;
  to_connector.clear();
}

// ---- DCMs

void World::orders_arrive(std::uint8_t dcm) {
  std::vector<Row> forgotten;
  for (const Row& row : farm_.to_dcm[dcm].to_connector.receive()) {
    if (row.kind == Row::Kind::confirm) {
      confirm(dcm, row, forgotten);
      continue;
    }
    Slot& slot = farm_.dcms[dcm].slots[row.slice];
    if (row.kind == Row::Kind::filtering) {
      slot.answered = slot.answered || (slot.told && slot.attempt == row.attempt);
      continue;
    }
    if (slot.phase == Slot::Phase::none) {
      slot.phase = Slot::Phase::building;
      slot.attempt = row.attempt;
      slot.how = static_cast<How>(row.code);
    } else {
      if (slot.blocked) forgotten.push_back(lost(row.slice, slot.blocked_attempt));
      slot.blocked = true;
      slot.blocked_attempt = row.attempt;
      slot.blocked_how = static_cast<How>(row.code);
    }
  }
  Connection& link = farm_.to_dcm[dcm];
  if (!forgotten.empty() && link.listener) link.to_listener.send(std::move(forgotten));
}

void World::confirm(std::uint8_t dcm, const Row& row, std::vector<Row>& answers) {
  Slot& slot = farm_.dcms[dcm].slots[row.slice];
  const bool found = slot.phase != Slot::Phase::none && slot.attempt == row.attempt;
  const auto answer = static_cast<Answer>(row.code);
  if (!found) {
    if (answer != Answer::store || farm_.left.planted == Planted::keeps_silent) return;
    answers.push_back(lost(row.slice, row.attempt));
    return;
  }
  if (slot.phase != Slot::Phase::decided && slot.phase != Slot::Phase::storing) return;
  if (answer != Answer::store) return free_slot(dcm, row.slice);
  slot.phase = Slot::Phase::storing;
  slot.epoch = row.epoch;
  slot.writer = row.node;
  ship(dcm, row.slice);
}

void World::ship(std::uint8_t dcm, std::uint8_t slice) {
  const Slot& slot = farm_.dcms[dcm].slots[slice];
  Connection& link = farm_.data[dcm][slot.writer];
  if (link.up()) link.to_listener.send({{Row::Kind::record, slice, slot.attempt, slot.epoch}});
}

void World::begin_filter(std::uint8_t dcm, std::uint8_t slice) {
  Slot& slot = farm_.dcms[dcm].slots[slice];
  slot.told = farm_.fates[slice].told = true;
  Row row{Row::Kind::filtering, slice, slot.attempt};
  row.code = 1;
  Connection& link = farm_.to_dcm[dcm];
  if (link.listener) link.to_listener.send({row});
}

void World::decide(std::uint8_t dcm, std::uint8_t slice, Verdict verdict, DiscardReason reason) {
  Slot& slot = farm_.dcms[dcm].slots[slice];
  const Fate& fate = farm_.fates[slice];
  for (std::uint8_t i = 0; i < farm_.left.readouts; ++i) {
    const bool open = !fate.settled && fate.assigned_attempt == slot.attempt;
    if (open && farm_.readouts[i][slice] == Held::cleared)
      breaks("an open attempt finds its fragments cleared");
  }
  slot.phase = Slot::Phase::decided;
  Row row{Row::Kind::decide, slice, slot.attempt};
  row.code = static_cast<std::uint8_t>(verdict);
  row.reason = static_cast<std::uint8_t>(reason);
  Connection& link = farm_.to_dcm[dcm];
  if (link.listener) link.to_listener.send({row});
  if (!slot.told || !link.listener) return;
  link.to_listener.send({{Row::Kind::filtering, slice, slot.attempt}});
}

void World::free_slot(std::uint8_t dcm, std::uint8_t slice) {
  Slot& slot = farm_.dcms[dcm].slots[slice];
  const Slot before = std::exchange(slot, {});
  if (!before.blocked) return;
  slot.phase = Slot::Phase::building;
  slot.attempt = before.blocked_attempt;
  slot.how = before.blocked_how;
}

void World::acknowledgement_arrives(std::uint8_t dcm, std::uint8_t writer) {
  for (const Row& row : farm_.data[dcm][writer].to_connector.receive()) {
    const Slot& slot = farm_.dcms[dcm].slots[row.slice];
    if (slot.phase != Slot::Phase::storing || slot.attempt != row.attempt || slot.epoch != row.epoch)
      continue;
    free_slot(dcm, row.slice);
  }
}

// The DCM gives up all its slices; a slice in the filter is dropped when the filter is done.
void World::lose_supervisor(std::uint8_t dcm) {
  farm_.to_dcm[dcm].lose_connector();
  for (Slot& slot : farm_.dcms[dcm].slots) {
    const bool in_filter = slot.phase == Slot::Phase::building || slot.phase == Slot::Phase::abandoned;
    const std::uint8_t attempt = slot.attempt;
    slot = {};
    if (!in_filter) continue;
    slot.phase = Slot::Phase::abandoned;
    slot.attempt = attempt;
  }
}

void World::reach_writer(std::uint8_t dcm, std::uint8_t writer) {
  if (farm_.data[dcm][writer].listener) writer_loses_dcm(dcm, writer);
  farm_.data[dcm][writer] = {};
  if (farm_.left.planted == Planted::sends_once) return;
  for (std::uint8_t slice = 0; slice < kSlicesMax; ++slice) {
    const Slot& slot = farm_.dcms[dcm].slots[slice];
    if (slot.phase == Slot::Phase::storing && slot.writer == writer) ship(dcm, slice);
  }
}

void World::crash_dcm(std::uint8_t dcm) {
  farm_.dcms[dcm] = {};
  farm_.dcms[dcm].alive = false;
  farm_.to_dcm[dcm].lose_connector();
  for (std::uint8_t writer = 0; writer < farm_.left.writers; ++writer)
    farm_.data[dcm][writer].lose_connector();
}

// ---- writers

void World::record_arrives(std::uint8_t dcm, std::uint8_t writer) {
  std::vector<Ack> acks;
  for (const Row& row : farm_.data[dcm][writer].to_listener.receive()) {
    const auto result = farm_.writers[writer].store.store({row.slice, row.attempt, row.epoch}, dcm, acks);
    if (result == WriterModel::Result::epoch_conflict) breaks("two attempts have one store epoch");
  }
  if (farm_.left.planted == Planted::acknowledges_before_sync) {
    for (const Ack& ack : farm_.writers[writer].store.waiting()) acks.push_back(ack);
  }
  acknowledge(writer, acks);
}

void World::acknowledge(std::uint8_t writer, const std::vector<Ack>& acks) {
  std::vector<Row> to_supervisor;
  for (const Ack& ack : acks) {
    const Row row{Row::Kind::stored, ack.copy.slice, ack.copy.attempt, ack.copy.epoch};
    to_supervisor.push_back(row);
    if (ack.origin == kNobody) continue;
    Connection& data = farm_.data[ack.origin][writer];
    if (data.up()) data.to_connector.send({row});
  }
  Connection& link = farm_.to_writer[writer];
  if (!to_supervisor.empty() && link.up()) link.to_listener.send(std::move(to_supervisor));
}

void World::fates_arrive(std::uint8_t writer) {
  std::vector<SettledRow> rows;
  std::vector<Notice> notices;
  for (const Row& row : farm_.to_writer[writer].to_connector.receive()) {
    const Copy copy{row.slice, row.attempt, row.epoch};
    if (row.kind == Row::Kind::copy) {
      notices.push_back({copy, row.code != 0});
    } else {
      rows.push_back({copy, row.node, static_cast<Outcome>(row.code) == Outcome::stored});
    }
  }
  if (farm_.left.planted != Planted::forgets_fates) farm_.writers[writer].store.take(rows, notices, writer);
}

// Acknowledgements over an earlier connection may not have arrived: the writer repeats them.
void World::join_writer(std::uint8_t writer) {
  Connection& link = farm_.to_writer[writer];
  const NodeIndex index(writer);
  if (link.listener) machine_->writer_left(index, farm_.now, farm_.actions);
  link = {};
  machine_->writer_joined(index, Incarnation(1), farm_.now, farm_.actions);
  farm_.dirty = true;
  if (farm_.left.planted == Planted::says_nothing_again) return;
  std::vector<Row> again;
  for (const Copy& copy : farm_.writers[writer].store.unsettled_on_disk()) {
    again.push_back({Row::Kind::stored, copy.slice, copy.attempt, copy.epoch});
  }
  if (!again.empty()) link.to_listener.send(std::move(again));
}

void World::writer_loses_dcm(std::uint8_t dcm, std::uint8_t writer) {
  farm_.data[dcm][writer].lose_listener();
  farm_.writers[writer].store.forget_origin(dcm);
}

void World::crash_writer(std::uint8_t writer, std::uint8_t survivors) {
  farm_.writers[writer].alive = false;
  farm_.writers[writer].store.restart(survivors);
  farm_.to_writer[writer].lose_connector();
  for (std::uint8_t dcm = 0; dcm < farm_.left.dcms; ++dcm) farm_.data[dcm][writer].lose_listener();
}

}  // namespace weir::protocol_test
