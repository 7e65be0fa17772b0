#include "run_alerts.hpp"

#include "journal_format.hpp"
#include <weir/slice_codec/columns.hpp>

#include <string>
#include <utility>

namespace weir::supervisor {
namespace {

using Times = burst::AlertBookState::Times;

void put(const Times& times, v1::JournalAlerts::Times& out) {
  std::int64_t last = 0;
  for (const auto& [quantum, sum] : times) {
    out.add_step(quantum - std::exchange(last, quantum));
    out.add_count(sum.count);
    out.add_hash_sum(sum.hash_sum);
  }
}

Times times_of(const v1::JournalAlerts::Times& from) {
  Times times;
  std::int64_t quantum = 0;
  for (int i = 0; i < from.step_size(); ++i) {
    quantum += from.step(i);
    times.emplace_hint(
        times.end(), quantum,
        SliceSum{slice_codec::at_or_zero(from.count(), i), slice_codec::at_or_zero(from.hash_sum(), i)});
  }
  return times;
}

}  // namespace

void put(const burst::Alert& alert, v1::BurstAlert& out) {
  out.set_number(alert.number);
  out.set_from_ns(alert.from);
  out.set_until_ns(alert.until);
}

void put(const burst::Account& account, v1::BurstAccount& out) {
  put_sum(account.saved, *out.mutable_saved());
  put_sum(account.too_old, *out.mutable_too_old());
  put_sum(account.no_room, *out.mutable_no_room());
  put_sum(account.disk_slow, *out.mutable_disk_slow());
  put_sum(account.disk_failed, *out.mutable_disk_failed());
  put_sum(account.refused, *out.mutable_refused());
  put_sum(account.waiting, *out.mutable_waiting());
}

void put(const burst::AlertAccount& account, v1::BurstAccount& out) {
  put(account.alert, *out.mutable_alert());
  out.mutable_alert()->set_ended(account.ended);
  put_sum(account.asked, *out.mutable_asked());
  put_sum(account.not_kept, *out.mutable_not_kept());
  put(account.told, out);
  out.set_lost(account.lost);
  out.set_reason(account.reason);
}

burst::Alert alert_of(const v1::BurstAlert& from) { return {from.number(), from.from_ns(), from.until_ns()}; }

burst::Account fates_of(const v1::BurstAccount& from) {
  burst::Account account;
  account.saved = sum_of(from.saved());
  account.too_old = sum_of(from.too_old());
  account.no_room = sum_of(from.no_room());
  account.disk_slow = sum_of(from.disk_slow());
  account.disk_failed = sum_of(from.disk_failed());
  account.refused = sum_of(from.refused());
  account.waiting = sum_of(from.waiting());
  return account;
}

burst::AlertAccount account_of(const v1::BurstAccount& from) {
  burst::AlertAccount account;
  account.alert = alert_of(from.alert());
  account.reason = from.reason();
  account.ended = from.alert().ended();
  account.asked = sum_of(from.asked());
  account.not_kept = sum_of(from.not_kept());
  account.told = fates_of(from);
  account.lost = from.lost();
  return account;
}

void put(const RunAlerts& alerts, v1::JournalAlerts& out) {
  const burst::AlertBookState& state = alerts.book.state();
  for (const Times& times : state.kept) put(times, *out.add_kept());
  put(state.not_kept, *out.mutable_not_kept());
  put(state.lost, *out.mutable_lost());
  out.set_floor(state.floor);
  for (const auto& [number, account] : state.accounts) {
    v1::JournalAlerts::One& one = *out.add_alerts();
    put(account, *one.mutable_account());
    const auto parts = state.parts.find(number);
    if (parts == state.parts.end()) continue;
    for (const burst::AlertBookState::Part& part : parts->second) {
      v1::JournalAlerts::Part& to = *one.add_parts();
      put_sum(part.asked, *to.mutable_asked());
      put(part.told, *to.mutable_told());
      put(part.earlier, *to.mutable_earlier());
    }
  }
  out.set_refused(alerts.refused);
  if (alerts.filter_alert_from) out.set_filter_from_ns(*alerts.filter_alert_from);
}

RunAlerts alerts_of(const v1::JournalAlerts& from) {
  burst::AlertBookState state;
  for (const v1::JournalAlerts::Times& times : from.kept()) state.kept.push_back(times_of(times));
  state.not_kept = times_of(from.not_kept());
  state.lost = times_of(from.lost());
  state.floor = from.floor();
  for (const v1::JournalAlerts::One& one : from.alerts()) {
    const std::uint32_t number = one.account().alert().number();
    state.accounts[number] = account_of(one.account());
    if (state.accounts[number].ended) continue;
    auto& parts = state.parts[number];
    parts.resize(state.kept.size());
    for (int i = 0; i < one.parts_size() && i < static_cast<int>(parts.size()); ++i) {
      parts[static_cast<std::size_t>(i)] = {sum_of(one.parts(i).asked()), fates_of(one.parts(i).told()),
                                            fates_of(one.parts(i).earlier())};
    }
  }
  std::optional<UtcNs> filter_alert_from;
  if (from.has_filter_from_ns()) filter_alert_from = from.filter_from_ns();
  return {burst::AlertBook(std::move(state), 0), from.refused(), filter_alert_from};
}

// The same counts give the same alert.
void open_alert(const v1::JournalAlertOpened& entry, RunAlerts& alerts) {
  std::string error;
  (void)alerts.book.ask(entry.alert().from_ns(), entry.alert().until_ns(), entry.by(), error);
  if (entry.has_filter_from_ns()) alerts.filter_alert_from = entry.filter_from_ns();
}

void take_account(const v1::JournalAlertAccount& entry, RunAlerts& alerts) {
  const std::uint32_t number = entry.account().alert().number();
  if (entry.account().alert().ended()) {
    alerts.book.end(number, account_of(entry.account()));
  } else {
    alerts.book.told(NodeIndex(static_cast<std::uint16_t>(entry.dcm())), number, fates_of(entry.account()));
  }
}

}  // namespace weir::supervisor
