// A run that goes on although its supervisor's process does not.
#include "supervisor_node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {
namespace {

constexpr DurationNs kJournalRetry = kSecond;

}  // namespace

void SupervisorNode::resume_run() {
  if (environment_.journal == nullptr) return;
  const auto bytes = environment_.journal->read();
  if (!bytes) throw std::runtime_error(bytes.error());
  const auto run = read_journal(*bytes);
  if (!run) return;
  if (run->run != setup_.run || run->farm != setup_.farm.farm()) {
    throw std::runtime_error("the journal is of run " + std::to_string(run->run.value) + " of farm '" +
                             run->farm + "', not of this one");
  }
  if (run->claim != environment_.claim) {
    throw std::runtime_error("the journal is of another run " + std::to_string(run->run.value) +
                             " of farm '" + run->farm +
                             "', begun by somebody else: take another run number, or another run.out");
  }
  restore(*run);
  write_state();
}

void SupervisorNode::restore(const JournalledRun& run) {
  state_ = run.reporting ? State::reporting : State::running;
  watched_ = true;  // perhaps: who watches may be slower to come back than the run is to end
  begun_utc_ = run.begun_utc;
  const DurationNs already = std::max<DurationNs>(0, environment_.clock.utc_ns() - run.begun_utc);
  begun_ns_ = first_trigger_ns_ = now_ns_ - already;
  last_settled_ns_ = now_ns_;
  next_slice_ = run.state.next_slice.value;
  faults_text_ = run.faults;
  note_fault("the supervisor was restarted: " + std::to_string(run.state.open.size()) +
             " slice(s) given out anew");
  assignment::RunState state = run.state;
  // Nobody made triggers meanwhile either.
  if (state.shape.paused)
    state.shape.paused_ns += std::max<DurationNs>(0, environment_.clock.utc_ns() - run.shaped_utc);
  machine_.resume(state, already, now(), actions_);
  shape_written_ = machine_.shape_number();
  for (const auto& [node, joined] : run.joined) {
    Member* member =
        roster_.find(static_cast<Role>(node.first), NodeIndex(static_cast<std::uint16_t>(node.second)));
    if (member == nullptr) continue;
    member->was_there = true;
    member->incarnation = Incarnation(joined.incarnation);
    member->first_slice = joined.first_slice;
  }
  for (const v1::Report& report : run.reports) roster_.recall(report);
  if (run.reporting) {
    machine_.request_stop(now_ns_);
    reason_ = run.stop;
    reporting_until_ns_ = now_ns_ + kReportPatience;
    absent_until_ns_ = now_ns_ + kAbsentPatience;
  } else if (!run.stop.empty()) {
    reason_ = run.stop;
    state_ = State::draining;
    machine_.request_stop(now_ns_);
  }
  spdlog::warn("run goes on run={} triggered={} open={} next_slice={}", run.run.value,
               run.state.ledger.triggered.count, run.state.open.size(), next_slice_);
}

void SupervisorNode::write_state() {
  JournalledRun run;
  run.run = setup_.run;
  run.farm = setup_.farm.farm();
  run.claim = environment_.claim;
  run.begun_utc = begun_utc_;
  run.state = machine_.state(now_ns_);
  run.shaped_utc = environment_.clock.utc_ns();
  for (const Member& member : roster_.members()) {
    if (!member.was_there) continue;
    run.joined[{static_cast<int>(member.role), member.index.value}] = {member.incarnation.value,
                                                                       member.first_slice};
    if (member.has_report && member.report.final()) run.reports.push_back(member.report);
  }
  run.reports.insert(run.reports.end(), roster_.buried().begin(), roster_.buried().end());
  run.stop = state_ == State::draining || state_ == State::reporting ? reason_ : "";
  run.reporting = state_ == State::reporting;
  run.faults = faults_text_;
  journal_.write_state(run);
}

void SupervisorNode::write_shape() {
  const std::uint32_t number = machine_.shape_number();
  if (std::exchange(shape_written_, number) == number) return;
  journal_.write_shape(machine_.shape(now_ns_), environment_.clock.utc_ns());
}

void SupervisorNode::keep_journal() {
  const auto without = [this] { return journal_.lost() || journal_.waits(); };
  const bool waited = journal_.waits();
  // A run that ends does not wait for room.
  if (state_ != State::running && state_ != State::gathering) journal_.give_up_waiting();
  const bool again = without() && now_ns_ >= journal_retry_ns_;
  if (journal_.is_long() || again) write_state();
  if (again && !without()) spdlog::info("journal goes on");
  // What nobody was told is in that state, or the run ends.
  if (waited && !journal_.waits()) send_actions();
  if (without() && now_ns_ >= journal_retry_ns_) journal_retry_ns_ = now_ns_ + kJournalRetry;
  const std::string why = journal_.take_failure();
  if (!why.empty()) spdlog::error("journal {} reason=\"{}\"", journal_.waits() ? "waits" : "lost", why);
}

void SupervisorNode::note_fault(const std::string& fault) {
  faults_text_.push_back(fault);
  journal_.write_fault(fault);
}

}  // namespace weir::supervisor
