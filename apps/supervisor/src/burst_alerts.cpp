#include "burst_alerts.hpp"

#include <weir/base/text.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace weir::supervisor {
namespace {

constexpr std::size_t kReasonMax = 100;    // bytes
constexpr UtcNs kTimeMax = INT64_MAX / 4;  // differences of messages' times do not overflow
constexpr DurationNs kLookEvery = 20 * kMillisecond;
constexpr std::int64_t kWindowMsMax = 10LL * 24 * 3600 * 1000;

SliceSum slices_of(const v1::SliceSum& sum) { return {sum.count(), sum.hash_sum()}; }

void set(v1::SliceSum& out, const SliceSum& sum) {
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}

void set(v1::BurstAlert& out, const burst::Alert& alert) {
  out.set_number(alert.number);
  out.set_from_ns(alert.from);
  out.set_until_ns(alert.until);
}

}  // namespace

BurstAlerts::BurstAlerts(const node::Setup& setup, Roster& roster) : setup_(setup), roster_(roster) {
  const auto dcms = setup.plan.of_role(Role::dcm);
  const bool is_on = setup.farm.burst().buffer_bytes() > 0;
  if (is_on) book_ = std::make_unique<burst::AlertBook>(dcms.size());
}

void BurstAlerts::note(const assignment::Actions& actions) {
  if (!book_) return;
  for (const assignment::Announcement& one : actions.announce) book_->announced(one.info.time);
  for (const assignment::Cleared& one : actions.cleared) {
    const bool kept = one.kept_by != assignment::kNoNode;
    book_->settled(one.slice, one.time, kept ? std::optional(one.kept_by) : std::nullopt);
  }
}

void BurstAlerts::ask(std::int64_t before_ms, std::int64_t after_ms, const std::string& reason, UtcNs now) {
  if (before_ms == 0 && after_ms == 0) {
    before_ms = static_cast<std::int64_t>(setup_.farm.burst().before_s() * 1e3);
    after_ms = static_cast<std::int64_t>(setup_.farm.burst().after_s() * 1e3);
  }
  const UtcNs from = now - std::clamp(before_ms, -kWindowMsMax, kWindowMsMax) * kMillisecond;
  const UtcNs until = now + std::clamp(after_ms, -kWindowMsMax, kWindowMsMax) * kMillisecond;
  open(from, until, reason);
}

void BurstAlerts::open(UtcNs from, UtcNs until, const std::string& by) {
  std::string error = "burst.buffer_bytes is 0: this farm keeps nothing for alerts";
  std::optional<burst::Alert> alert;
  if (book_) {
    error.clear();
    alert = book_->ask(from, until, by, error);
  }
  if (!alert) {
    ++refused_;
    return spdlog::warn("burst alert refused reason=\"{}\" by=\"{}\"", error, by);
  }
  spdlog::info("burst alert number={} window_ms={} asked={} by=\"{}\"", alert->number,
               (alert->until - alert->from) / kMillisecond, book_->alerts().at(alert->number).asked.count,
               by);
  progress_ns_ = 0;
  send(*alert, false);
}

void BurstAlerts::ask_for_filter(const RosterMember& dcm, const v1::BurstAccount& wish) {
  const UtcNs from = std::clamp(UtcNs{wish.alert().from_ns()}, -kTimeMax, kTimeMax);
  const UtcNs until = std::clamp(UtcNs{wish.alert().until_ns()}, -kTimeMax, kTimeMax);
  const double apart_s = setup_.farm.burst().filter_alert_s();
  const auto apart = static_cast<DurationNs>(apart_s * static_cast<double>(kSecond));
  const bool soon = filter_alert_from_ && std::abs(from - *filter_alert_from_) < apart;
  if (soon || !book_) {
    ++refused_;  // without a log line: a filter may give an alert with each slice
    return;
  }
  filter_alert_from_ = from;
  const std::string reason = wish.reason().empty() ? "" : ": " + clean_text(wish.reason(), kReasonMax);
  open(from, until, "filter of " + dcm.name + reason);
}

void BurstAlerts::send(const burst::Alert& alert, bool ended) const {
  v1::Control message;
  set(*message.mutable_burst_alert(), alert);
  message.mutable_burst_alert()->set_ended(ended);
  for (const RosterMember& member : roster_.members()) {
    const bool takes = member.role == Role::dcm || (ended && member.role == Role::writer);
    if (takes && member.peer != nullptr && member.peer->ready()) member.peer->send(message);
  }
}

void BurstAlerts::told(const RosterMember& dcm, const v1::BurstAccount& account) {
  const v1::BurstAlert& alert = account.alert();
  if (alert.number() == 0) return ask_for_filter(dcm, account);
  if (!book_) return;
  if (!book_->alerts().contains(alert.number()))
    book_->adopt({alert.number(), alert.from_ns(), alert.until_ns()});
  burst::Account told;
  told.saved = slices_of(account.saved());
  told.too_old = slices_of(account.too_old());
  told.no_room = slices_of(account.no_room());
  told.disk_slow = slices_of(account.disk_slow());
  told.disk_failed = slices_of(account.disk_failed());
  told.refused = slices_of(account.refused());
  told.waiting = slices_of(account.waiting());
  book_->told(dcm.index, alert.number(), told);
}

void BurstAlerts::dcm_joined(const RosterMember& dcm, bool same_process) {
  if (!book_) return;
  book_->dcm_joined(dcm.index, same_process);
  for (const burst::Alert& alert : book_->open_alerts()) {
    v1::Control message;
    set(*message.mutable_burst_alert(), alert);
    dcm.peer->send(message);
  }
}

void BurstAlerts::dcm_left(const RosterMember& dcm, TimeNs now) {
  if (book_) book_->dcm_left(dcm.index, now);
}

SliceSum BurstAlerts::saved() const {
  SliceSum sum;
  for (const auto& [number, account] : book_->alerts()) sum += account.told.saved;
  return sum;
}

bool BurstAlerts::look(UtcNs utc, TimeNs now, bool at_end, bool no_longer) {
  if (!book_ || !book_->is_open()) return true;
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + kLookEvery;
  const std::uint64_t saved_now = saved().count;
  if (progress_ns_ == 0 || !at_end || saved_now != saved_) progress_ns_ = now;
  saved_ = saved_now;
  const bool in_vain = at_end && now - progress_ns_ > kPatience;
  end_alerts(utc, now, at_end, no_longer || in_vain);
  return !book_->is_open();
}

void BurstAlerts::end_alerts(UtcNs utc, TimeNs now, bool at_end, bool no_longer) {
  for (const std::uint32_t number : book_->take_ended(utc, now, at_end, no_longer)) {
    const burst::AlertAccount& account = book_->alerts().at(number);
    spdlog::info(
        "burst alert saved number={} asked={} saved={} too_old={} no_room={} disk_slow={} disk_failed={} "
        "refused={} lost={}",
        number, account.asked.count, account.told.saved.count, account.told.too_old.count,
        account.told.no_room.count, account.told.disk_slow.count, account.told.disk_failed.count,
        account.told.refused.count, account.lost);
    send(account.alert, true);
  }
}

void BurstAlerts::add_to(v1::Report& report) const {
  if (!book_) return;
  reports::ReportCounters counters(report);
  counters["burst.alerts"] = book_->alerts().size();
  counters["burst.alerts_refused"] = refused_;
  std::uint64_t lost = 0;
  burst::Account sum;
  SliceSum asked;
  for (const auto& [number, account] : book_->alerts()) {
    asked += account.asked;
    sum += account.told;
    lost += account.lost;
  }
  counters["burst.asked"] = asked.count;
  counters["burst.saved"] = saved().count;
  counters.of("burst.not_saved.", "too_old") = sum.too_old.count;
  counters.of("burst.not_saved.", "no_room") = sum.no_room.count;
  counters.of("burst.not_saved.", "disk_slow") = sum.disk_slow.count;
  counters.of("burst.not_saved.", "disk_failed") = sum.disk_failed.count;
  counters.of("burst.not_saved.", "refused") = sum.refused.count;
  counters.of("burst.not_saved.", "lost") = lost;
}

void BurstAlerts::add_to(v1::RunSummary& summary) const {
  if (!book_) return;
  for (const auto& [number, account] : book_->alerts()) {
    v1::BurstAccount& out = *summary.add_bursts();
    set(*out.mutable_alert(), account.alert);
    out.mutable_alert()->set_ended(account.ended);
    set(*out.mutable_asked(), account.asked);
    set(*out.mutable_not_kept(), account.not_kept);
    set(*out.mutable_saved(), account.told.saved);
    set(*out.mutable_too_old(), account.told.too_old);
    set(*out.mutable_no_room(), account.told.no_room);
    set(*out.mutable_disk_slow(), account.told.disk_slow);
    set(*out.mutable_disk_failed(), account.told.disk_failed);
    set(*out.mutable_refused(), account.told.refused);
    set(*out.mutable_waiting(), account.told.waiting);
    out.set_lost(account.lost);
    out.set_reason(account.reason);
  }
}

std::vector<assignment::Equation> BurstAlerts::equations(bool undisturbed, std::uint64_t reopened) const {
  std::vector<assignment::Equation> equations;
  if (!book_ || book_->alerts().empty()) return equations;
  SliceSum asked;
  SliceSum all;
  std::uint64_t lost = 0;
  for (const auto& [number, account] : book_->alerts()) {
    asked += account.asked;
    all += account.told.all();
    lost += account.lost;
  }
  using Relation = assignment::Equation::Relation;
  const bool exact = undisturbed && book_->is_exact();
  assignment::Equation fates{"bursts: asked = saved + too_old + no_room + disk + refused",
                             {asked, true},
                             {all, true},
                             exact ? Relation::equal : Relation::at_most,
                             false,
                             lost == 0 ? "" : fmt::format("{} lost with their process", lost)};
  fates.ok = exact ? asked == all : asked.count <= all.count + lost;
  if (!exact && fates.note.empty()) fates.note = "a process was lost, or slices were built again";
  equations.push_back(fates);
  SliceSum live;
  bool writers_final = true;
  for (const RosterMember& member : roster_.members()) {
    if (member.role != Role::writer) continue;
    writers_final = writers_final && member.has_report && member.report.final();
    live += reports::sum_of(member.report, "burst_live");
  }
  const SliceSum saved_by_dcms = saved();
  const bool same = exact && writers_final;
  assignment::Equation disk{"bursts: saved = live on disk",
                            {saved_by_dcms, true},
                            {live, true},
                            same ? Relation::equal : Relation::at_most,
                            false,
                            same ? "" : "a process was lost, or slices were built again"};
  const std::uint64_t accounted = all.count + lost;
  const std::uint64_t surplus = accounted - std::min(accounted, asked.count);  // in two rings
  // A rebuilt slice enters a ring again, and each alert may save it there once more; writers store it once.
  const std::uint64_t again = std::max(surplus, reopened * book_->alerts().size());
  disk.ok = same ? saved_by_dcms == live : !writers_final || saved_by_dcms.count <= live.count + again;
  equations.push_back(disk);
  return equations;
}

std::vector<std::string> BurstAlerts::faults() const {
  std::vector<std::string> texts;
  if (!book_) return texts;
  for (const auto& [number, account] : book_->alerts()) {
    const std::uint64_t refused = account.told.refused.count;
    const std::uint64_t disk = account.told.disk_slow.count + account.told.disk_failed.count;
    const std::uint64_t all = account.lost + refused + disk;
    if (all == 0) continue;
    std::string text = fmt::format(
        "burst {}: {} of {} slices not saved: {} lost with their process, {} refused "
        "by writers",
        number, all, account.asked.count, account.lost, refused);
    if (disk > 0) text += fmt::format(", {} not taken or not returned by the rings' disks", disk);
    texts.push_back(text);
  }
  return texts;
}

}  // namespace weir::supervisor
