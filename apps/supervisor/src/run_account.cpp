#include "run_account.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/held_up.hpp>
#include <weir/node/fault_notes.hpp>
#include <weir/node/report.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/merged_texts.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace weir::supervisor {
namespace {

std::string text_of(const assignment::LedgerSide& side) {
  return std::to_string(side.sum.count) + (side.hashed ? " #" + std::to_string(side.sum.hash_sum) : "");
}

template <class Reason, std::size_t N>
void add_reasons(reports::ReportCounters& counters, metrics::FamilyKey family,
                 const std::array<std::uint64_t, N>& counts) {
  for (std::size_t i = 1; i < N; ++i) {
    if (counts[i] > 0) counters.of(family, slice_rows::name(static_cast<Reason>(i))) = counts[i];
  }
}

void add_groups(reports::ReportCounters& counters, const assignment::SupervisorLedger& ledger) {
  for (std::size_t i = 0; i < ledger.groups.size(); ++i) {
    const assignment::GroupLedger& group = ledger.groups[i];
    counters.of("groups.arrived.", group.name) = i == 0 ? ledger.triggered.count : group.arrived.count;
    counters.of("groups.stored.", group.name) = group.stored.count;
    counters.of("groups.rejected.", group.name) = group.rejected.count;
    counters.of("groups.discarded.", group.name) = group.discarded.count;
    counters.of("groups.forwarded.", group.name) = group.forwarded.count;
    counters.of("groups.reassigned.", group.name) = group.reassigned;
    if (group.fetched.count > 0) counters.of("groups.fetched.", group.name) = group.fetched.count;
  }
}

// Names in the order of dcm.groups.
std::string groups_text(const assignment::SupervisorLedger& ledger) {
  std::string text;
  for (const assignment::GroupLedger& group : ledger.groups) text += (text.empty() ? "" : "\n") + group.name;
  return text;
}

}  // namespace

RunAccount::RunAccount(AccountSettings settings, const SupervisorEnvironment& environment,
                       const sessions::PeerCounters& counters, assignment::SupervisorMachine& machine,
                       const Roster& roster, assignment::ThrottleTimes& throttle_times,
                       const BurstAlerts& bursts, const TextCounters* text,
                       const numbering::OrderCounts* numbers)
    : settings_(std::move(settings)),
      environment_(environment),
      counters_(counters),
      machine_(machine),
      roster_(roster),
      throttle_times_(throttle_times),
      bursts_(bursts),
      text_(text),
      numbers_(numbers),
      losses_(settings_.loss_share_max) {}

void RunAccount::look(bool triggering, TimeNs now_ns) {
  throttle_times_.look(triggering ? machine_.throttled_by() : std::vector<assignment::HoldUp>(), now_ns);
  if (!id_memory_full_) look_at_id_memory();
}

void RunAccount::look_at_id_memory() {
  constexpr auto kFull = static_cast<std::size_t>(slice_rows::VetoReason::id_memory_full);
  id_memory_full_ = machine_.ledger().vetoed[kFull] > 0;
  if (!id_memory_full_) return;
  spdlog::error(
      "id memory full intervals={} key=supervisor.id_intervals_max: an id that needs one more is vetoed",
      settings_.id_intervals_max);
}

v1::FarmStatus RunAccount::status(const RunStages& course, bool journal_waits, TimeNs now_ns) {
  v1::FarmStatus status;
  const bool paused = course.is(RunStage::running) && machine_.paused();
  status.set_state(paused ? "paused" : std::string(course.shown()));
  status.set_run_ns(course.begun_ns() == 0 ? 0 : now_ns - course.begun_ns());
  for (const RosterMember& member : roster_.members()) {
    if (!member.has_report) continue;
    v1::Report& report = *status.add_nodes();
    report = member.report;
    report.clear_sources();  // the supervisor's have them
    report.set_state(state_of(member));
  }
  v1::Report& own = *status.add_nodes();
  own = own_report(false, journal_waits, now_ns);
  (*own.mutable_notes())["run"] = status.state();
  (*own.mutable_notes())["run_ns"] = std::to_string(status.run_ns());
  return status;
}

v1::Report RunAccount::own_report(bool final, bool journal_waits, TimeNs now_ns) {
  v1::Report report = node::begin_report(settings_.identity, settings_.ran, now_ns, final);
  reports::ReportCounters counters(report);
  const assignment::SupervisorLedger& ledger = machine_.ledger();
  counters["offered"] = ledger.offered;
  counters["triggered"] = ledger.triggered.count;
  counters["stored"] = ledger.stored.count;
  counters["stored_incomplete"] = ledger.stored_incomplete.count;
  counters["rejected"] = ledger.rejected.count;
  add_reasons<slice_rows::VetoReason>(counters, "vetoed.", ledger.vetoed);
  std::array<std::uint64_t, slice_rows::kDiscardReasons> discarded{};
  for (std::size_t i = 0; i < discarded.size(); ++i) discarded[i] = ledger.discarded[i].count;
  add_reasons<slice_rows::DiscardReason>(counters, "discarded.", discarded);
  add_groups(counters, ledger);
  bursts_.add_to(report);
  counters["supervisor.assignments"] = ledger.assignments;
  counters["supervisor.unfiltered"] = ledger.unfiltered;
  counters["supervisor.reopened"] = ledger.reopened;
  counters["supervisor.suspected"] = ledger.suspected;
  counters["supervisor.handed_back"] = ledger.handed_back;
  counters["supervisor.leases_expired"] = ledger.leases_expired;
  counters["supervisor.reconfirmed"] = ledger.reconfirmed;
  counters["supervisor.decisions_refused"] = ledger.decisions_refused;
  counters["supervisor.decisions_repeated"] = ledger.decisions_repeated;
  counters["supervisor.records_refused"] = ledger.records_refused;
  counters["supervisor.copies_taken"] = ledger.copies_taken;
  counters["supervisor.acks_dead"] = ledger.acks_dead;
  counters["supervisor.acks_unknown"] = ledger.acks_unknown;
  if (numbers_ != nullptr) {
    counters["numbers.gaps"] = numbers_->closed;
    counters["numbers.nobodys"] = numbers_->left_out;
    counters["numbers.late"] = numbers_->late;
    counters["numbers.unconfirmed"] = numbers_->unconfirmed;
  }
  if (text_ != nullptr) {
    counters["trigger_text.repeated"] = text_->repeated;
    counters["trigger_text.made_room"] = text_->made_room;
    for (std::size_t i = 0; i < kTextRefusals.size(); ++i) {
      if (text_->refused[i] > 0) counters.of("trigger_text.refused.", kTextRefusals[i]) = text_->refused[i];
    }
  }
  if (const DurationNs paused = machine_.paused_ns(now_ns); paused > 0)
    counters["paused_ms"] = static_cast<std::uint64_t>(paused / kMillisecond);
  for (const auto& [reason, time] : throttle_times_.lost().by_reason) {
    counters.of("throttled_ms.", reason) = static_cast<std::uint64_t>(time / kMillisecond);
  }
  reports::Gauges gauges(report);
  gauges["slices_in_flight"] = static_cast<double>(machine_.in_flight());
  gauges["slices_pending"] = static_cast<double>(machine_.pending());
  if (!machine_.absences().empty()) (*report.mutable_notes())["removed"] = absences_text();
  if (!ledger.groups.empty()) (*report.mutable_notes())["groups"] = groups_text(ledger);
  reports::add_totals(report, roster_.totals());
  add_sources(*report.mutable_sources());
  node::add_network(report, environment_.stream_totals(), counters_);
  node::add_process(report);
  loop_time_.add_to(report);
  if (throttle_times_.lost().all > 0)
    counters["lost_livetime_ms"] = static_cast<std::uint64_t>(throttle_times_.lost().all / kMillisecond);
  report.set_state(throttle_state(journal_waits));
  return report;
}

v1::RunSummary RunAccount::summary(const RunStages& course, std::span<const std::string> faults,
                                   bool journal_waits, TimeNs now_ns) {
  const v1::Report own = own_report(true, journal_waits, now_ns);
  LedgerInput input = ledger_input(roster_);
  for (assignment::WriterLedger& writer : input.writers) {
    if (!writer.final) writer.given_up = machine_.copies_given_up(writer.index).all;
  }
  for (assignment::DcmLedger& dcm : input.dcms) dcm.group = machine_.group_of(dcm.index);
  assignment::LedgerResult result =
      assignment::reconcile(machine_.ledger(), input.dcms, input.writers, input.readouts, machine_.faults());
  const bool undisturbed = machine_.faults().empty() && machine_.ledger().restarts == 0 &&
                           machine_.ledger().reopened == 0 && machine_.ledger().reconfirmed == 0;
  for (const assignment::Equation& equation : bursts_.equations(undisturbed, machine_.ledger().reopened)) {
    result.balanced = result.balanced && equation.ok;
    result.equations.push_back(equation);
  }
  std::vector<std::string> disturbed = disturbances();
  for (const std::string& fault : bursts_.faults()) disturbed.push_back(fault);
  result.faults = result.faults || !disturbed.empty();
  v1::RunSummary summary;
  summary.set_run(settings_.identity.run.value);
  summary.set_balanced(result.balanced);
  summary.set_faults(result.faults || !faults.empty());
  summary.set_ledger_text(assignment::format_ledger(result));
  summary.set_reason(course.reason());
  summary.set_begin_utc_ns(course.begun_utc_ns());
  if (course.has_triggered()) summary.set_duration_ns(course.duration_ns());
  summary.set_end_utc_ns(environment_.clock.utc_ns());
  summary.set_running_ns(course.running_ns());
  for (const assignment::Equation& equation : result.equations) {
    v1::RunSummary::Equation& out = *summary.add_equations();
    out.set_name(equation.name);
    out.set_left(text_of(equation.left));
    out.set_right(text_of(equation.right));
    out.set_good(equation.ok);
    out.set_note(equation.note);
  }
  for (const std::string& fault : reports::merged(faults)) summary.add_faults_text(fault);
  for (const std::string& loss : assignment::describe_losses(machine_.ledger()))
    summary.add_faults_text(loss);
  for (const std::string& fault : disturbed) summary.add_faults_text(fault);
  bursts_.add_to(summary);
  *summary.add_nodes() = own;
  *summary.mutable_counters() = summary.nodes(0).counters();
  for (const v1::Report& report : roster_.buried()) *summary.add_nodes() = report;
  for (const RosterMember& member : roster_.members()) {
    if (member.has_report) *summary.add_nodes() = member.report;
  }
  for (int i = 1; i < summary.nodes_size(); ++i) summary.mutable_nodes(i)->clear_sources();
  for (const std::string& line : reports::worst_lines(summary.nodes(0).sources(), reports::kSourcesNamed))
    spdlog::info("fragments missing of=\"{}\"", line);
  return summary;
}

void RunAccount::add_sources(v1::SourceCounts& out) {
  reports::SourceSums sums(settings_.readout_of);
  for (const v1::Report& report : roster_.buried()) sums.add(report, true);
  for (const RosterMember& member : roster_.members()) {
    if (member.has_report) sums.add(member.report, false);
  }
  if (roster_.forgot_sources()) sums.set_partial();
  sums.write(out);
  judge(out);
}

// Names the sources of which too many fragments are missing or corrupt: in the log at the beginning, in the
// summary.
void RunAccount::judge(const v1::SourceCounts& sources) {
  for (const reports::SourceRow& row : reports::source_rows(sources)) {
    reports::note_missing(row, settings_.lossy.contains(row.source), losses_);
    reports::note_corrupt(row, settings_.damaged.contains(row.source), losses_);
  }
  for (const std::string& text : losses_.take_news()) spdlog::warn("data lost fault=\"{}\"", text);
}

std::vector<std::string> RunAccount::filter_faults() const {
  reports::FilterFailures failures(settings_.error_share_max);
  const auto add = [&failures](const v1::Report& report) {
    if (report.role() == v1::ROLE_DCM) failures.add(report);
  };
  for (const v1::Report& report : roster_.buried()) add(report);
  for (const RosterMember& member : roster_.members()) {
    if (member.has_report) add(member.report);
  }
  return failures.faults();
}

// Returns sources that lose too much, failures of filters, slices without any readout, changes to run files
// by others, the nodes' faults, one a line, and slices that DCMs gave up empty.
std::vector<std::string> RunAccount::disturbances() const {
  std::vector<std::string> texts = losses_.faults();
  for (std::string& fault : filter_faults()) texts.push_back(std::move(fault));
  const auto readouts = std::count_if(roster_.members().begin(), roster_.members().end(),
                                      [](const RosterMember& one) { return one.role == Role::readout; });
  const std::uint64_t unread = slice_rows::slices_without_readouts(
      machine_.absences().ranges(), static_cast<std::size_t>(readouts), machine_.next_order());
  if (unread > 0) texts.push_back(counted(unread, "slice") + " had no fragment: every readout was removed");
  const auto add = [&texts](const v1::Report& report) {
    for (const std::string_view key : {node::kDisturbedNote, node::kFaultNote}) {
      const auto note = report.notes().find(std::string(key));
      if (note == report.notes().end()) continue;
      std::istringstream lines(note->second);
      for (std::string line; std::getline(lines, line);) texts.push_back(report.name() + ": " + line);
    }
    const std::uint64_t empty = reports::counter_of(report, "slices.expired_empty");
    if (empty == 0) return;
    texts.push_back(
        fmt::format("{}: {} passed the deadline without a byte although all readouts were connected: "
                    "increase dcm.deadline_ms, or choose another dcm.shaper",
                    report.name(), counted(empty, "slice")));
  };
  for (const v1::Report& report : roster_.buried()) add(report);
  for (const RosterMember& member : roster_.members()) {
    if (member.has_report) add(member.report);
  }
  return texts;
}

// Where a writer's disk is full as well it is that which people look for: mostly the two are one.
std::string RunAccount::throttle_state(bool journal_waits) const {
  const std::vector<assignment::HoldUp> held_up = machine_.throttled_by();
  if (held_up.empty() && journal_waits) {
    return held_up_state(Hold::blocked, slice_rows::name(slice_rows::HoldReason::supervisor_journal_full),
                         settings_.identity.name);
  }
  if (held_up.empty()) return "running";
  const std::optional<slice_rows::NodeRef>& node = held_up.front().node;
  if (held_up.front().group) {
    const std::string& group = machine_.ledger().groups.at(held_up.front().group->value).name;
    return held_up_state(Hold::throttled, held_up.front().reason, group);
  }
  const RosterMember* member = node ? roster_.find(node->role, node->node) : nullptr;
  return held_up_state(Hold::throttled, held_up.front().reason,
                       member == nullptr ? settings_.identity.name : member->name);
}

// Describes the absences for display at the end: the latest ones, if there are many. Numbers count slices in
// the order of announcement.
std::string RunAccount::absences_text() const {
  constexpr std::size_t kToldMax = 20;
  const auto ranges = machine_.absences().ranges();
  const std::size_t first = ranges.size() > kToldMax ? ranges.size() - kToldMax : 0;
  std::string text = first > 0 ? "(" + std::to_string(first) + " earlier) " : "";
  for (std::size_t i = first; i < ranges.size(); ++i) {
    const slice_rows::AbsenceRange& range = ranges[i];
    const RosterMember* member = roster_.find(Role::readout, range.readout);
    if (member == nullptr) continue;
    text += (i == first ? "" : "; ") + member->name + " from slice no. " + std::to_string(range.from.value);
    if (range.until != slice_rows::AbsenceRange::kOpen)
      text += " to " + std::to_string(range.until.value - 1);
  }
  return text;
}

// As run control wants it, where that is not simply to take part.
std::string RunAccount::state_of(const RosterMember& member) const {
  switch (machine_.part({member.role, member.index})) {
    case slice_rows::Part::in:
      if (member.role == Role::dcm && member.peer != nullptr && machine_.reach().is_cut_off(member.index))
        return "cut off from readouts that others reach";
      return member.report.state();
    case slice_rows::Part::draining:
      return "draining";
    default:
      return member.peer == nullptr ? "removed" : "removed, idle";
  }
}

}  // namespace weir::supervisor
