#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {

// A tick that finds more due than this leaves the rest to the next one, so that answers are not kept waiting.
constexpr std::uint32_t kOffersPerTickMax = 65536;

constexpr std::size_t index_of(VetoReason reason) { return static_cast<std::size_t>(reason); }

}  // namespace

void SupervisorMachine::make_triggers(const Now& now, Actions& out) {
  if (clock_.phase() != RunPhase::triggering) return;
  if (clock_.triggered_long_enough(now.mono)) return clock_.end_triggers();
  const std::uint64_t skipped = source_->skip_overdue(now);
  ledger_.offered += skipped;
  ledger_.vetoed[index_of(VetoReason::stalled)] += skipped;

  TriggerOffer trigger;
  for (std::uint32_t made = 0; made < kOffersPerTickMax && !clock_.triggers_done(); ++made) {
    const auto id = next_id();
    if (!id) return clock_.end_triggers();
    if (waits_for_room_ && !has_room(*id, now.mono, out)) break;
    if (!source_->next(now, trigger)) break;
    // The source would offer the same id from now on.
    if (admit(trigger, now.mono, out).reason == VetoReason::bad_id) clock_.end_triggers();
  }
  if (source_->exhausted()) clock_.end_triggers();
}

OfferResult SupervisorMachine::offer(const TriggerOffer& trigger, const Now& now, Actions& out) {
  if (!clock_.started() || !source_->open()) {
    ++ledger_.offered;
    ++ledger_.vetoed[index_of(VetoReason::closed)];
    return {false, {}, VetoReason::closed};
  }
  TriggerOffer stamped = trigger;
  if (stamped.info.time == 0) stamped.info.time = now.utc;
  const OfferResult result = admit(stamped, now.mono, out);
  if (result.reason == VetoReason::bad_id && ids_used_up()) clock_.end_triggers();
  return result;
}

std::optional<SliceId> SupervisorMachine::next_id() const {
  return settings_.recorded ? settings_.recorded->next(ids_.next()) : ids_.next();
}

std::optional<UtcNs> SupervisorMachine::trigger_time(UtcNs utc) const {
  if (!settings_.recorded) return utc;
  if (ledger_.triggered.count == 0) return std::nullopt;
  return settings_.recorded->of(SliceId(ids_.next().value - 1)).info.time;
}

TriggerOffer SupervisorMachine::as_recorded(const TriggerOffer& offer) const {
  if (!settings_.recorded || offer.slice) return offer;
  const auto slice = next_id();
  WEIR_ASSERT(slice);
  const RecordedTrigger& recorded = settings_.recorded->of(*slice);
  return {slice, recorded.info, recorded.payload};
}

OfferResult SupervisorMachine::admit(const TriggerOffer& offered, TimeNs now, Actions& out) {
  const TriggerOffer trigger = as_recorded(offered);
  ++ledger_.offered;
  VetoReason reason = veto(trigger, now, out);
  const SliceId slice = trigger.slice.value_or(ids_.next());
  if (reason == VetoReason::none) reason = ids_.veto(slice);
  const bool ascend = settings_.push || settings_.ids_ascend;
  if (reason == VetoReason::none && ascend && slice < ids_.next()) reason = VetoReason::not_ascending;
  if (reason != VetoReason::none) {
    ++ledger_.vetoed[index_of(reason)];
    return {false, {}, reason};
  }
  SliceEntry* entry = book_.insert(slice, trigger.info, trigger.payload);
  WEIR_ASSERT(entry != nullptr);  // every id in the book was given
  entry->order = next_order();
  ids_.give(slice);
  ledger_.triggered.add(slice);
  groups_.first().waiting.add(slice, entry->order);
  WEIR_ASSERT(out.payload.size() + trigger.payload.size() <= UINT32_MAX);
  out.announce.push_back({slice, entry->order, trigger.info, static_cast<std::uint32_t>(out.payload.size()),
                          static_cast<std::uint32_t>(trigger.payload.size())});
  out.payload.insert(out.payload.end(), trigger.payload.begin(), trigger.payload.end());
  if (settings_.push) assign_pending(now, out);  // takes the credit that the next trigger is judged by
  if (settings_.slices_max > 0 && ledger_.triggered.count >= settings_.slices_max) clock_.end_triggers();
  return {true, slice, VetoReason::none};
}

VetoReason SupervisorMachine::veto(const TriggerOffer& trigger, TimeNs now, Actions& out) {
  if (clock_.triggers_done()) return VetoReason::draining;
  if (clock_.paused()) return VetoReason::paused;
  if (throttled() || !pressure_.is_open(pending_level(), now)) return VetoReason::throttled;
  if (!ids_.is_good(trigger.slice)) return VetoReason::bad_id;
  if (trigger.payload.size() > settings_.payload_max) return VetoReason::too_large;
  if (book_.live() >= settings_.in_flight_max) return VetoReason::in_flight;
  if (!has_room(trigger.slice.value_or(ids_.next()), now, out)) return VetoReason::busy_pending;
  if (book_.payload_bytes() + trigger.payload.size() > settings_.payload_bytes_max) {
    return VetoReason::busy_pending;
  }
  if (!has_forward_room(trigger.payload.size())) return VetoReason::busy_pending;
  return VetoReason::none;
}

bool SupervisorMachine::has_room(SliceId slice, TimeNs now, Actions& out) {
  if (clock_.paused() || throttled() || book_.live() >= settings_.in_flight_max) return false;
  if (waits_for_room_ && !pressure_.is_open(pending_level(), now)) return false;
  DcmGroup& first = groups_.first();
  if (first.placement.is_full(slice, dcms_) || !has_forward_room(0)) return false;
  if (first.waiting.pending() < settings_.pending_max) return true;
  // No slice can be assigned until a credit is returned: skip the search for every trigger that is due.
  if (first.waiting.is_stuck()) return false;
  assign_pending(now, out);
  return first.waiting.pending() < settings_.pending_max;
}

void SupervisorMachine::throttle(Role role, NodeIndex node, bool on, std::string_view reason, double level) {
  if (!is_live({role, node})) {
    ++ledger_.strangers;
    return;
  }
  pressure_.say({role, node}, on, level, reason);
  if (role == Role::writer) writers().set_full(node, on);
  pressure_.renew(parts_, writers());
}

double SupervisorMachine::level_of_pending() const {
  if (waits_for_room_) return group_level();
  const std::size_t pending = groups_.first().waiting.pending();
  const double level = static_cast<double>(pending) / static_cast<double>(settings_.pending_max);
  return groups_.split() ? std::max(level, group_level()) : level;
}

std::vector<HoldUp> SupervisorMachine::throttled_by() const {
  std::vector<HoldUp> held_up;
  if (clock_.paused()) held_up.push_back({std::string(name(HoldReason::run_paused)), std::nullopt, 1});
  const std::vector<HoldUp> stopped = pressure_.stopped_by(parts_, writers());
  held_up.insert(held_up.end(), stopped.begin(), stopped.end());
  const HoldUp full{std::string(name(HoldReason::group_full)), std::nullopt, 1,
                    groups_.fullest(settings_.pending_max)};
  if (is_group_full()) held_up.push_back(full);
  if (!held_up.empty()) return held_up;
  auto slowed = pressure_.slowed_by(pending_level());
  if (!slowed) return held_up;
  held_up.push_back(std::move(*slowed));
  const bool by_group = held_up.back().reason == name(HoldReason::slices_pending) && group_level() > 0 &&
                        group_level() >= pending_level();
  if (by_group) {
    held_up.back().reason = full.reason;
    held_up.back().group = full.group;
  }
  return held_up;
}

}  // namespace weir::assignment
