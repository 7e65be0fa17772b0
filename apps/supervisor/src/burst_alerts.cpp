#include "burst_alerts.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr std::size_t kReasonMax = 100;    // bytes
constexpr UtcNs kTimeMax = INT64_MAX / 4;  // differences of messages' times do not overflow
constexpr DurationNs kLookEvery = 20 * kMillisecond;
constexpr std::int64_t kWindowMsMax = 10LL * 24 * 3600 * 1000;

}  // namespace

BurstAlerts::BurstAlerts(const BurstAlertSettings& settings, Roster& roster, Journal& journal)
    : settings_(settings), roster_(roster), journal_(journal) {
  if (settings_.buffer_bytes > 0) run_.emplace(RunAlerts{burst::AlertBook(settings_.dcms)});
}

void BurstAlerts::resume(RunAlerts alerts, TimeNs now) {
  const burst::AlertBookState& state = alerts.book.state();
  if (!run_ || state.kept.size() != run_->book.state().kept.size())
    throw std::runtime_error("the run's journal has alerts of " + std::to_string(state.kept.size()) +
                             " DCMs: resume with the farm file that the run was begun with");
  alerts.book = burst::AlertBook(state, now);
  run_ = std::move(alerts);
  refused_written_ = run_->refused;
}

void BurstAlerts::note(const assignment::Actions& actions) {
  if (!run_) return;
  WEIR_ASSERT(announced_noted_ <= actions.announce.size() && cleared_noted_ <= actions.cleared.size());
  for (; announced_noted_ < actions.announce.size(); ++announced_noted_)
    run_->book.announced(actions.announce[announced_noted_].info.time);
  for (; cleared_noted_ < actions.cleared.size(); ++cleared_noted_) {
    const assignment::Cleared& one = actions.cleared[cleared_noted_];
    const bool kept = one.kept_by != slice_rows::kNoNode;
    run_->book.settled(one.slice, one.time, kept ? std::optional(one.kept_by) : std::nullopt);
  }
}

void BurstAlerts::send() {
  if (!run_) return;
  if (std::exchange(refused_written_, run_->refused) != run_->refused)
    journal_.write_alerts_refused(run_->refused);
  for (const std::uint32_t number : to_send_) {
    const burst::AlertAccount& account = run_->book.alerts().at(number);
    const v1::Control message = message_of(account);
    for (const RosterMember& member : roster_.members()) {
      const bool takes = member.role == Role::dcm || (account.ended && member.role == Role::writer);
      if (takes && member.peer != nullptr && member.peer->ready()) member.peer->send(message);
    }
  }
  to_send_.clear();
}

void BurstAlerts::ask(std::int64_t before_ms, std::int64_t after_ms, const std::string& reason,
                      std::optional<UtcNs> now) {
  if (run_ && !now) return refuse("the replay has no slice yet, so that its time is unknown", reason);
  if (before_ms == 0 && after_ms == 0) {
    before_ms = settings_.before_ms;
    after_ms = settings_.after_ms;
  }
  const UtcNs from = now.value_or(0) - std::clamp(before_ms, -kWindowMsMax, kWindowMsMax) * kMillisecond;
  const UtcNs until = now.value_or(0) + std::clamp(after_ms, -kWindowMsMax, kWindowMsMax) * kMillisecond;
  open(from, until, reason);
}

void BurstAlerts::open(UtcNs from, UtcNs until, const std::string& by, std::optional<UtcNs> filter_from) {
  if (!run_) {
    return spdlog::warn(
        "burst alert refused reason=\"burst.buffer_bytes is 0: this farm stores no data for alerts\" "
        "by=\"{}\"",
        by);
  }
  std::string error;
  const auto alert = run_->book.ask(from, until, by, error);
  if (filter_from) run_->filter_alert_from = filter_from;
  if (!alert) return refuse(error, by);
  journal_.write_alert(*alert, by, filter_from);
  spdlog::info("burst alert number={} window_ms={} asked={} by=\"{}\"", alert->number,
               (alert->until - alert->from) / kMillisecond, run_->book.alerts().at(alert->number).asked.count,
               by);
  progress_ns_ = 0;
  to_send_.push_back(alert->number);
}

void BurstAlerts::refuse(std::string_view why, const std::string& by) {
  ++run_->refused;
  spdlog::warn("burst alert refused reason=\"{}\" by=\"{}\"", why, by);
}

void BurstAlerts::ask_for_filter(const RosterMember& dcm, const v1::BurstAccount& wish) {
  if (!run_) return;
  const UtcNs from = std::clamp(UtcNs{wish.alert().from_ns()}, -kTimeMax, kTimeMax);
  const UtcNs until = std::clamp(UtcNs{wish.alert().until_ns()}, -kTimeMax, kTimeMax);
  if (run_->filter_alert_from && std::abs(from - *run_->filter_alert_from) < settings_.filter_alert_ns) {
    ++run_->refused;  // without a log line: a filter may give an alert with each slice
    return;
  }
  const std::string reason = wish.reason().empty() ? "" : ": " + clean_text(wish.reason(), kReasonMax);
  open(from, until, "filter of " + dcm.name + reason, from);
}

v1::Control BurstAlerts::message_of(const burst::AlertAccount& account) {
  v1::Control message;
  put(account.alert, *message.mutable_burst_alert());
  message.mutable_burst_alert()->set_ended(account.ended);
  return message;
}

void BurstAlerts::told(const RosterMember& dcm, const v1::BurstAccount& account) {
  const std::uint32_t number = account.alert().number();
  if (number == 0) return ask_for_filter(dcm, account);
  if (!run_) return;
  const auto known = run_->book.alerts().find(number);
  if (known == run_->book.alerts().end()) return;  // no supervisor of this run gave it
  if (known->second.ended) return dcm.peer->send(message_of(known->second));  // it has missed the end
  const burst::Account fates = fates_of(account);
  run_->book.told(dcm.index, number, fates);
  journal_.write_alert_account(dcm.index, number, fates);
}

void BurstAlerts::dcm_replaced(NodeIndex dcm) {
  if (run_) run_->book.dcm_replaced(dcm);
}

void BurstAlerts::dcm_joined(const RosterMember& dcm) {
  if (!run_) return;
  run_->book.dcm_joined(dcm.index);
  for (const std::uint32_t number : run_->book.ended_first()) {
    const bool waits = std::find(to_send_.begin(), to_send_.end(), number) != to_send_.end();
    if (!waits) dcm.peer->send(message_of(run_->book.alerts().at(number)));
  }
}

void BurstAlerts::writer_joined(const RosterMember& writer) const {
  if (!run_) return;
  for (const auto& [number, account] : run_->book.alerts()) {
    if (account.ended) writer.peer->send(message_of(account));
  }
}

void BurstAlerts::dcm_left(const RosterMember& dcm, TimeNs now) {
  if (run_) run_->book.dcm_left(dcm.index, now);
}

SliceSum BurstAlerts::saved() const {
  SliceSum sum;
  for (const auto& [number, account] : run_->book.alerts()) sum += account.told.saved;
  return sum;
}

std::vector<burst::AlertAccount> BurstAlerts::accounts() const {
  std::map<std::uint32_t, std::uint64_t> in_files;
  for (const RosterMember& member : roster_.members()) {
    if (member.role != Role::writer || !member.has_report) continue;
    for (const v1::Report::File& file : member.report.files()) {
      if (file.burst() > 0) in_files[file.burst()] += file.slices();
    }
  }
  std::vector<burst::AlertAccount> all;
  for (const auto& [number, account] : run_->book.alerts()) {
    burst::AlertAccount& one = all.emplace_back(account);
    const auto files = in_files.find(number);
    if (!one.ended || files == in_files.end() || files->second <= one.told.saved.count) continue;
    const std::uint64_t more = files->second - std::exchange(one.told.saved.count, files->second);
    one.lost -= std::min(one.lost, more);
  }
  return all;
}

std::string BurstAlerts::unheard_writers() const {
  std::string names;
  for (const RosterMember& member : roster_.members()) {
    const bool heard = member.has_report && member.report.final();
    if (member.role == Role::writer && member.was_there && !heard)
      names += (names.empty() ? "" : ", ") + member.name;
  }
  return names;
}

// A DCM sends no slice until burst.save_bytes_per_s has room for the one before.
DurationNs BurstAlerts::patience() const {
  double largest = 0;
  for (const RosterMember& member : roster_.members()) {
    if (member.role == Role::dcm && member.has_report)
      largest = std::max(largest, reports::gauge_of(member.report, "burst_slice_bytes_max").value_or(0));
  }
  largest = std::min(largest, static_cast<double>(settings_.buffer_bytes));
  const double seconds = largest / static_cast<double>(settings_.save_bytes_per_s);
  return kPatience + static_cast<DurationNs>(seconds * static_cast<double>(kSecond));
}

bool BurstAlerts::look(UtcNs utc, TimeNs now, bool at_end, bool no_longer) {
  if (!run_ || !run_->book.is_open()) return true;
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + kLookEvery;
  const std::uint64_t saved_now = saved().count;
  if (progress_ns_ == 0 || !at_end || saved_now != saved_) progress_ns_ = now;
  saved_ = saved_now;
  const bool in_vain = at_end && now - progress_ns_ > patience();
  end_alerts(utc, now, at_end, no_longer || in_vain);
  return !run_->book.is_open();
}

void BurstAlerts::give_up(UtcNs utc, TimeNs now) {
  if (!run_) return;
  end_alerts(utc, now, true, true);
  send();
}

void BurstAlerts::end_alerts(UtcNs utc, TimeNs now, bool at_end, bool no_longer) {
  for (const std::uint32_t number : run_->book.take_ended(utc, now, at_end, no_longer)) {
    const burst::AlertAccount& account = run_->book.alerts().at(number);
    journal_.write_alert_end(account);
    spdlog::info(
        "burst alert saved number={} asked={} saved={} too_old={} no_room={} disk_slow={} disk_failed={} "
        "refused={} lost={}",
        number, account.asked.count, account.told.saved.count, account.told.too_old.count,
        account.told.no_room.count, account.told.disk_slow.count, account.told.disk_failed.count,
        account.told.refused.count, account.lost);
    to_send_.push_back(number);
  }
}

void BurstAlerts::add_to(v1::Report& report) const {
  if (!run_) return;
  reports::ReportCounters counters(report);
  counters["burst.alerts"] = run_->book.alerts().size();
  counters["burst.alerts_refused"] = run_->refused;
  std::uint64_t lost = 0;
  burst::Account sum;
  SliceSum asked;
  for (const burst::AlertAccount& account : accounts()) {
    asked += account.asked;
    sum += account.told;
    lost += account.lost;
  }
  counters["burst.asked"] = asked.count;
  counters["burst.saved"] = sum.saved.count;
  counters.of("burst.not_saved.", "too_old") = sum.too_old.count;
  counters.of("burst.not_saved.", "no_room") = sum.no_room.count;
  counters.of("burst.not_saved.", "disk_slow") = sum.disk_slow.count;
  counters.of("burst.not_saved.", "disk_failed") = sum.disk_failed.count;
  counters.of("burst.not_saved.", "refused") = sum.refused.count;
  counters.of("burst.not_saved.", "lost") = lost;
}

void BurstAlerts::add_to(v1::RunSummary& summary) const {
  if (!run_) return;
  for (const burst::AlertAccount& account : accounts()) put(account, *summary.add_bursts());
}

std::vector<assignment::Equation> BurstAlerts::equations(bool undisturbed, std::uint64_t reopened) const {
  std::vector<assignment::Equation> equations;
  if (!run_ || run_->book.alerts().empty()) return equations;
  SliceSum asked;
  SliceSum all;
  std::uint64_t lost = 0;
  for (const burst::AlertAccount& account : accounts()) {
    asked += account.asked;
    all += account.told.all();
    lost += account.lost;
  }
  using Relation = assignment::Equation::Relation;
  const bool exact = undisturbed && run_->book.is_exact();
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
  const std::string unheard = unheard_writers();
  const SliceSum saved_by_dcms = saved();
  const bool same = exact && writers_final;
  assignment::Equation disk{"bursts: saved = live on disk",
                            {saved_by_dcms, true},
                            {live, true},
                            same ? Relation::equal : Relation::at_most,
                            false,
                            !unheard.empty() ? unheard + " gave no final report: its files were not read back"
                            : same           ? ""
                                             : "a process was lost, or slices were built again"};
  const std::uint64_t accounted = all.count + lost;
  const std::uint64_t surplus = accounted - std::min(accounted, asked.count);  // in two rings
  // A rebuilt slice enters a ring again, and each alert may save it there once more; writers store it once.
  const std::uint64_t again = std::max(surplus, reopened * run_->book.alerts().size());
  disk.ok = same ? saved_by_dcms == live : !writers_final || saved_by_dcms.count <= live.count + again;
  equations.push_back(disk);
  return equations;
}

std::vector<std::string> BurstAlerts::faults() const {
  std::vector<std::string> texts;
  if (!run_) return texts;
  const std::string unheard = unheard_writers();
  for (const burst::AlertAccount& account : accounts()) {
    const std::uint64_t refused = account.told.refused.count;
    const std::uint64_t disk = account.told.disk_slow.count + account.told.disk_failed.count;
    const std::uint64_t all = account.lost + refused + disk;
    if (all == 0) continue;
    std::string text = fmt::format(
        "burst {}: {} of {} slices not saved: {} lost with their process, {} refused "
        "by writers",
        account.alert.number, all, account.asked.count, account.lost, refused);
    if (disk > 0) text += fmt::format(", {} not taken or not returned by the rings' disks", disk);
    if (account.lost + refused > 0 && !unheard.empty())
      text += fmt::format("; {} gave no final report: its files may have some of them", unheard);
    texts.push_back(text);
  }
  return texts;
}

}  // namespace weir::supervisor
