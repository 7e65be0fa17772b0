// The supervisor's own report, and the end of the run in numbers.
#include "supervisor_node.hpp"
#include <weir/node/report.hpp>

namespace weir::supervisor {
namespace {

std::string text_of(const assignment::LedgerSide& side) {
  return std::to_string(side.sum.count) + (side.hashed ? " #" + std::to_string(side.sum.hash_sum) : "");
}

template <std::size_t N, class Reason>
void add_reasons(google::protobuf::Map<std::string, std::uint64_t>& counters, const std::string& prefix,
                 const std::array<std::uint64_t, N>& counts, Reason (*reason_of)(std::size_t)) {
  for (std::size_t i = 1; i < N; ++i) {
    if (counts[i] > 0) counters[prefix + std::string(assignment::name(reason_of(i)))] = counts[i];
  }
}

}  // namespace

v1::Report SupervisorNode::make_report(bool final) {
  v1::Report report = node::begin_report(setup_.identity, now_ns_, final);
  auto& counters = *report.mutable_counters();
  const assignment::SupervisorLedger& ledger = machine_.ledger();
  counters["offered"] = ledger.offered;
  counters["triggered"] = ledger.triggered.count;
  counters["stored"] = ledger.stored.count;
  counters["stored_incomplete"] = ledger.stored_incomplete.count;
  counters["rejected"] = ledger.rejected.count;
  add_reasons<assignment::kVetoReasons, assignment::VetoReason>(
      counters, "vetoed.", ledger.vetoed,
      [](std::size_t i) { return static_cast<assignment::VetoReason>(i); });
  std::array<std::uint64_t, assignment::kDiscardReasons> discarded{};
  for (std::size_t i = 0; i < discarded.size(); ++i) discarded[i] = ledger.discarded[i].count;
  add_reasons<assignment::kDiscardReasons, assignment::DiscardReason>(
      counters, "discarded.", discarded,
      [](std::size_t i) { return static_cast<assignment::DiscardReason>(i); });
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
  if (const DurationNs paused = machine_.paused_ns(now_ns_); paused > 0)
    counters["paused_ms"] = static_cast<std::uint64_t>(paused / kMillisecond);
  for (const auto& [reason, time] : throttle_times_.by_reason()) {
    counters["throttled_ms." + reason] = static_cast<std::uint64_t>(time / kMillisecond);
  }
  auto& gauges = *report.mutable_gauges();
  gauges["slices_in_flight"] = static_cast<double>(machine_.in_flight());
  gauges["slices_pending"] = static_cast<double>(machine_.pending());
  if (!machine_.absences().ranges().empty()) (*report.mutable_notes())["removed"] = absences_text();
  node::add_totals(report, roster_.totals());
  node::add_network(report, environment_.stream_totals(), peer_counters_);
  node::add_process(report);
  if (throttle_times_.lost() > 0)
    counters["lost_livetime_ms"] = static_cast<std::uint64_t>(throttle_times_.lost() / kMillisecond);
  report.set_state(throttle_state());
  return report;
}

// What others have done to run files.
std::vector<std::string> SupervisorNode::disturbances() const {
  std::vector<std::string> texts;
  const auto add = [&texts](const v1::Report& report) {
    const auto note = report.notes().find(std::string(node::kDisturbedNote));
    if (note != report.notes().end()) texts.push_back(report.name() + ": " + note->second);
  };
  for (const v1::Report& report : roster_.buried()) add(report);
  for (const Member& member : roster_.members()) {
    if (member.has_report) add(member.report);
  }
  return texts;
}

v1::RunSummary SupervisorNode::make_summary() {
  LedgerInput input = ledger_input(roster_);
  for (assignment::WriterLedger& writer : input.writers) {
    if (!writer.final) writer.given_up = machine_.copies_given_up(writer.index).all;
  }
  assignment::LedgerResult result =
      assignment::reconcile(machine_.ledger(), input.dcms, input.writers, input.readouts, machine_.faults());
  const std::vector<std::string> disturbed = disturbances();
  result.faults = result.faults || !disturbed.empty();
  v1::RunSummary summary;
  summary.set_run(setup_.run.value);
  summary.set_balanced(result.balanced);
  summary.set_faults(result.faults || !faults_text_.empty());
  summary.set_ledger_text(assignment::format_ledger(result));
  summary.set_reason(reason_);
  summary.set_begin_utc_ns(begun_utc_);
  if (first_trigger_ns_ > 0)
    summary.set_duration_ns(std::max<DurationNs>(0, last_settled_ns_ - first_trigger_ns_));
  for (const assignment::Equation& equation : result.equations) {
    v1::RunSummary::Equation& out = *summary.add_equations();
    out.set_name(equation.name);
    out.set_left(text_of(equation.left));
    out.set_right(text_of(equation.right));
    out.set_good(equation.ok);
    out.set_note(equation.note);
  }
  for (const assignment::Fault& fault : machine_.faults())
    summary.add_faults_text(assignment::describe(fault));
  for (const std::string& loss : assignment::describe_losses(machine_.ledger()))
    summary.add_faults_text(loss);
  for (const std::string& fault : faults_text_) summary.add_faults_text(fault);
  for (const std::string& fault : disturbed) summary.add_faults_text(fault);
  *summary.add_nodes() = make_report(true);
  *summary.mutable_counters() = summary.nodes(0).counters();
  for (const v1::Report& report : roster_.buried()) *summary.add_nodes() = report;
  for (const Member& member : roster_.members()) {
    if (member.has_report) *summary.add_nodes() = member.report;
  }
  return summary;
}

}  // namespace weir::supervisor
