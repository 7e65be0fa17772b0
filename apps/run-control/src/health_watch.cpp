#include "health_watch.hpp"

#include <weir/base/held_up.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/reports/plane_moves.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace weir::run_control {
namespace {

void take_hold_up(std::string_view said, control::HealthView::Process& out) {
  const HeldUp held = held_up_of(said);
  if (held.hold == Hold::none) return;
  out.held = held.hold;
  out.held_by = held.reason;
  out.sentence = slice_rows::sentence_of(held.reason);
  out.cause = held.cause.empty() ? out.name : std::string(held.cause);
}

void add_refusals(const v1::Report& report, control::RunProgress::Counts& counts) {
  counts.lost[std::string(control::kOffered)] = reports::counter_of(report, "offered");
  for (const auto& [reason, count] : reports::by_reason(report, "vetoed.")) {
    if (control::is_refusal(reason)) counts.lost["vetoed." + reason] = count;
  }
}

control::RunProgress::Counts counts_of(const v1::Report& report, RunNumber run) {
  control::RunProgress::Counts counts;
  counts.run = run;
  counts.settled = reports::counter_of(report, "stored") + reports::counter_of(report, "rejected");
  for (const auto& [reason, count] : reports::by_reason(report, "discarded.")) {
    counts.settled += count;
    counts.lost["discarded." + reason] = count;
  }
  for (const auto& [reason, count] : reports::by_reason(report, "farm.fragments.missing.")) {
    if (reports::is_loss(reason)) counts.lost["missing." + reason] = count;
  }
  add_refusals(report, counts);
  if (const double in_flight = reports::gauge_of(report, "slices_in_flight").value_or(0); in_flight > 0)
    counts.in_flight = static_cast<std::uint64_t>(in_flight);
  return counts;
}

control::TriggerFlow::Counts flow_counts(const v1::Report& report, RunNumber run) {
  const std::uint64_t lost_ms = reports::counter_of(report, "lost_livetime_ms");
  // Refused triggers do not count.
  std::uint64_t offered = reports::counter_of(report, "offered");
  for (const auto& [reason, count] : reports::by_reason(report, "vetoed.")) {
    if (control::is_refusal(reason)) offered -= std::min(offered, count);
  }
  return {run, offered, static_cast<DurationNs>(lost_ms) * kMillisecond, report.now_ns()};
}

control::FilterFlow::Counts filter_counts(const v1::Report& dcm) {
  const reports::FilterNotes notes = reports::filter_notes(dcm);
  return {notes.group,
          reports::counter_of(dcm, "dcm.filtered"),
          reports::counter_of(dcm, "dcm.filter_errors"),
          reports::counter_of(dcm, "dcm.poisoned"),
          reports::by_reason(dcm, "dcm.worker_ends."),
          notes.last_error,
          notes.last_end};
}

void take_filter(const v1::Report& report, control::HealthView::Process& out) {
  out.has_workers = reports::gauge_of(report, "dcm.workers").has_value();
  out.filter_held = reports::filter_notes(report).held_slice;
  if (!out.filter_held.empty())
    out.filter_held_ns = static_cast<DurationNs>(reports::gauge_of(report, "filter.oldest_s").value_or(0) *
                                                 static_cast<double>(kSecond));
}

control::HealthView::Process process_of(const control::Member& member, const Process& process, RunNumber run,
                                        TimeNs now) {
  control::HealthView::Process one;
  one.name = member.plan.name;
  one.role = member.plan.role;
  one.essential = member.plan.duty == control::Duty::essential;
  one.live = member.live;
  one.known = !process.client.empty();
  one.removed = member.removed;
  one.inactive = member.inactive;
  one.state = member.told.state;
  one.over = member.told.ended && member.told.run == run;
  one.reason = member.told.reason;
  one.silent_ns = one.known ? now - member.heard_ns : 0;
  one.losses = member.losses;
  one.since_loss_ns = now - member.lost_ns;
  one.deaths = member.deaths;
  one.since_death_ns = now - member.died_ns;
  one.last_end = process.after;
  one.host = process.host;
  one.removed_by = member.removed_by;
  if (member.removed && member.removed_ns != 0) one.removed_since_ns = now - member.removed_ns;
  if (member.live && member.told.in_run() && member.told.run == run) {
    take_hold_up(process.report.state(), one);
    take_filter(process.report, one);
    one.silent_sources = reports::silent_sources(process.report);
    one.out_of_step = reports::out_of_step(process.report);
    one.other_plane = reports::other_plane(process.report);
    one.ring_missed = reports::total_of(process.report, "burst.disk_missed.");
  }
  return one;
}

// True while a headline stays for its time.
bool is_watched(const control::FarmMachine& machine) {
  return machine.state() == control::State::running && !machine.under_way() && !machine.is_ending();
}

// Slices that the group has and has not settled or passed on.
std::uint64_t slices_of(const v1::Report& supervisor, const std::string& group) {
  const std::uint64_t arrived = reports::counter_of(supervisor, "groups.arrived.", group);
  const std::uint64_t over = reports::counter_of(supervisor, "groups.stored.", group) +
                             reports::counter_of(supervisor, "groups.rejected.", group) +
                             reports::counter_of(supervisor, "groups.discarded.", group) +
                             reports::counter_of(supervisor, "groups.forwarded.", group);
  return arrived > over ? arrived - over : 0;
}

// Names the source with the highest loss of the run.
void name_worst_source(const Members& members, std::vector<control::Finding>& findings) {
  for (control::Finding& finding : findings) {
    if (finding.word != "fragments missing") continue;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].report.role() != v1::ROLE_SUPERVISOR) continue;
      const std::string worst = reports::worst_source(members[i].report.sources());
      if (!worst.empty()) finding.reason += "; most in this run of " + worst;
    }
  }
}

}  // namespace

control::FlowLimits flow_limits(const std::vector<control::Rule>& rules) {
  control::FlowLimits limits;
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    if (rule->when == control::Condition::no_triggers_s)
      limits.no_triggers_ns = static_cast<DurationNs>(rule->value * static_cast<double>(kSecond));
    if (rule->when == control::Condition::rate_below) limits.rate_below = rule->value;
    if (rule->when == control::Condition::livetime_below) limits.livetime_below = rule->value;
  }
  return limits;
}

std::optional<control::RulesView::Flow> HealthWatch::flow() const {
  if (draining_ || !flow_.is_known()) return std::nullopt;
  return control::RulesView::Flow{flow_.silent_ns(), flow_.rate(), flow_.mean_rate()};
}

void HealthWatch::look(const control::FarmMachine& machine, const Members& members, TimeNs now) {
  if (now < next_look_ns_) return;
  next_look_ns_ = now + control::RunProgress::kApart;
  take_reports(machine, members, now);
  if (is_watched(machine)) {
    headline_.look(judge(machine, members, {}, now), now);
  } else {
    headline_.clear();
  }
}

void HealthWatch::take_reports(const control::FarmMachine& machine, const Members& members, TimeNs now) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const control::Member& member = machine.members()[i];
    const bool reports = member.live && member.told.in_run() && members[i].report.now_ns() != 0;
    if (reports) {
      loops_[i].take(members[i].report);
    } else {
      loops_.erase(i);
    }
    if (member.plan.role == Role::dcm && reports)
      filters_.take(member.plan.name, filter_counts(members[i].report), now);
    if (member.plan.role != Role::supervisor) continue;
    if (machine.state() == control::State::running && member.live && member.told.in_run()) {
      // An unchanged report shows neither progress nor its absence.
      const v1::Report& report = members[i].report;
      if (report.now_ns() != looked_at_ns_) {
        progress_.take(counts_of(report, machine.run()), now);
        if (report.now_ns() != 0) flow_.take(flow_counts(report, machine.run()), now);
      }
      looked_at_ns_ = report.now_ns();
      draining_ = member.told.draining;
    } else {
      progress_.clear();
      flow_.clear();
      filters_.clear();
      draining_ = false;
    }
  }
}

void HealthWatch::add_groups(const control::FarmMachine& machine, const Members& members,
                             control::HealthView& out) const {
  if (groups_.pending_max.empty()) return;
  for (control::HealthView::Process& one : out.processes) {
    if (const auto group = groups_.of_dcm.find(one.name); group != groups_.of_dcm.end())
      one.group = group->second;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (machine.members()[i].plan.role != Role::supervisor) continue;
    for (const auto& [group, pending_max] : groups_.pending_max)
      out.groups[group] = {slices_of(members[i].report, group), pending_max};
  }
}

void HealthWatch::add_measures(TimeNs now, control::HealthView& out) const {
  out.unsettled_ns = progress_.unsettled_ns(now);
  out.in_flight = progress_.in_flight();
  out.lost = progress_.lost_lately();
  out.filters = filters_.lately(now);
  out.filter_error_share_max = error_share_max_;
  out.draining = draining_;
  if (flow_.is_silent(limits_)) out.flow.silent_ns = flow_.silent_ns();
  out.flow.had_triggers = flow_.had_triggers();
  if (flow_.is_slow(limits_)) out.flow.rate = flow_.rate();
  out.flow.mean_rate = flow_.mean_rate().value_or(0);
  if (flow_.is_dead(limits_)) out.flow.live_share = flow_.live_share();
}

std::vector<control::Finding> HealthWatch::judge(const control::FarmMachine& machine, const Members& members,
                                                 std::optional<control::HealthView::LastRun> last,
                                                 TimeNs now) const {
  control::HealthView seen;
  seen.state = machine.state();
  seen.reason = machine.reason();
  seen.refusal = machine.why_refused();
  seen.under_way = machine.under_way();
  seen.waits_for = machine.waits_for();
  seen.run = machine.run();
  seen.up_ns = now - begin_ns_;
  seen.recalled = begin_ == Begin::recalled;
  seen.heartbeat_ns = heartbeat_ns_;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const control::Member& member = machine.members()[i];
    // A process that ends with the one run is not missed.
    if (machine.is_ending() && !member.live) continue;
    seen.processes.push_back(process_of(member, members[i], machine.run(), now));
    if (member.plan.role == Role::supervisor && !member.live) seen.processes.back().freeze = freeze_;
  }
  add_groups(machine, members, seen);
  add_measures(now, seen);
  seen.full = full(machine, members);
  seen.records = records_;
  seen.missing_disks = missing_disks_;
  seen.disks = disks_;
  seen.off = machine.going_off();
  seen.over = machine.is_over();
  seen.last = std::move(last);
  std::vector<control::Finding> findings = control::health_of(seen);
  name_worst_source(members, findings);
  return findings;
}

std::vector<std::string> HealthWatch::full(const control::FarmMachine& machine,
                                           const Members& members) const {
  if (machine.state() != control::State::running) return {};
  std::vector<reports::NodeUse> nodes;
  for (const auto& [i, loop] : loops_) {
    if (loop.lately())
      nodes.push_back({machine.members()[i].plan.name, members[i].report.role(), *loop.lately()});
  }
  return reports::limits(nodes);
}

std::vector<control::Finding> HealthWatch::findings(const control::FarmMachine& machine,
                                                    const Members& members,
                                                    std::optional<control::HealthView::LastRun> last,
                                                    TimeNs now) const {
  auto findings = judge(machine, members, std::move(last), now);
  return is_watched(machine) ? headline_.keep(std::move(findings), now) : findings;
}

}  // namespace weir::run_control
