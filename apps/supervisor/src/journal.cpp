#include "journal.hpp"

#include "journal_format.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/base/planted.hpp>
#include <weir/slice_codec/columns.hpp>
#include <weir/slice_codec/tables.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace weir::supervisor {
namespace {

using assignment::OpenSlice;
using assignment::SupervisorLedger;

using Numbers = std::optional<numbering::OrderState>;

std::array<std::uint64_t, 5> values_of(const numbering::OrderState& numbers) {
  const numbering::OrderCounts& counts = numbers.counts;
  return {numbers.next.value, counts.closed, counts.left_out, counts.late, counts.unconfirmed};
}

std::vector<std::uint64_t> counts_of(const SupervisorLedger& ledger, const Numbers& numbers) {
  std::vector<std::uint64_t> counts(ledger.vetoed.begin(), ledger.vetoed.end());
  for (const auto count : kJournalCounts) counts.push_back(ledger.*count);
  if (!numbers) return counts;
  for (const std::uint64_t value : values_of(*numbers)) counts.push_back(value);
  return counts;
}

void put_counts(const SupervisorLedger& ledger, const Numbers& numbers, v1::JournalCounts& out) {
  for (const auto count : kJournalCounts) out.add_count(ledger.*count);
  for (const std::uint64_t vetoed : ledger.vetoed) out.add_vetoed(vetoed);
  if (!numbers) return;
  for (const std::uint64_t value : values_of(*numbers)) out.add_numbers(value);
}

void put_open(const OpenSlice& slice, v1::JournalState::Open& out) {
  out.set_slice(slice.slice.value);
  out.set_time_ns(slice.info.time);
  out.set_duration_ns(slice.info.duration);
  out.set_type(slice.info.type.value);
  out.set_payload(slice.payload.data(), slice.payload.size());
  out.set_assigned(slice.assigned);
  out.set_attempt(slice.attempt.value);
  out.set_kills(slice.kills);
  out.set_losses(slice.losses);
  out.set_suspect(slice.suspect);
  out.set_order(slice.order.value);
  out.set_refusals(slice.refusals);
  out.set_confirmations(slice.confirmations);
  out.set_epoch(slice.epoch.value);
  out.set_copy_attempt(slice.copy_attempt.value);
  out.set_copy_writer(slice.copy_writer.value);
  out.set_copy_incomplete(slice.copy_incomplete);
  out.set_group(slice.group.value);
  out.set_arrived(slice.arrived);
  out.set_forwarded(slice.forwarded.data(), slice.forwarded.size());
}

void put_group(const assignment::GroupLedger& group, v1::JournalState::Group& out) {
  put_sum(group.arrived, *out.mutable_arrived());
  put_sum(group.assigned, *out.mutable_assigned());
  put_sum(group.settled_waiting, *out.mutable_settled_waiting());
  put_sum(group.stored, *out.mutable_stored());
  put_sum(group.rejected, *out.mutable_rejected());
  put_sum(group.discarded, *out.mutable_discarded());
  put_sum(group.forwarded, *out.mutable_forwarded());
  out.set_reassigned(group.reassigned);
  put_sum(group.fetched, *out.mutable_fetched());
}

void put_forwarded(const assignment::Actions& actions, v1::JournalPass& out) {
  for (const assignment::Forwarding& one : actions.forwarded) {
    if (planted(Planted::forget_forward) && one.slice.value % 8 == 2) continue;
    v1::JournalPass::Forwarded& forwarded = *out.add_forwarded();
    forwarded.set_slice(one.slice.value);
    forwarded.set_attempt(one.attempt.value);
    forwarded.set_group(one.group.value);
    WEIR_ASSERT(std::size_t{one.offset} + one.length <= actions.payload.size());
    const auto bytes = std::span(actions.payload).subspan(one.offset, one.length);
    forwarded.set_bytes(bytes.data(), bytes.size());
  }
}

void put_join(v1::Role role, std::uint32_t index, const Joined& joined, v1::JournalJoin& out) {
  out.set_role(role);
  out.set_index(index);
  out.set_incarnation(joined.incarnation);
  out.set_first_slice(joined.first_slice);
  out.set_told_to_end(joined.told_to_end);
  out.set_first_order(joined.first_order.value);
}

void put_shape(const assignment::FarmShape& shape, UtcNs utc_ns, v1::JournalFarm& out) {
  for (const slice_rows::NodeRef& node : shape.removed) {
    v1::JournalFarm::Node& removed = *out.add_removed();
    removed.set_role(static_cast<std::uint32_t>(slice_rows::place_of(node.role)));
    removed.set_index(node.node.value);
  }
  slice_codec::encode(shape.absences, *out.mutable_absences());
  out.set_paused(shape.paused);
  out.set_paused_ns(shape.paused_ns);
  out.set_utc_ns(utc_ns);
}

void put_given(const std::vector<assignment::IdInterval>& given, v1::JournalState& out) {
  std::uint64_t end = 0;  // of the previous interval
  for (const assignment::IdInterval& interval : given) {
    WEIR_ASSERT(interval.first.value >= end && interval.first <= interval.last);
    out.add_given_gap(interval.first.value - end);
    out.add_given_length(interval.last.value - interval.first.value + 1);
    end = interval.last.value + 1;
  }
}

void put_reopened(std::span<const assignment::Reopening> rows, v1::JournalPass& out) {
  for (const assignment::Reopening& one : rows) {
    out.add_reopened(one.slice.value);
    out.add_reopened_kills(one.kills);
    out.add_reopened_losses(one.losses);
    out.add_reopened_suspect(one.suspect);
    out.add_reopened_refusals(one.refusals);
  }
}

void put_confirmed(std::span<const assignment::Confirmation> rows, v1::JournalPass& out) {
  for (const assignment::Confirmation& one : rows) {
    if (one.answer != slice_rows::Answer::store) continue;
    out.add_confirmed(one.slice.value);
    out.add_confirmed_attempt(one.attempt.value);
    out.add_epoch(one.epoch.value);
    out.add_writer(one.writer.value);
    out.add_confirmed_incomplete(one.incomplete);
  }
}

// One message per client and session, with its rows in their order.
void put_answers(std::span<const assignment::NumberedAnswer> rows,
                 google::protobuf::RepeatedPtrField<v1::JournalAnswers>& out) {
  v1::JournalAnswers* to = nullptr;
  for (const assignment::NumberedAnswer& one : rows) {
    if (planted(Planted::forget_answers) && one.number % 4 == 1) continue;
    if (to == nullptr || to->client() != one.client || to->session() != one.session) {
      to = out.Add();
      to->set_client(one.client);
      to->set_session(one.session);
    }
    to->add_number(one.number);
    to->add_slice(one.answer.slice.value);
    slice_codec::add(*to->mutable_reason(), one.answer.taken ? 0 : static_cast<int>(one.answer.reason) + 1);
  }
  for (v1::JournalAnswers& answers : out) slice_codec::leave_out_zeros(*answers.mutable_reason());
}

void put_lost_times(const assignment::LostTimes& times, v1::JournalLostTimes& out) {
  out.set_all_ns(times.all);
  for (const auto& [reason, time] : times.by_reason) {
    out.add_reason(reason);
    out.add_time_ns(time);
  }
}

}  // namespace

void put(const JournalledRun& run, const RunAlerts* alerts, v1::JournalState& state) {
  state.set_run(run.run.value);
  state.set_farm(run.farm);
  state.set_claim(run.claim);
  state.set_utc_ns(run.begun_utc);
  state.set_triggers_utc_ns(run.state.begun_utc);
  state.set_next_slice(run.state.next_slice.value);
  state.set_serial(run.serial);
  put_given(run.state.given, state);
  const SupervisorLedger& ledger = run.state.ledger;
  put_counts(ledger, run.numbers, *state.mutable_counts());
  put_sum(ledger.triggered, *state.mutable_triggered());
  put_sum(ledger.stored_incomplete, *state.mutable_stored_incomplete());
  put_sum(ledger.rejected, *state.mutable_rejected());
  for (const SliceSum& sum : ledger.stored_by) put_sum(sum, *state.add_stored_by());
  for (const SliceSum& sum : ledger.discarded) put_sum(sum, *state.add_discarded());
  for (const assignment::GroupLedger& group : ledger.groups) put_group(group, *state.add_groups());
  for (const OpenSlice& slice : run.state.open) put_open(slice, *state.add_open());
  for (const assignment::GivenUpCopy& copy : run.state.given_up) {
    v1::JournalState::GivenUp& out = *state.add_given_up();
    out.set_slice(copy.slice.value);
    out.set_writer(copy.writer.value);
    out.set_epoch(copy.epoch.value);
    out.set_orphan(copy.orphan);
  }
  for (const auto& [node, joined] : run.joined) {
    put_join(static_cast<v1::Role>(node.first), node.second, joined, *state.add_joined());
  }
  for (const v1::Report& report : run.reports) *state.add_reports() = report;
  for (const v1::FilterHistogram& one : run.histograms) *state.add_histograms() = one;
  state.set_stop(run.stop);
  state.set_running_ns(run.running_ns);
  state.set_reporting(run.reporting);
  for (const std::string& fault : run.faults) state.add_faults(fault);
  put_shape(run.state.shape, run.shaped_utc, *state.mutable_farm_now());
  put_lost_times(run.lost_times, *state.mutable_lost_times());
  put_answers(run.answered.state(), *state.mutable_answers());
  if (alerts != nullptr) put(*alerts, *state.mutable_alerts());
}

void Journal::write_state(const JournalledRun& run, const RunAlerts* alerts) {
  if (store_ == nullptr) return;
  v1::JournalEntry entry;
  put(run, alerts, *entry.mutable_state());
  has_alerts_ = alerts != nullptr;
  frame_.clear();
  frame(entry);
  const auto written = store_->replace(frame_);
  if (!written) return give_up(written.error());
  begun_ = true;
  lost_ = waits_ = false;
  bytes_ = 0;
  state_bytes_ = frame_.size();
  counted_ = counts_of(run.state.ledger, run.numbers);
}

void Journal::write_pass(const assignment::Actions& actions, const SupervisorLedger& ledger,
                         const Numbers& numbers) {
  std::vector<std::uint64_t> counts = counts_of(ledger, numbers);
  if (actions.empty() && counts == counted_) return;
  counted_ = std::move(counts);
  ++serial_;
  if (store_ == nullptr || !begun_) return;
  v1::JournalPass& pass = *pass_entry_.mutable_pass();
  pass.Clear();  // its columns keep their memory
  pass.set_serial(serial_);
  for (const assignment::KillCount& one : actions.killed) {
    pass.add_killed(one.slice.value);
    pass.add_killed_kills(one.kills);
  }
  put_reopened(actions.reopened, pass);
  put_answers(actions.answered, *pass.mutable_answers());
  put_confirmed(actions.unsent, pass);
  for (const SliceId slice : actions.fetched) pass.add_fetched(slice.value);
  put_forwarded(actions, pass);
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
    pass.add_duration_ns(one.info.duration);
  }
  auto& durations = *pass.mutable_duration_ns();
  const auto differ = std::adjacent_find(durations.begin(), durations.end(), std::not_equal_to<>());
  if (differ == durations.end() && !durations.empty()) durations.Truncate(1);
  for (const NodeIndex dcm : actions.touched) {
    WEIR_ASSERT(dcm.value < actions.dcms.size());
    for (const assignment::Assignment& one : actions.dcms[dcm.value].assign) {
      if (one.attempt.value == 0) continue;
      pass.add_assigned(one.slice.value);
      pass.add_assigned_attempt(one.attempt.value);
      pass.add_kills(one.kills);
      pass.add_losses(one.losses);
      pass.add_suspect(one.suspect);
    }
    put_confirmed(actions.dcms[dcm.value].confirm, pass);
  }
  std::string& outcomes = *pass.mutable_outcome();
  std::string& reasons = *pass.mutable_reason();
  for (const assignment::Cleared& one : actions.cleared) {
    if (planted(Planted::forget_journal) && one.slice.value % 8 == 1) continue;
    pass.add_settled(one.slice.value);
    slice_codec::add(outcomes, static_cast<int>(one.outcome));
    slice_codec::add(reasons, static_cast<int>(one.reason));
    pass.add_settled_writer(one.outcome == slice_rows::Outcome::stored ? one.writer.value : 0);
    pass.add_incomplete(one.incomplete);
    if (has_alerts_)
      pass.add_settled_kept_by(one.kept_by == slice_rows::kNoNode ? 0 : std::uint32_t{one.kept_by.value} + 1);
  }
  WEIR_ASSERT(outcomes.size() == static_cast<std::size_t>(pass.settled_size()) &&
              outcomes.size() == reasons.size());
  WEIR_ASSERT(pass.reopened_size() == pass.reopened_refusals_size() &&
              pass.confirmed_size() == pass.writer_size());
  slice_codec::leave_out_zeros(*pass.mutable_type());
  for (auto* column :
       {pass.mutable_kills(), pass.mutable_losses(), pass.mutable_confirmed_attempt(), pass.mutable_epoch(),
        pass.mutable_writer(), pass.mutable_settled_writer(), pass.mutable_reopened_kills(),
        pass.mutable_reopened_losses(), pass.mutable_reopened_refusals(), pass.mutable_settled_kept_by()})
    slice_codec::leave_out_zeros(*column);
  slice_codec::leave_out_zeros(outcomes);
  slice_codec::leave_out_zeros(reasons);
  for (auto* column : {pass.mutable_suspect(), pass.mutable_confirmed_incomplete(), pass.mutable_incomplete(),
                       pass.mutable_reopened_suspect()})
    slice_codec::leave_out_zeros(*column);
  put_counts(ledger, numbers, *pass.mutable_counts());
  append(pass_entry_);
}

void Journal::write_join(Role role, NodeIndex index, const Joined& joined) {
  v1::JournalEntry entry;
  put_join(static_cast<v1::Role>(role), index.value, joined, *entry.mutable_join());
  append(entry);
}

void Journal::write_report(const v1::Report& report) {
  v1::JournalEntry entry;
  *entry.mutable_report() = report;
  append(entry);
}

void Journal::write_stop(const std::string& reason, DurationNs running_ns) {
  v1::JournalEntry entry;
  entry.set_stop(reason);
  entry.set_running_ns(running_ns);
  append(entry);
}

void Journal::write_reporting() {
  v1::JournalEntry entry;
  entry.set_reporting(true);
  append(entry);
}

FaultTexts::FaultTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  for (std::size_t i = 0; i < texts_.size(); ++i) places_[texts_[i]] = i;
}

// Returns the place of the last fault that this one continues, or the end.
std::size_t FaultTexts::begun(const std::string& fault) const {
  constexpr std::string_view kLasted = " for ";
  std::size_t last = texts_.size();
  for (std::size_t at = fault.find(kLasted); at != fault.npos; at = fault.find(kLasted, at + 1)) {
    const auto place = places_.find(fault.substr(0, at));
    if (place != places_.end() && (last == texts_.size() || place->second > last)) last = place->second;
  }
  return last;
}

void FaultTexts::add(const std::string& fault) {
  const std::size_t place = begun(fault);
  if (place == texts_.size()) {
    texts_.push_back(fault);
  } else {
    places_.erase(texts_[place]);
    texts_[place] = fault;
  }
  places_[fault] = place;
}

void Journal::write_fault(const std::string& fault) {
  v1::JournalEntry entry;
  entry.set_fault(fault);
  append(entry);
}

void Journal::write_shape(const assignment::FarmShape& shape, UtcNs utc_ns) {
  v1::JournalEntry entry;
  put_shape(shape, utc_ns, *entry.mutable_farm());
  append(entry);
}

void Journal::write_lost_times(const assignment::LostTimes& times) {
  v1::JournalEntry entry;
  put_lost_times(times, *entry.mutable_lost_times());
  append(entry);
}

void Journal::write_alert(const burst::Alert& alert, const std::string& by,
                          std::optional<UtcNs> filter_from) {
  v1::JournalEntry entry;
  v1::JournalAlertOpened& opened = *entry.mutable_alert_opened();
  put(alert, *opened.mutable_alert());
  opened.set_by(by);
  if (filter_from) opened.set_filter_from_ns(*filter_from);
  append(entry);
}

void Journal::write_alert_account(NodeIndex dcm, std::uint32_t number, const burst::Account& account) {
  v1::JournalEntry entry;
  v1::JournalAlertAccount& told = *entry.mutable_alert_account();
  told.set_dcm(dcm.value);
  told.mutable_account()->mutable_alert()->set_number(number);
  put(account, *told.mutable_account());
  append(entry);
}

void Journal::write_alert_end(const burst::AlertAccount& account) {
  v1::JournalEntry entry;
  put(account, *entry.mutable_alert_account()->mutable_account());
  append(entry);
}

void Journal::write_alerts_refused(std::uint64_t refused) {
  v1::JournalEntry entry;
  entry.set_alerts_refused(refused);
  append(entry);
}

void Journal::remove() {
  if (store_ != nullptr) std::exchange(store_, nullptr)->remove();
}

void Journal::frame(const v1::JournalEntry& entry) {
  const std::size_t length = entry.ByteSizeLong();
  const std::size_t at = frame_.size();
  frame_.resize(at + kJournalHead + length);
  std::byte* const head = frame_.data() + at;
  (void)entry.SerializeToArray(head + kJournalHead, static_cast<int>(length));
  store_le(head, static_cast<std::uint32_t>(length));
  store_le(head + sizeof(std::uint32_t), crc32c({head + kJournalHead, length}));
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
  if (lost_) return;
  const bool waited = std::exchange(waits_, store_->no_room());
  if (!waited || !waits_) failure_ = why;
  if (waits_) return;
  lost_ = true;
  store_->abandon();
}

void Journal::give_up_waiting() {
  if (!std::exchange(waits_, false)) return;
  lost_ = true;
  store_->abandon();
}

}  // namespace weir::supervisor