// A journal, entry by entry, back to the run that it is of.
#include "journal.hpp"
#include "journal_format.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/slice_codec/columns.hpp>
#include <weir/slice_codec/tables.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace weir::supervisor {
namespace {

using slice_codec::at_or_zero;

using assignment::OpenSlice;
using assignment::SupervisorLedger;
using slice_rows::Outcome;

void take_counts(const v1::JournalCounts& counts, JournalledRun& run) {
  SupervisorLedger& ledger = run.state.ledger;
  for (std::size_t i = 0; i < kJournalCounts.size() && i < static_cast<std::size_t>(counts.count_size());
       ++i) {
    ledger.*kJournalCounts[i] = counts.count(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < ledger.vetoed.size() && i < static_cast<std::size_t>(counts.vetoed_size()); ++i)
    ledger.vetoed[i] = counts.vetoed(static_cast<int>(i));
  const auto& numbers = counts.numbers();
  if (numbers.size() < 5) return;
  const SliceId next(std::min(numbers[0], numbering::kNumberMax.value + 1));
  run.numbers = {next, {numbers[1], numbers[2], numbers[3], numbers[4]}};
}

void take_bytes(const std::string& from, std::vector<std::byte>& to) {
  const auto* bytes = reinterpret_cast<const std::byte*>(from.data());
  to.assign(bytes, bytes + from.size());
}

// Applies entries to the run that they are about.
class Reader {
 public:
  bool apply(const v1::JournalEntry& entry) {
    ++entries_;
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
        run_.running_ns = entry.running_ns();
        return begun_;
      case v1::JournalEntry::kReporting:
        run_.reporting = true;
        return begun_;
      case v1::JournalEntry::kFault:
        faults_.add(entry.fault());
        return begun_;
      case v1::JournalEntry::kFarm:
        take_shape(entry.farm());
        return begun_;
      case v1::JournalEntry::kLostTimes:
        take_lost_times(entry.lost_times());
        return begun_;
      case v1::JournalEntry::kAlertOpened:
        if (run_.alerts) open_alert(entry.alert_opened(), *run_.alerts);
        return begun_;
      case v1::JournalEntry::kAlertAccount:
        if (run_.alerts) take_account(entry.alert_account(), *run_.alerts);
        return begun_;
      case v1::JournalEntry::kAlertsRefused:
        if (run_.alerts) run_.alerts->refused = entry.alerts_refused();
        return begun_;
      case v1::JournalEntry::BODY_NOT_SET:
        break;
    }
    return false;
  }

  std::optional<JournalledRun> take() {
    if (!begun_) return std::nullopt;
    run_.state.given = given_.intervals();
    for (auto& [slice, open] : open_) {
      if (open.confirmed) give_up_copy(open.slice);
      run_.state.open.push_back(std::move(open.slice));
    }
    std::sort(run_.state.open.begin(), run_.state.open.end(),
              [](const OpenSlice& a, const OpenSlice& b) { return a.order < b.order; });
    for (const auto& [key, copy] : given_up_) run_.state.given_up.push_back(copy);
    run_.faults = faults_.all();
    run_.impossible = impossible_;
    return std::move(run_);
  }

 private:
  struct Open {
    OpenSlice slice;
    bool confirmed = false;  // and not given up
  };
  using CopyKey = std::tuple<SliceId, NodeIndex, StoreEpoch>;

  template <class Id>
  Id id_of(std::uint32_t value, std::string_view column) {
    if (value > UINT16_MAX) note_impossible(column);
    return Id(static_cast<std::uint16_t>(value));
  }
  // No supervisor writes such an entry: the run that it belongs to is unknown.
  void note_impossible(std::string_view column) {
    if (impossible_.empty()) impossible_ = "entry " + std::to_string(entries_) + ", " + std::string(column);
  }

  void give_up_copy(const OpenSlice& slice) {
    given_up_[{slice.slice, slice.copy_writer, slice.epoch}] = {slice.slice, slice.copy_writer, slice.epoch,
                                                                false};
  }

  void take_state(const v1::JournalState& state) {
    begun_ = true;
    run_ = {};
    impossible_.clear();
    run_.run = RunNumber(state.run());
    run_.farm = state.farm();
    run_.claim = state.claim();
    run_.begun_utc = state.utc_ns();
    run_.state.begun_utc = state.triggers_utc_ns();
    run_.state.next_slice = SliceId(state.next_slice());
    SupervisorLedger& ledger = run_.state.ledger;
    take_counts(state.counts(), run_);
    ledger.triggered = sum_of(state.triggered());
    ledger.stored_incomplete = sum_of(state.stored_incomplete());
    ledger.rejected = sum_of(state.rejected());
    for (const v1::SliceSum& sum : state.stored_by()) {
      ledger.stored_by.push_back(sum_of(sum));
      ledger.stored += ledger.stored_by.back();
    }
    for (int i = 0; i < state.discarded_size() && i < static_cast<int>(ledger.discarded.size()); ++i)
      ledger.discarded[static_cast<std::size_t>(i)] = sum_of(state.discarded(i));
    for (const v1::JournalState::Group& group : state.groups()) take_group(group);
    open_.clear();
    for (const v1::JournalState::Open& open : state.open()) take_open(open);
    given_up_.clear();
    for (const v1::JournalState::GivenUp& copy : state.given_up()) {
      const auto writer = id_of<NodeIndex>(copy.writer(), "given_up.writer");
      const auto epoch = id_of<StoreEpoch>(copy.epoch(), "given_up.epoch");
      given_up_[{SliceId(copy.slice()), writer, epoch}] = {SliceId(copy.slice()), writer, epoch,
                                                           copy.orphan()};
    }
    for (const v1::JournalJoin& join : state.joined()) take_join(join);
    run_.reports.assign(state.reports().begin(), state.reports().end());
    run_.histograms.assign(state.histograms().begin(), state.histograms().end());
    run_.stop = state.stop();
    run_.running_ns = state.running_ns();
    run_.reporting = state.reporting();
    faults_ = FaultTexts({state.faults().begin(), state.faults().end()});
    take_shape(state.farm_now());
    take_lost_times(state.lost_times());
    run_.serial = state.serial();
    take_given(state);
    take_answers(state.answers());
    if (state.has_alerts()) run_.alerts = alerts_of(state.alerts());
  }

  void take_given(const v1::JournalState& state) {
    given_ = {};
    // An earlier version knew no more than this.
    if (state.given_gap().empty() && state.next_slice() > 0 && state.triggered().count() > 0)
      given_.add({SliceId(0), SliceId(state.next_slice() - 1)});
    std::uint64_t end = 0;
    for (int i = 0; i < state.given_gap_size(); ++i) {
      const std::uint64_t length = at_or_zero(state.given_length(), i);
      if (length == 0) continue;
      const std::uint64_t first = end + state.given_gap(i);
      end = first + length;
      given_.add({SliceId(first), SliceId(end - 1)});
    }
  }

  void take_lost_times(const v1::JournalLostTimes& times) {
    run_.lost_times = {times.all_ns(), {}};
    for (int i = 0; i < times.reason_size(); ++i)
      run_.lost_times.by_reason[times.reason(i)] = at_or_zero(times.time_ns(), i);
  }

  void take_shape(const v1::JournalFarm& farm) {
    assignment::FarmShape& shape = run_.state.shape;
    shape = {};
    for (const v1::JournalFarm::Node& node : farm.removed()) {
      if (node.role() >= std::size(slice_rows::kNodeRoles)) {
        note_impossible("removed.role");
        continue;
      }
      shape.removed.push_back(
          {slice_rows::kNodeRoles[node.role()], id_of<NodeIndex>(node.index(), "removed.index")});
    }
    if (auto absences = slice_codec::decode(farm.absences()))
      shape.absences = std::move(*absences);
    else
      note_impossible(absences.error().column);
    shape.paused = farm.paused();
    shape.paused_ns = farm.paused_ns();
    run_.shaped_utc = farm.utc_ns();
  }

  void take_open(const v1::JournalState::Open& open) {
    OpenSlice& slice = open_[SliceId(open.slice())].slice;
    slice.slice = SliceId(open.slice());
    slice.info = {open.time_ns(), open.duration_ns(), TriggerType(open.type())};
    const auto* bytes = reinterpret_cast<const std::byte*>(open.payload().data());
    slice.payload.assign(bytes, bytes + open.payload().size());
    slice.assigned = open.assigned();
    slice.attempt = id_of<Attempt>(open.attempt(), "open.attempt");
    slice.kills = static_cast<std::uint8_t>(open.kills());
    slice.losses = static_cast<std::uint8_t>(open.losses());
    slice.suspect = open.suspect();
    slice.order = SliceOrder(open.order());
    slice.refusals = static_cast<std::uint8_t>(open.refusals());
    slice.confirmations = static_cast<std::uint16_t>(open.confirmations());
    slice.epoch = id_of<StoreEpoch>(open.epoch(), "open.epoch");
    slice.copy_attempt = id_of<Attempt>(open.copy_attempt(), "open.copy_attempt");
    slice.copy_writer = id_of<NodeIndex>(open.copy_writer(), "open.copy_writer");
    slice.copy_incomplete = open.copy_incomplete();
    slice.group = GroupIndex(static_cast<std::uint8_t>(open.group()));
    slice.arrived = open.arrived();
    take_bytes(open.forwarded(), slice.forwarded);
  }

  void take_join(const v1::JournalJoin& join) {
    Joined& joined = run_.joined[{join.role(), join.index()}];
    const bool same_process = joined.incarnation == join.incarnation();
    if (run_.alerts && join.role() == v1::ROLE_DCM && !same_process)
      run_.alerts->book.dcm_replaced(id_of<NodeIndex>(join.index(), "joined.index"));
    joined = {join.incarnation(), join.first_slice(), join.told_to_end(), SliceOrder(join.first_order())};
  }

  void take_pass(const v1::JournalPass& pass) {
    run_.serial = std::max(run_.serial, pass.serial());
    take_triggers(pass);
    take_answers(pass.answers());
    take_kills(pass);
    take_reopened(pass);
    take_fetched(pass);
    take_forwarded(pass);
    for (int i = 0; i < pass.assigned_size(); ++i) {
      const auto found = open_.find(SliceId(pass.assigned(i)));
      if (found == open_.end()) continue;
      Open& open = found->second;
      if (std::exchange(open.confirmed, false)) give_up_copy(open.slice);
      open.slice.attempt = id_of<Attempt>(at_or_zero(pass.assigned_attempt(), i), "assigned_attempt");
      open.slice.kills = static_cast<std::uint8_t>(at_or_zero(pass.kills(), i));
      open.slice.losses = static_cast<std::uint8_t>(at_or_zero(pass.losses(), i));
      open.slice.suspect = at_or_zero(pass.suspect(), i);
      if (assignment::GroupLedger* group = group_of(open.slice); group != nullptr) {
        if (open.slice.arrived) group->assigned.add(open.slice.slice);
        if (!open.slice.arrived) ++group->reassigned;
      }
      open.slice.arrived = false;
    }
    for (int i = 0; i < pass.confirmed_size(); ++i) {
      const auto found = open_.find(SliceId(pass.confirmed(i)));
      if (found == open_.end()) continue;
      Open& open = found->second;
      if (std::exchange(open.confirmed, true)) give_up_copy(open.slice);
      open.slice.epoch = id_of<StoreEpoch>(at_or_zero(pass.epoch(), i), "epoch");
      open.slice.confirmations = static_cast<std::uint16_t>(open.slice.epoch.value + 1);
      open.slice.copy_attempt = id_of<Attempt>(at_or_zero(pass.confirmed_attempt(), i), "confirmed_attempt");
      open.slice.copy_writer = id_of<NodeIndex>(at_or_zero(pass.writer(), i), "writer");
      open.slice.copy_incomplete = at_or_zero(pass.confirmed_incomplete(), i);
    }
    for (int i = 0; i < pass.settled_size(); ++i) settle(pass, i);
    if (pass.has_counts()) take_counts(pass.counts(), run_);
  }

  void take_triggers(const v1::JournalPass& pass) {
    for (int i = 0; i < pass.triggered_size(); ++i) {
      const SliceId slice(pass.triggered(i));
      if (given_.contains(slice)) continue;  // announced again after a restart
      given_.add(slice);
      Open& open = open_[slice];
      open.slice.slice = slice;
      open.slice.order = SliceOrder(run_.state.ledger.triggered.count);
      const int duration = std::min(i, pass.duration_ns_size() - 1);
      open.slice.info = {at_or_zero(pass.time_ns(), i), at_or_zero(pass.duration_ns(), duration),
                         TriggerType(at_or_zero(pass.type(), i))};
      open.slice.assigned = true;  // perhaps it was assigned: the next attempt has a number that no DCM has
      run_.state.ledger.triggered.add(slice);
      run_.state.next_slice = std::max(run_.state.next_slice, slice.next());
    }
    for (const v1::JournalPass::Payload& payload : pass.payload()) {
      if (payload.index() >= static_cast<std::uint32_t>(pass.triggered_size())) continue;
      const auto found = open_.find(SliceId(pass.triggered(static_cast<int>(payload.index()))));
      if (found == open_.end()) continue;
      const auto* bytes = reinterpret_cast<const std::byte*>(payload.bytes().data());
      found->second.slice.payload.assign(bytes, bytes + payload.bytes().size());
    }
  }

  void take_answers(const google::protobuf::RepeatedPtrField<v1::JournalAnswers>& answers) {
    for (const v1::JournalAnswers& of : answers) {
      for (int i = 0; i < of.number_size(); ++i) {
        const slice_rows::TriggerNumber number{of.client(), of.session(), of.number(i)};
        slice_rows::OfferResult known;
        if (number.number == 0) continue;
        if (run_.answered.find(number, known) != assignment::AnsweredTriggers::Found::fresh) continue;
        const std::uint8_t reason = at_or_zero(of.reason(), i);
        const auto veto = static_cast<slice_rows::VetoReason>(reason == 0 ? 0 : reason - 1);
        run_.answered.add(number, {reason == 0, SliceId(at_or_zero(of.slice(), i)), veto});
      }
    }
  }

  void take_kills(const v1::JournalPass& pass) {
    for (int i = 0; i < pass.killed_size(); ++i) {
      const auto found = open_.find(SliceId(pass.killed(i)));
      if (found != open_.end())
        found->second.slice.kills = static_cast<std::uint8_t>(at_or_zero(pass.killed_kills(), i));
    }
  }

  void take_reopened(const v1::JournalPass& pass) {
    for (int i = 0; i < pass.reopened_size(); ++i) {
      const auto found = open_.find(SliceId(pass.reopened(i)));
      if (found == open_.end()) continue;
      Open& open = found->second;
      if (std::exchange(open.confirmed, false)) give_up_copy(open.slice);
      open.slice.kills = static_cast<std::uint8_t>(at_or_zero(pass.reopened_kills(), i));
      open.slice.losses = static_cast<std::uint8_t>(at_or_zero(pass.reopened_losses(), i));
      open.slice.suspect = at_or_zero(pass.reopened_suspect(), i);
      open.slice.refusals = static_cast<std::uint8_t>(at_or_zero(pass.reopened_refusals(), i));
    }
  }

  void settle(const v1::JournalPass& pass, int row) {
    const SliceId slice(pass.settled(row));
    const auto found = open_.find(slice);
    if (found == open_.end()) return;
    Open& open = found->second;
    SupervisorLedger& ledger = run_.state.ledger;
    if (run_.alerts) keep_for_alerts(open.slice, at_or_zero(pass.settled_kept_by(), row));
    const auto outcome = static_cast<Outcome>(at_or_zero(pass.outcome(), row));
    settle_in_group(open.slice, outcome);
    if (outcome == Outcome::stored) {
      const std::size_t writer =
          id_of<NodeIndex>(at_or_zero(pass.settled_writer(), row), "settled_writer").value;
      if (ledger.stored_by.size() <= writer) ledger.stored_by.resize(writer + 1);
      ledger.stored.add(slice);
      ledger.stored_by[writer].add(slice);
      if (at_or_zero(pass.incomplete(), row)) ledger.stored_incomplete.add(slice);
      given_up_.erase({slice, NodeIndex(static_cast<std::uint16_t>(writer)), open.slice.epoch});
    } else {
      if (open.confirmed) give_up_copy(open.slice);
      const CopyKey first{slice, NodeIndex(0), StoreEpoch(0)};
      for (auto copy = given_up_.lower_bound(first); copy != given_up_.end() && copy->second.slice == slice;
           ++copy)
        copy->second.orphan = true;
      const std::size_t reason = at_or_zero(pass.reason(), row);
      if (outcome == Outcome::rejected) {
        ledger.rejected.add(slice);
      } else if (reason < ledger.discarded.size()) {
        ledger.discarded[reason].add(slice);
      }
    }
    open_.erase(found);
  }

  // `kept_by`: index + 1, or 0.
  void keep_for_alerts(const OpenSlice& slice, std::uint32_t kept_by) {
    run_.alerts->book.settled(
        slice.slice, slice.info.time,
        kept_by > 0 ? std::optional(id_of<NodeIndex>(kept_by - 1, "kept_by")) : std::nullopt);
  }

  // Null in a farm with one group.
  assignment::GroupLedger* group_of(const OpenSlice& slice) {
    auto& groups = run_.state.ledger.groups;
    return slice.group.value < groups.size() ? &groups[slice.group.value] : nullptr;
  }

  void take_group(const v1::JournalState::Group& from) {
    assignment::GroupLedger& group = run_.state.ledger.groups.emplace_back();
    group.arrived = sum_of(from.arrived());
    group.assigned = sum_of(from.assigned());
    group.settled_waiting = sum_of(from.settled_waiting());
    group.stored = sum_of(from.stored());
    group.rejected = sum_of(from.rejected());
    group.discarded = sum_of(from.discarded());
    group.forwarded = sum_of(from.forwarded());
    group.reassigned = from.reassigned();
    group.fetched = sum_of(from.fetched());
  }

  // A slice that is fetched and forwarded in one pass was fetched first.
  void take_fetched(const v1::JournalPass& pass) {
    for (const std::uint64_t slice : pass.fetched()) {
      const auto found = open_.find(SliceId(slice));
      if (found == open_.end()) continue;
      if (auto* group = group_of(found->second.slice); group != nullptr) group->fetched.add(SliceId(slice));
    }
  }

  void take_forwarded(const v1::JournalPass& pass) {
    for (const v1::JournalPass::Forwarded& forwarded : pass.forwarded()) {
      const auto found = open_.find(SliceId(forwarded.slice()));
      if (found == open_.end()) continue;
      OpenSlice& slice = found->second.slice;
      if (auto* from = group_of(slice); from != nullptr) from->forwarded.add(slice.slice);
      slice.group = GroupIndex(static_cast<std::uint8_t>(forwarded.group()));
      if (auto* to = group_of(slice); to != nullptr) to->arrived.add(slice.slice);
      slice.arrived = true;
      slice.attempt = id_of<Attempt>(forwarded.attempt(), "forwarded.attempt");
      slice.kills = slice.losses = 0;
      slice.suspect = false;
      slice.copy_writer = slice_rows::kNoNode;
      take_bytes(forwarded.bytes(), slice.forwarded);
    }
  }

  void settle_in_group(const OpenSlice& slice, Outcome outcome) {
    assignment::GroupLedger* group = group_of(slice);
    if (group == nullptr) return;
    if (slice.arrived) group->settled_waiting.add(slice.slice);
    if (outcome == Outcome::stored) {
      group->stored.add(slice.slice);
    } else {
      (outcome == Outcome::rejected ? group->rejected : group->discarded).add(slice.slice);
    }
  }

  JournalledRun run_;
  FaultTexts faults_;
  std::size_t entries_ = 0;
  std::string impossible_;
  bool begun_ = false;
  slice_rows::IdIntervals given_;
  std::map<SliceId, Open> open_;
  std::map<CopyKey, assignment::GivenUpCopy> given_up_;
};

}  // namespace

std::optional<JournalledRun> read_journal(ConstBytes bytes) {
  Reader reader;
  while (bytes.size() >= kJournalHead) {
    const std::size_t length = load_le<std::uint32_t>(bytes.data());
    if (bytes.size() - kJournalHead < length) break;
    const ConstBytes body = bytes.subspan(kJournalHead, length);
    v1::JournalEntry entry;
    if (crc32c(body) != load_le<std::uint32_t>(bytes.data() + sizeof(std::uint32_t)) ||
        !entry.ParseFromArray(body.data(), static_cast<int>(length)) || !reader.apply(entry)) {
      break;
    }
    bytes = bytes.subspan(kJournalHead + length);
  }
  return reader.take();
}

}  // namespace weir::supervisor
