// A run that outlives its supervisor's process: another one resumes it from its journal, if that is the last.
#include "supervisor_node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::supervisor {

void SupervisorNode::take_last_pass(const RosterMember& member, std::uint64_t last_pass) {
  if (last_pass <= resumed_pass_ || stale_ || course_.is(RunStage::done)) return;
  const std::string seen = member.name + " has received pass " + std::to_string(last_pass) + " of run " +
                           std::to_string(settings_.identity.run.value);
  if (course_.is(RunStage::gathering))
    return course_.fail("the run cannot begin: " + seen +
                        ", and its journal is gone: end this node, and take another run number");
  end_stale_run("the journal is stale: it ends with pass " + std::to_string(resumed_pass_) + ", and " + seen +
                ": the slices in between are not in this account");
}

// Sends the nodes only the end of the run: a slice that is open in this journal may be stored.
void SupervisorNode::end_stale_run(const std::string& why) {
  spdlog::error("run failed reason=\"{}\"", why);
  stale_ = true;
  wait_for_nodes_until_ns_ = 0;
  journal_.note_fault(why);
  stop(why);
  machine_.abandon(now_ns_, actions_);
  actions_.clear();
  if (course_.is(RunStage::draining)) end_run();
}

void SupervisorNode::resume_run() {
  const auto found = journal_.read();
  if (!found) return;
  const JournalledRun& run = *found;
  watchers_.expect();
  const DurationNs already = std::max<DurationNs>(0, environment_.clock.utc_ns() - run.state.begun_utc);
  if (run.reporting) {
    course_.resume_reporting(now_ns_, run.begun_utc, already, run.stop, run.running_ns);
  } else {
    course_.resume(now_ns_, run.begun_utc, already);
  }
  dispatch_.begin(run.state.next_slice.value, SliceOrder(run.state.ledger.triggered.count));
  if (numbers_) {
    numbering::OrderState order = run.numbers.value_or(numbering::OrderState());
    order.next = std::max(order.next, run.state.next_slice);
    numbers_->resume(order, now_ns_);
  }
  resumed_pass_ = run.serial;
  wait_for_nodes_until_ns_ = now_ns_ + settings_.nodes_return_ns;
  assignment::RunState state = run.state;
  // No triggers were made meanwhile either.
  if (state.shape.paused)
    state.shape.paused_ns += std::max<DurationNs>(0, environment_.clock.utc_ns() - run.shaped_utc);
  machine_.resume(state, already, now(), actions_);
  throttle_times_.resume(run.lost_times);
  answered_ = run.answered;
  journal_.resumed(run);
  if (run.alerts) bursts_.resume(*run.alerts, now_ns_);
  bursts_.note(actions_);
  for (const auto& [node, joined] : run.joined) {
    RosterMember* member =
        roster_.find(static_cast<Role>(node.first), NodeIndex(static_cast<std::uint16_t>(node.second)));
    if (member == nullptr) continue;
    member->was_there = true;
    member->incarnation = Incarnation(joined.incarnation);
    member->first_slice = joined.first_slice;
    member->first_order = joined.first_order;
    member->told_to_end = joined.told_to_end;
  }
  if (const std::string fault = histograms_.recall(run.histograms); !fault.empty())
    spdlog::warn("journal has a damaged histogram reason=\"{}\"", fault);
  histograms_.supervisor_restarted();
  for (const v1::Report& report : run.reports) recall(report);
  if (run.reporting || !run.stop.empty()) machine_.request_stop(now_ns_);
  if (!run.reporting && !run.stop.empty()) course_.drain(run.stop, run.running_ns);
  spdlog::warn("run resumed run={} triggered={} open={} next_slice={}", run.run.value,
               run.state.ledger.triggered.count, run.state.open.size(), dispatch_.next_slice());
  journal_.write_state(course_, now_ns_);
}

void SupervisorNode::recall(const v1::Report& report) {
  v1::Report rest = report;
  rest.clear_filter_histograms();
  roster_.recall(rest);
  if (report.role() != v1::ROLE_DCM) return;
  const Incarnation process(report.incarnation());
  if (const std::string fault = histograms_.take(report.name(), process, report); !fault.empty())
    spdlog::warn("journal has a damaged histogram reason=\"{}\"", fault);
  if (!report.final()) histograms_.lost(report.name(), process);
}

// Holds assignments and triggers back until the nodes have reported the last passes that they received: an
// old journal must not be resumed. A node that reports a later pass afterwards ends the run then.
bool SupervisorNode::waits_for_nodes() {
  if (wait_for_nodes_until_ns_ == 0) return false;
  if (roster_.is_one_away() && now_ns_ < wait_for_nodes_until_ns_) return true;
  wait_for_nodes_until_ns_ = 0;
  return false;
}

// Passes that wait for nodes are written later.
std::string SupervisorNode::journal_lacks() const {
  return course_.has_begun() && !stale_ && actions_.empty() ? journal_.lacks(course_, now_ns_) : "";
}

std::string journal_lacks(const node::Node& node) {
  return dynamic_cast<const SupervisorNode&>(node).journal_lacks();
}

}  // namespace weir::supervisor
