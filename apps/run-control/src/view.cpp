#include "view.hpp"

#include <algorithm>
#include <string>

namespace weir::run_control {

v1::FarmView::Node view_of(const control::Member& member, const Process& process, TimeNs now) {
  v1::FarmView::Node node;
  node.set_name(member.plan.name);
  node.set_role(std::string(name(member.plan.role)));
  node.set_duty(std::string(control::name(member.plan.duty)));
  node.set_live(member.live);
  node.set_inactive(member.inactive);
  node.set_excluded(member.removed);
  v1::MemberState& state = *node.mutable_state();
  state.set_state(std::string(control::name(member.told.state)));
  state.set_run(member.told.run.value);
  state.set_epoch(member.told.epoch);
  state.set_begun(member.told.begun);
  state.set_ended(member.told.ended);
  state.set_reason(member.told.reason);
  node.set_host(process.host);
  node.set_pid(process.pid);
  node.set_metrics(process.metrics);
  node.set_software(process.software);
  node.set_silent_ns(process.client.empty() ? -1 : now - member.heard_ns);
  *node.mutable_report() = process.report;
  return node;
}

void add_machine(const control::FarmMachine& machine, v1::FarmView& view) {
  view.set_state(std::string(control::name(machine.state())));
  if (const auto command = machine.under_way()) view.set_under_way(std::string(control::name(*command)));
  view.set_reason(machine.reason());
  view.set_run(machine.run().value);
  view.set_epoch(machine.epoch());
}

std::vector<control::Finding> with_channels(std::vector<control::Finding> findings,
                                            const std::vector<control::Finding>& channels) {
  for (const control::Finding& one : channels) {
    const auto place = std::ranges::find_if(
        findings, [&](const control::Finding& other) { return other.gravity < one.gravity; });
    findings.insert(place, one);
  }
  return findings;
}

void add_health(const std::vector<control::Finding>& findings, const control::FindingTimes& times,
                v1::FarmView& view) {
  for (const control::Finding& finding : findings) {
    v1::FarmView::Finding& told = *view.add_health();
    told.set_gravity(std::string(control::name(finding.gravity)));
    told.set_word(finding.word);
    told.set_reason(finding.reason);
    told.set_since_utc_ns(times.since(finding, view.utc_ns()));
  }
}

void add_fields(const run_record::RunFields& fields, const v1::ControlSettings& settings,
                v1::FarmView& view) {
  view.mutable_run_fields()->insert(fields.begin(), fields.end());
  *view.mutable_required_fields() = settings.required_fields();
  *view.mutable_run_types() = settings.run_types();
}

void add_counters(const HookDesk::Counts& counts, v1::FarmView& view) {
  auto& all = *view.mutable_counters();
  all["hooks.started"] = counts.started;
  all["hooks.refused"] = counts.refused;
  all["hooks.failed"] = counts.failed;
  all["hooks.dropped"] = counts.dropped;
}

void add_counters(const bus::HubCounters& counters, std::uint64_t refused_joins, v1::FarmView& view) {
  auto& counts = *view.mutable_counters();
  counts["bus.received"] = counters.received;
  counts["bus.published"] = counters.published;
  counts["bus.dropped"] = counters.dropped;
  counts["bus.malformed"] = counters.malformed;
  counts["bus.not_allowed"] = counters.not_allowed;
  counts["bus.too_long"] = counters.too_long;
  counts["bus.ended"] = counters.ended;
  counts["bus.refused_key"] = counters.refused_key;
  counts["bus.refused_handshake"] = counters.refused_handshake;
  counts["bus.refused_join"] = refused_joins;
}

}  // namespace weir::run_control
