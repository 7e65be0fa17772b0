// Triggers from outside: as messages of the wire format, and as lines of text.
#include "supervisor_node.hpp"
#include <weir/node/refused.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/slice_codec/announce.hpp>
#include <weir/slice_codec/bad_row.hpp>
#include <weir/slice_codec/columns.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr std::size_t kVetoedMax = 1U << 20U;  // numbers that wait for the journal

}  // namespace

slice_rows::OfferResult SupervisorNode::offer(const assignment::TriggerOffer& trigger) {
  const bool waits = wait_for_nodes_until_ns_ != 0;
  if (course_.is(RunStage::gathering) || waits) return {};
  if (!course_.is(RunStage::running)) return {false, {}, slice_rows::VetoReason::draining};
  return machine_.offer(trigger, now(), actions_);
}

void SupervisorNode::take_triggers(sessions::Peer& peer, const v1::TriggerOffer& offers) {
  v1::Control answer;
  for (const v1::TriggerOffer::One& one : offers.triggers()) {
    assignment::TriggerOffer trigger;
    if (one.has_slice()) trigger.slice = SliceId(one.slice());
    trigger.info.time = one.time_ns();
    trigger.info.type = TriggerType(one.type());
    trigger.payload =
        ConstBytes(reinterpret_cast<const std::byte*>(one.payload().data()), one.payload().size());
    const slice_rows::OfferResult result = offer(trigger);
    v1::TriggerAnswer::One& out = *answer.mutable_trigger_answer()->add_answers();
    out.set_taken(result.taken);
    out.set_slice(result.slice.value);
    if (!result.taken) out.set_busy(std::string(slice_rows::busy_name(result)));
  }
  answers_.add(peer, std::move(answer));
}

Expected<void, wire::WireError> SupervisorNode::take_seen(const RosterMember& readout, const v1::Seen& seen) {
  slice_codec::Columns columns("Seen", seen.slice_size());
  columns.fits("time_ns", seen.time_ns());
  if (columns.are_bad()) return node::refused(columns.refusal().value());
  for (int i = 0; i < seen.slice_size(); ++i) {
    if (seen.slice(i) > numbering::kNumberMax.value)
      return node::refused({"Seen", "slice", static_cast<std::size_t>(i)});
  }
  // A readout that was removed from the run has no say.
  if (machine_.part({Role::readout, readout.index}) != slice_rows::Part::in) return {};
  v1::Control vetoed;
  for (int i = 0; i < seen.slice_size(); ++i) {
    const SliceId number(seen.slice(i));
    numbers_->seen(readout.index.value, number, slice_codec::at_or_zero(seen.time_ns(), i), now_ns_);
    // The readout was not connected when the number was vetoed, or another supervisor process did it.
    if (numbers_->was_offered(number) && !machine_.has_given(number))
      vetoed.mutable_clear()->add_slice(number.value);
  }
  if (vetoed.has_clear() && !journal_.waits()) readout.peer->send(vetoed);
  return {};
}

void SupervisorNode::offer_numbers() {
  if (!numbers_ || !course_.is(RunStage::running)) return;
  while (const auto due = numbers_->next(now_ns_)) {
    assignment::TriggerOffer trigger;
    trigger.slice = due->number;
    trigger.info.time = due->time;
    trigger.info.type = settings_.type;
    if (!machine_.offer(trigger, now(), actions_).taken) vetoed_numbers_.push_back(due->number);
  }
  // Readouts that are not told drop their fragments as late.
  while (vetoed_numbers_.size() > kVetoedMax) vetoed_numbers_.pop_front();
}

// Before the slices above them are announced. The journal has the slices below: readouts need not report
// those again.
void SupervisorNode::clear_vetoed_numbers() {
  while (!vetoed_numbers_.empty()) {
    v1::Control message;
    v1::ClearSlices& clear = *message.mutable_clear();
    while (clear.slice_size() < slice_codec::kRowsMax && !vetoed_numbers_.empty()) {
      clear.add_slice(vetoed_numbers_.front().value);
      vetoed_numbers_.pop_front();
    }
    for (const RosterMember& member : roster_.members()) {
      if (member.role == Role::readout && member.peer != nullptr) member.peer->send(message);
    }
  }
}

// Before the run begins the whole memory goes into the journal's first state.
void SupervisorNode::note_answer(const assignment::NumberedAnswer& answer) {
  if (course_.is_on()) actions_.answered.push_back(answer);
}

std::string SupervisorNode::listen_for_triggers() {
  std::string at;
  if (settings_.trigger_listen) {
    const auto opened = trigger_listener_.open(environment_.network, *settings_.trigger_listen);
    if (!opened) throw std::runtime_error("trigger.listen: " + opened.error());
    triggers_at_ = *opened;
    at = " triggers=" + ports::to_text(*opened);
  }
  if (settings_.text_listen) {
    const auto opened =
        text_triggers_.open(environment_.network, environment_.datagrams, *settings_.text_listen);
    if (!opened) throw std::runtime_error("trigger.listen_text: " + opened.error());
    text_triggers_at_ = *opened;
    at += " text_triggers=" + ports::to_text(*opened);
  }
  return at;
}

}  // namespace weir::supervisor
