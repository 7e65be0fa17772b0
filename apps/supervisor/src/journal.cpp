#include "journal.hpp"

#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace weir::supervisor {
namespace {

using assignment::DiscardReason;
using assignment::OpenSlice;
using assignment::Outcome;
using assignment::SupervisorLedger;

// Each entry: its length and its CRC32C, 32 bits each, little-endian, and the bytes.
constexpr std::size_t kHead = 8;

constexpr std::array kCounts = {&SupervisorLedger::offered,           &SupervisorLedger::assignments,
                                &SupervisorLedger::unfiltered,        &SupervisorLedger::reopened,
                                &SupervisorLedger::leases_expired,    &SupervisorLedger::reconfirmed,
                                &SupervisorLedger::decisions_refused, &SupervisorLedger::decisions_repeated,
                                &SupervisorLedger::copies_taken,      &SupervisorLedger::acks_dead,
                                &SupervisorLedger::acks_repeated,     &SupervisorLedger::acks_unknown,
                                &SupervisorLedger::strangers,         &SupervisorLedger::restarts};

void put_counts(const SupervisorLedger& ledger, v1::JournalCounts& out) {
  for (const auto count : kCounts) out.add_count(ledger.*count);
  for (const std::uint64_t vetoed : ledger.vetoed) out.add_vetoed(vetoed);
}

void take_counts(const v1::JournalCounts& counts, SupervisorLedger& ledger) {
  for (std::size_t i = 0; i < kCounts.size() && i < static_cast<std::size_t>(counts.count_size()); ++i) {
    ledger.*kCounts[i] = counts.count(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < ledger.vetoed.size() && i < static_cast<std::size_t>(counts.vetoed_size()); ++i)
    ledger.vetoed[i] = counts.vetoed(static_cast<int>(i));
}

void put_sum(const SliceSum& sum, v1::SliceSum& out) {
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}

SliceSum sum_of(const v1::SliceSum& sum) { return {sum.count(), sum.hash_sum()}; }

template <class Id>
Id id_of(std::uint32_t value) {
  return Id(static_cast<std::uint16_t>(value));
}

template <class Column>
auto cell(const Column& column, int row) {
  using Value = std::decay_t<decltype(column[0])>;
  return row < column.size() ? column[row] : Value{};
}

// Applies entries to the run that they are about.
class Reader {
 public:
  bool apply(const v1::JournalEntry& entry) {
    switch (entry.body_case()) {
      case v1::JournalEntry::kState:
        take_state(entry.state());
        return true;
      case v1::JournalEntry::kPass:
        take_pass(entry.pass());
        return begun_;
      case v1::JournalEntry::kJoin:
        take_join(entry.join());
        return begun_;
      case v1::JournalEntry::kReport:
        run_.reports.push_back(entry.report());
        return begun_;
      case v1::JournalEntry::kStop:
        run_.stop = entry.stop();
        return begun_;
      case v1::JournalEntry::kReporting:
        run_.reporting = true;
        return begun_;
      case v1::JournalEntry::kFault:
        run_.faults.push_back(entry.fault());
        return begun_;
      case v1::JournalEntry::BODY_NOT_SET:
        break;
    }
    return false;
  }

  std::optional<JournalledRun> take() {
    if (!begun_) return std::nullopt;
    for (auto& [slice, open] : open_) {
      if (open.confirmed) give_up_copy(open.slice);
      run_.state.open.push_back(std::move(open.slice));
    }
    for (const auto& [key, copy] : given_up_) run_.state.given_up.push_back(copy);
    return std::move(run_);
  }

 private:
  struct Open {
    OpenSlice slice;
    bool confirmed = false;  // and not taken back
  };
  using CopyKey = std::tuple<SliceId, NodeIndex, StoreEpoch>;

  void give_up_copy(const OpenSlice& slice) {
    given_up_[{slice.slice, slice.copy_writer, slice.epoch}] = {slice.slice, slice.copy_writer, slice.epoch};
  }

  void take_state(const v1::JournalState& state) {
    begun_ = true;
    run_ = {};
    run_.run = RunNumber(state.run());
    run_.farm = state.farm();
    run_.begun_utc = state.utc_ns();
    run_.state.next_slice = SliceId(state.next_slice());
    SupervisorLedger& ledger = run_.state.ledger;
    take_counts(state.counts(), ledger);
    ledger.triggered = sum_of(state.triggered());
    ledger.stored_incomplete = sum_of(state.stored_incomplete());
    ledger.rejected = sum_of(state.rejected());
    for (const v1::SliceSum& sum : state.stored_by()) {
      ledger.stored_by.push_back(sum_of(sum));
      ledger.stored += ledger.stored_by.back();
    }
    for (int i = 0; i < state.discarded_size() && i < static_cast<int>(ledger.discarded.size()); ++i)
      ledger.discarded[static_cast<std::size_t>(i)] = sum_of(state.discarded(i));
    open_.clear();
    for (const v1::JournalState::Open& open : state.open()) take_open(open);
    given_up_.clear();
    for (const v1::JournalState::GivenUp& copy : state.given_up()) {
      const auto writer = id_of<NodeIndex>(copy.writer());
      const auto epoch = id_of<StoreEpoch>(copy.epoch());
      given_up_[{SliceId(copy.slice()), writer, epoch}] = {SliceId(copy.slice()), writer, epoch};
    }
    for (const v1::JournalJoin& join : state.joined()) take_join(join);
    run_.reports.assign(state.reports().begin(), state.reports().end());
    run_.stop = state.stop();
    run_.reporting = state.reporting();
    run_.faults.assign(state.faults().begin(), state.faults().end());
  }

  void take_open(const v1::JournalState::Open& open) {
    OpenSlice& slice = open_[SliceId(open.slice())].slice;
    slice.slice = SliceId(open.slice());
    slice.info = {open.time_ns(), open.duration_ns(), TriggerType(open.type())};
    const auto* bytes = reinterpret_cast<const std::byte*>(open.payload().data());
    slice.payload.assign(bytes, bytes + open.payload().size());
    slice.assigned = open.assigned();
    slice.attempt = id_of<Attempt>(open.attempt());
    slice.kills = static_cast<std::uint8_t>(open.kills());
    slice.confirmations = static_cast<std::uint16_t>(open.confirmations());
    slice.epoch = id_of<StoreEpoch>(open.epoch());
    slice.copy_attempt = id_of<Attempt>(open.copy_attempt());
    slice.copy_writer = id_of<NodeIndex>(open.copy_writer());
  }

  void take_join(const v1::JournalJoin& join) {
    run_.joined[{join.role(), join.index()}] = {join.incarnation(), join.first_slice()};
  }

  void take_pass(const v1::JournalPass& pass) {
    take_triggers(pass);
    for (int i = 0; i < pass.assigned_size(); ++i) {
      const auto found = open_.find(SliceId(pass.assigned(i)));
      if (found == open_.end()) continue;
      Open& open = found->second;
      if (std::exchange(open.confirmed, false)) give_up_copy(open.slice);
      open.slice.attempt = id_of<Attempt>(cell(pass.assigned_attempt(), i));
      open.slice.kills = static_cast<std::uint8_t>(cell(pass.kills(), i));
    }
    for (int i = 0; i < pass.confirmed_size(); ++i) {
      const auto found = open_.find(SliceId(pass.confirmed(i)));
      if (found == open_.end()) continue;
      Open& open = found->second;
      if (std::exchange(open.confirmed, true)) give_up_copy(open.slice);
      open.slice.epoch = id_of<StoreEpoch>(cell(pass.epoch(), i));
      open.slice.confirmations = static_cast<std::uint16_t>(open.slice.epoch.value + 1);
      open.slice.copy_attempt = id_of<Attempt>(cell(pass.confirmed_attempt(), i));
      open.slice.copy_writer = id_of<NodeIndex>(cell(pass.writer(), i));
    }
    for (int i = 0; i < pass.settled_size(); ++i) settle(pass, i);
    if (pass.has_counts()) take_counts(pass.counts(), run_.state.ledger);
  }

  void take_triggers(const v1::JournalPass& pass) {
    for (int i = 0; i < pass.triggered_size(); ++i) {
      const SliceId slice(pass.triggered(i));
      if (open_.contains(slice)) continue;  // announced again after a restart
      Open& open = open_[slice];
      open.slice.slice = slice;
      open.slice.info = {cell(pass.time_ns(), i), pass.duration_ns(), TriggerType(cell(pass.type(), i))};
      open.slice.assigned = true;  // perhaps it was: the next attempt is one that nobody has in any case
      run_.state.ledger.triggered.add(slice);
      run_.state.next_slice = std::max(run_.state.next_slice, slice.next());
    }
    for (const v1::JournalPass::Payload& payload : pass.payload()) {
      if (payload.index() >= static_cast<std::uint32_t>(pass.triggered_size())) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(payload.bytes().data());
      open_[SliceId(pass.triggered(static_cast<int>(payload.index())))].slice.payload.assign(
          bytes, bytes + payload.bytes().size());
    }
  }

  void settle(const v1::JournalPass& pass, int row) {
    const SliceId slice(pass.settled(row));
    const auto found = open_.find(slice);
    if (found == open_.end()) return;
    Open& open = found->second;
    SupervisorLedger& ledger = run_.state.ledger;
    const auto outcome = static_cast<Outcome>(cell(pass.outcome(), row));
    if (outcome == Outcome::stored) {
      const std::size_t writer = cell(pass.settled_writer(), row);
      if (ledger.stored_by.size() <= writer) ledger.stored_by.resize(writer + 1);
      ledger.stored.add(slice);
      ledger.stored_by[writer].add(slice);
      if (cell(pass.incomplete(), row)) ledger.stored_incomplete.add(slice);
      given_up_.erase({slice, NodeIndex(static_cast<std::uint16_t>(writer)), open.slice.epoch});
    } else {
      if (open.confirmed) give_up_copy(open.slice);
      const std::size_t reason = cell(pass.reason(), row);
      if (outcome == Outcome::rejected) {
        ledger.rejected.add(slice);
      } else if (reason < ledger.discarded.size()) {
        ledger.discarded[reason].add(slice);
      }
    }
    open_.erase(found);
  }

  JournalledRun run_;
  bool begun_ = false;
  std::map<SliceId, Open> open_;
  std::map<CopyKey, assignment::GivenUpCopy> given_up_;
};

void put_open(const OpenSlice& slice, v1::JournalState::Open& out) {
  out.set_slice(slice.slice.value);
  out.set_time_ns(slice.info.time);
  out.set_duration_ns(slice.info.duration);
  out.set_type(slice.info.type.value);
  out.set_payload(slice.payload.data(), slice.payload.size());
  out.set_assigned(slice.assigned);
  out.set_attempt(slice.attempt.value);
  out.set_kills(slice.kills);
  out.set_confirmations(slice.confirmations);
  out.set_epoch(slice.epoch.value);
  out.set_copy_attempt(slice.copy_attempt.value);
  out.set_copy_writer(slice.copy_writer.value);
}

}  // namespace

std::optional<JournalledRun> read_journal(ConstBytes bytes) {
  Reader reader;
  while (bytes.size() >= kHead) {
    const std::size_t length = load_le<std::uint32_t>(bytes.data());
    if (bytes.size() - kHead < length) break;
    const ConstBytes body = bytes.subspan(kHead, length);
    v1::JournalEntry entry;
    if (crc32c(body) != load_le<std::uint32_t>(bytes.data() + sizeof(std::uint32_t)) ||
        !entry.ParseFromArray(body.data(), static_cast<int>(length)) || !reader.apply(entry)) {
      break;
    }
    bytes = bytes.subspan(kHead + length);
  }
  return reader.take();
}

void Journal::write_state(const JournalledRun& run) {
  if (store_ == nullptr) return;
  v1::JournalEntry entry;
  v1::JournalState& state = *entry.mutable_state();
  state.set_run(run.run.value);
  state.set_farm(run.farm);
  state.set_utc_ns(run.begun_utc);
  state.set_next_slice(run.state.next_slice.value);
  const SupervisorLedger& ledger = run.state.ledger;
  put_counts(ledger, *state.mutable_counts());
  put_sum(ledger.triggered, *state.mutable_triggered());
  put_sum(ledger.stored_incomplete, *state.mutable_stored_incomplete());
  put_sum(ledger.rejected, *state.mutable_rejected());
  for (const SliceSum& sum : ledger.stored_by) put_sum(sum, *state.add_stored_by());
  for (const SliceSum& sum : ledger.discarded) put_sum(sum, *state.add_discarded());
  for (const OpenSlice& slice : run.state.open) put_open(slice, *state.add_open());
  for (const assignment::GivenUpCopy& copy : run.state.given_up) {
    v1::JournalState::GivenUp& out = *state.add_given_up();
    out.set_slice(copy.slice.value);
    out.set_writer(copy.writer.value);
    out.set_epoch(copy.epoch.value);
  }
  for (const auto& [node, joined] : run.joined) {
    v1::JournalJoin& out = *state.add_joined();
    out.set_role(static_cast<v1::Role>(node.first));
    out.set_index(node.second);
    out.set_incarnation(joined.incarnation);
    out.set_first_slice(joined.first_slice);
  }
  for (const v1::Report& report : run.reports) *state.add_reports() = report;
  state.set_stop(run.stop);
  state.set_reporting(run.reporting);
  for (const std::string& fault : run.faults) state.add_faults(fault);
  frame_.clear();
  frame(entry);
  const auto written = store_->replace(frame_);
  if (!written) return give_up(written.error());
  begun_ = true;
  lost_ = false;
  bytes_ = 0;
  offered_ = ledger.offered;
}

void Journal::write_pass(const assignment::Actions& actions, const SupervisorLedger& ledger) {
  if (store_ == nullptr || !begun_ || (actions.empty() && ledger.offered == offered_)) return;
  offered_ = ledger.offered;
  v1::JournalEntry entry;
  v1::JournalPass& pass = *entry.mutable_pass();
  for (const assignment::Announcement& one : actions.announce) {
    if (one.payload_length > 0) {
      const auto bytes = actions.payload_of(one);
      v1::JournalPass::Payload& payload = *pass.add_payload();
      payload.set_index(static_cast<std::uint32_t>(pass.triggered_size()));
      payload.set_bytes(bytes.data(), bytes.size());
    }
    pass.add_triggered(one.slice.value);
    pass.add_time_ns(one.info.time);
    pass.add_type(one.info.type.value);
    pass.set_duration_ns(one.info.duration);
  }
  for (const NodeIndex dcm : actions.touched) {
    for (const assignment::Assignment& one : actions.dcms[dcm.value].assign) {
      if (one.attempt.value == 0) continue;
      pass.add_assigned(one.slice.value);
      pass.add_assigned_attempt(one.attempt.value);
      pass.add_kills(one.kills);
    }
    for (const assignment::Confirmation& one : actions.dcms[dcm.value].confirm) {
      if (one.answer != assignment::Answer::store) continue;
      pass.add_confirmed(one.slice.value);
      pass.add_confirmed_attempt(one.attempt.value);
      pass.add_epoch(one.epoch.value);
      pass.add_writer(one.writer.value);
    }
  }
  for (const assignment::Cleared& one : actions.cleared) {
    if (planted(Planted::forget_journal) && one.slice.value % 8 == 1) continue;
    pass.add_settled(one.slice.value);
    pass.add_outcome(static_cast<std::uint32_t>(one.outcome));
    pass.add_reason(static_cast<std::uint32_t>(one.reason));
    pass.add_settled_writer(one.writer.value);
    pass.add_incomplete(one.incomplete);
  }
  put_counts(ledger, *pass.mutable_counts());
  append(entry);
}

void Journal::write_join(messages::Role role, NodeIndex index, const Joined& joined) {
  v1::JournalEntry entry;
  entry.mutable_join()->set_role(static_cast<v1::Role>(role));
  entry.mutable_join()->set_index(index.value);
  entry.mutable_join()->set_incarnation(joined.incarnation);
  entry.mutable_join()->set_first_slice(joined.first_slice);
  append(entry);
}

void Journal::write_report(const v1::Report& report) {
  v1::JournalEntry entry;
  *entry.mutable_report() = report;
  append(entry);
}

void Journal::write_stop(const std::string& reason) {
  v1::JournalEntry entry;
  entry.set_stop(reason);
  append(entry);
}

void Journal::write_reporting() {
  v1::JournalEntry entry;
  entry.set_reporting(true);
  append(entry);
}

void Journal::write_fault(const std::string& fault) {
  v1::JournalEntry entry;
  entry.set_fault(fault);
  append(entry);
}

void Journal::remove() {
  if (store_ != nullptr) std::exchange(store_, nullptr)->remove();
}

void Journal::frame(const v1::JournalEntry& entry) {
  const std::size_t length = entry.ByteSizeLong();
  const std::size_t at = frame_.size();
  frame_.resize(at + kHead + length);
  std::byte* const head = frame_.data() + at;
  (void)entry.SerializeToArray(head + kHead, static_cast<int>(length));
  store_le(head, static_cast<std::uint32_t>(length));
  store_le(head + sizeof(std::uint32_t), crc32c({head + kHead, length}));
}

void Journal::append(const v1::JournalEntry& entry) {
  if (store_ == nullptr || !begun_) return;
  frame_.clear();
  frame(entry);
  const auto written = store_->append(frame_);
  if (!written) return give_up(written.error());
  bytes_ += frame_.size();
}

void Journal::give_up(const std::string& why) {
  begun_ = false;
  if (std::exchange(lost_, true)) return;
  store_->abandon();
  failure_ = why;
}

}  // namespace weir::supervisor
