#include "run_journal.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr DurationNs kRetry = kSecond;

}  // namespace

RunJournal::RunJournal(JournalSettings settings, const SupervisorEnvironment& environment,
                       assignment::SupervisorMachine& machine, const Roster& roster,
                       const HistogramBoard& histograms, const BurstAlerts& bursts,
                       const assignment::ThrottleTimes& throttle_times,
                       const assignment::AnsweredTriggers& answered,
                       const std::optional<numbering::NumberOrder>* numbers)
    : settings_(std::move(settings)),
      environment_(environment),
      machine_(machine),
      roster_(roster),
      histograms_(histograms),
      bursts_(bursts),
      throttle_times_(throttle_times),
      answered_(answered),
      numbers_(numbers),
      journal_(environment.journal) {}

std::optional<JournalledRun> RunJournal::read() const {
  if (environment_.journal == nullptr) return std::nullopt;
  const auto bytes = environment_.journal->read();
  if (!bytes) throw std::runtime_error(bytes.error());
  auto run = read_journal(*bytes);
  if (!run) return std::nullopt;
  if (run->run != settings_.run || run->farm != settings_.farm) {
    throw std::runtime_error("the journal is of run " + std::to_string(run->run.value) + " of farm '" +
                             run->farm + "', not of this one");
  }
  if (run->claim != environment_.claim) {
    throw std::runtime_error(
        "the journal is of another run " + std::to_string(run->run.value) + " of farm '" + run->farm +
        "', begun by another run control or program: choose another run number, or another run.out");
  }
  if (!run->impossible.empty()) {
    throw std::runtime_error("the journal of run " + std::to_string(run->run.value) +
                             " has an impossible value (" + run->impossible +
                             "): it is damaged, and the run cannot be resumed; begin the next one");
  }
  require_nodes(*run);
  return run;
}

// The contents of a removed writer's disk could not be reported by any node.
void RunJournal::require_nodes(const JournalledRun& run) const {
  const auto require = [this, &run](Role role, std::uint32_t index) {
    const auto& members = roster_.members();
    if (std::any_of(members.begin(), members.end(), [&](const RosterMember& member) {
          return member.role == role && member.index.value == index;
        }))
      return;
    throw std::runtime_error("the journal of run " + std::to_string(run.run.value) + " has " +
                             std::string(name(role)) + "-" + std::to_string(index) +
                             ", which the farm file lacks: resume with the farm file that the run was "
                             "begun with, and remove nodes with `weir ctl remove`");
  };
  for (const auto& [node, joined] : run.joined) require(static_cast<Role>(node.first), node.second);
  for (const slice_rows::NodeRef& node : run.state.shape.removed) require(node.role, node.node.value);
  for (const slice_rows::AbsenceRange& range : run.state.shape.absences)
    require(Role::readout, range.readout.value);
}

void RunJournal::resumed(const JournalledRun& run) {
  faults_ = FaultTexts(run.faults);
  note_fault("the supervisor was restarted: " + counted(run.state.open.size(), "slice") + " assigned again");
  journal_.resume(run.serial);
  shape_written_ = machine_.shape_number();
  lost_written_ = run.lost_times.all;
}

void RunJournal::write_state(const RunStages& course, TimeNs now_ns) {
  journal_.write_state(state(course, now_ns), bursts_.state());
}

std::string RunJournal::lacks(const RunStages& course, TimeNs now_ns) const {
  if (environment_.journal == nullptr || is_without()) return {};
  const auto bytes = environment_.journal->read();
  const auto read = bytes ? read_journal(*bytes) : std::nullopt;
  return read ? journal_lacks(*read, state(course, now_ns), bursts_.state()) : "";
}

JournalledRun RunJournal::state(const RunStages& course, TimeNs now_ns) const {
  JournalledRun run;
  run.run = settings_.run;
  run.farm = settings_.farm;
  run.claim = environment_.claim;
  run.begun_utc = course.begun_utc_ns();
  run.state = machine_.state(now_ns);
  run.shaped_utc = environment_.clock.utc_ns();
  for (const RosterMember& member : roster_.members()) {
    if (!member.was_there) continue;
    run.joined[{static_cast<int>(member.role), member.index.value}] = joined(member);
    if (member.has_report && member.report.final()) run.reports.push_back(member.report);
  }
  run.reports.insert(run.reports.end(), roster_.buried().begin(), roster_.buried().end());
  for (v1::Report& report : run.reports) {
    if (report.role() == v1::ROLE_DCM)
      histograms_.add_totals(report.name(), Incarnation(report.incarnation()), report);
  }
  run.histograms = histograms_.earlier();
  run.stop = course.is(RunStage::draining) || course.is_ending() ? course.reason() : "";
  run.running_ns = course.running_ns();
  run.reporting = course.is_ending();
  run.faults = faults_.all();
  run.lost_times = throttle_times_.lost();
  run.serial = journal_.serial();
  run.answered = answered_;
  run.numbers = numbers();
  return run;
}

void RunJournal::write_shape(TimeNs now_ns) {
  const std::uint32_t number = machine_.shape_number();
  if (std::exchange(shape_written_, number) == number) return;
  journal_.write_shape(machine_.shape(now_ns), environment_.clock.utc_ns());
}

void RunJournal::write_lost_times(TimeNs now_ns) {
  if (throttle_times_.lost().all == lost_written_ || now_ns < lost_times_due_ns_) return;
  lost_written_ = throttle_times_.lost().all;
  lost_times_due_ns_ = now_ns + kLostTimesEvery;
  journal_.write_lost_times(throttle_times_.lost());
}

bool RunJournal::keep(const RunStages& course, TimeNs now_ns) {
  const bool waited = journal_.waits();
  // A run that ends does not wait for room.
  if (!course.is(RunStage::running) && !course.is(RunStage::gathering)) journal_.give_up_waiting();
  const bool again = is_without() && now_ns >= retry_ns_;
  if (journal_.is_long() || again) write_state(course, now_ns);
  if (again && !is_without()) spdlog::info("journal resumed");
  if (is_without() && now_ns >= retry_ns_) retry_ns_ = now_ns + kRetry;
  const std::string why = journal_.take_failure();
  if (!why.empty()) spdlog::error("journal {} reason=\"{}\"", journal_.waits() ? "waiting" : "lost", why);
  return waited && !journal_.waits();
}

void RunJournal::note_machine_faults(TimeNs now_ns) {
  const auto faults = machine_.faults();
  WEIR_ASSERT(machine_faults_noted_ <= faults.size());
  const auto name_of = [this](Role role, NodeIndex index) { return roster_.name_of(role, index); };
  for (; machine_faults_noted_ < faults.size(); ++machine_faults_noted_) {
    const assignment::Fault& fault = faults[machine_faults_noted_];
    if (!fault.counts()) continue;
    const std::string text = assignment::describe_in_record(fault, utc_of(fault, now_ns), name_of);
    if (faults_.all().size() < assignment::kFaultsMax || faults_.continues(text)) note_fault(text);
  }
}

// The end of an outage has the time that its start was given: the clock may have been set meanwhile, and the
// text of the end begins with that of the start.
UtcNs RunJournal::utc_of(const assignment::Fault& fault, TimeNs now_ns) {
  const UtcNs utc_ns = environment_.clock.utc_ns() - (now_ns - fault.at);
  if (fault.kind != assignment::FaultKind::down) return utc_ns;
  if (fault.lasted == 0) return outages_utc_[fault.node] = utc_ns;
  const auto begun = outages_utc_.extract(fault.node);
  return begun.empty() ? utc_ns : begun.mapped();
}

void RunJournal::note_fault(const std::string& fault) {
  faults_.add(fault);
  journal_.write_fault(fault);
}

}  // namespace weir::supervisor
