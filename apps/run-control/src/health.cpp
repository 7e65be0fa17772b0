// How the farm is: what the page, `weir ctl status` and `weir top` say first.
#include "core.hpp"
#include <weir/assignment/reasons.hpp>

#include <algorithm>
#include <string_view>

namespace weir::run_control {
namespace {

// "blocked: WRITER_DISK_STALLS writer-0 for 3 s"
void take_hold_up(std::string_view said, control::HealthView::Process& out) {
  const std::size_t colon = said.find(": ");
  if (colon == said.npos) return;
  const std::string_view rest = said.substr(colon + 2);
  const std::size_t blank = std::min(rest.size(), rest.find(' '));
  out.held = said.substr(0, colon);
  out.held_by = rest.substr(0, blank);
  out.sentence = assignment::sentence_of(out.held_by);
  const std::string_view cause = rest.substr(std::min(rest.size(), blank + 1));
  out.cause = cause.empty() ? out.name : cause.substr(0, cause.find(' '));
}

// Fragments that an operator took out of the run are no loss.
bool is_loss(const std::string& reason) { return reason != "removed"; }

control::RunProgress::Counts counts_of(const v1::Report& report, RunNumber run) {
  control::RunProgress::Counts counts;
  counts.run = run;
  constexpr std::string_view kDiscarded = "discarded.";
  constexpr std::string_view kMissing = "farm.fragments.missing.";
  for (const auto& [key, value] : report.counters()) {
    if (key == "stored" || key == "rejected") counts.settled += value;
    if (key.starts_with(kDiscarded)) {
      counts.settled += value;
      counts.lost[key] = value;
    }
    if (key.starts_with(kMissing) && is_loss(key.substr(kMissing.size())))
      counts.lost["missing." + key.substr(kMissing.size())] = value;
  }
  const auto in_flight = report.gauges().find("slices_in_flight");
  if (in_flight != report.gauges().end() && in_flight->second > 0)
    counts.in_flight = static_cast<std::uint64_t>(in_flight->second);
  return counts;
}

}  // namespace

void RunControl::Core::look_at_progress() {
  if (now_ns < next_progress_ns) return;
  next_progress_ns = now_ns + control::RunProgress::kApart;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const control::Member& member = machine->members()[i];
    if (member.plan.role != Role::supervisor) continue;
    if (machine->state() == control::State::running && member.live && member.told.in_run()) {
      // A report that is not renewed says nothing of progress, nor of its absence.
      const v1::Report& report = processes[i].report;
      if (report.now_ns() != progress_report_ns) progress.take(counts_of(report, machine->run()), now_ns);
      progress_report_ns = report.now_ns();
    } else {
      progress.clear();
    }
  }
}

control::HealthView::Process RunControl::Core::health_of_process(std::size_t index) const {
  const control::Member& member = machine->members()[index];
  const Process& process = processes[index];
  control::HealthView::Process one;
  one.name = member.plan.name;
  one.role = member.plan.role;
  one.essential = member.plan.duty == control::Duty::essential;
  one.live = member.live;
  one.known = !process.client.empty();
  one.excluded = member.excluded;
  one.inactive = member.inactive;
  one.state = member.told.state;
  one.over = member.told.ended && member.told.run == machine->run();
  one.reason = member.told.reason;
  one.silent_ns = one.known ? now_ns - member.heard_ns : 0;
  one.losses = member.losses;
  one.since_loss_ns = now_ns - member.lost_ns;
  if (member.live && member.told.in_run() && member.told.run == machine->run())
    take_hold_up(process.report.state(), one);
  return one;
}

std::vector<control::Finding> RunControl::Core::health() const {
  control::HealthView seen;
  seen.state = machine->state();
  seen.reason = machine->reason();
  seen.under_way = machine->under_way();
  seen.waits_for = machine->waits_for();
  seen.run = machine->run();
  seen.up_ns = now_ns - begin_ns;
  seen.recalled = recalled;
  seen.heartbeat_ns = file.control().heartbeat_ms() * kMillisecond;
  for (std::size_t i = 0; i < processes.size(); ++i) seen.processes.push_back(health_of_process(i));
  seen.unsettled_ns = progress.unsettled_ns(now_ns);
  seen.in_flight = progress.in_flight();
  seen.lost = progress.lost_lately();
  if (machine->run().value != 0 && !settings.one_run) {
    control::HealthView::LastRun& last = seen.last.emplace();
    last.run = machine->run();
    const auto& runs = history->runs();
    const auto found = std::find_if(runs.begin(), runs.end(),
                                    [&](const auto& run) { return run.run() == machine->run().value; });
    last.accounted = found != runs.end();
    if (last.accounted) {
      last.balanced = found->balanced();
      last.faults = found->faults();
      last.reason = found->reason();
      const bool at_hand = last_summary && last_summary->run() == machine->run().value;
      if (at_hand && last_summary->faults_text_size() > 0) last.fault = last_summary->faults_text(0);
    }
  }
  return control::health_of(seen);
}

}  // namespace weir::run_control
