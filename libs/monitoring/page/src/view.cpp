#include <weir/control/states.hpp>
#include <weir/farm_view/disks.hpp>
#include <weir/farm_view/display_state.hpp>
#include <weir/farm_view/sequence.hpp>
#include <weir/page/view.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace weir::page {
namespace {

constexpr double kNsPerSecond = 1e9;

std::vector<control::Command> commands_of(const v1::FarmView& view, control::State state) {
  if (view.over()) return {};
  if (!view.under_way().empty()) return {control::Command::reset};
  std::vector<control::Command> commands;
  for (const control::StateTransition& one : control::transitions()) {
    if (one.from == state && one.command != control::Command::off) commands.push_back(one.command);
  }
  return commands;
}

MemberView page_member(const v1::FarmView& view, const v1::FarmView::Node& node) {
  MemberView member;
  member.name = node.name();
  member.role = node.role();
  member.host = node.host();
  member.pid = node.live() ? node.pid() : 0;
  member.importance = node.duty();
  member.heartbeat_age_s = static_cast<double>(node.silent_ns()) / kNsPerSecond;
  if (node.silent_ns() < 0) member.heartbeat_age_s = -1;
  farm_view::DisplayState shown = farm_view::display_state(view, node);
  member.state = std::move(shown.state);
  member.reason = std::move(shown.reason);
  if (!node.report().name().empty()) member.report = std::make_shared<const v1::Report>(node.report());
  return member;
}

std::vector<control::Finding> health_of(const v1::FarmView& view) {
  std::vector<control::Finding> health;
  for (const v1::FarmView::Finding& one : view.health()) {
    const auto gravity = control::gravity_of(one.gravity()).value_or(control::Gravity::error);
    health.push_back({gravity, one.word(), one.reason()});
    if (one.since_utc_ns() != 0) health.back().lasts_ns = view.utc_ns() - one.since_utc_ns();
  }
  return health;
}

void add_alarms(const v1::FarmView& view, Farm& farm) {
  for (const v1::Alarm& one : view.alarms()) {
    control::Alarm& alarm = farm.alarms.emplace_back();
    alarm.name = one.name();
    alarm.gravity = control::gravity_of(one.gravity()).value_or(control::Gravity::error);
    alarm.reason = one.reason();
    alarm.since_utc = one.since_utc_ns();
    alarm.acked_by = one.acked_by();
  }
  for (const v1::AlarmShelf& one : view.shelves())
    farm.shelves.push_back({one.name(), one.by(), one.until_utc_ns()});
  for (const v1::FarmView::AlarmChannel& one : view.alarm_channels())
    farm.alarm_channels.push_back({one.name(), one.error()});
}

void add_checks(const v1::FarmView& view, Farm& farm) {
  farm.checks_run = view.checks_run();
  for (const v1::FarmView::Check& one : view.checks())
    farm.checks.push_back({one.name(), one.histogram(), one.verdict(),
                           control::gravity_of(one.gravity()).value_or(control::Gravity::warning),
                           one.reason()});
  if (view.has_live_share()) farm.live_share = view.live_share();
}

// The last reports before a run's end lack its last slices, which the account contains.
void show_account(const v1::RunSummary& account, Farm& farm) {
  for (const v1::Report& report : account.nodes()) {
    const auto member = std::find_if(farm.members.begin(), farm.members.end(),
                                     [&](const MemberView& one) { return one.name == report.name(); });
    if (member != farm.members.end()) member->report = std::make_shared<const v1::Report>(report);
  }
}

RunEntry page_run(const v1::FarmView::Run& run) {
  return {run.run(),      run.begin_utc_ns(), run.running_ns(),       run.triggered(), run.stored(),
          run.rejected(), run.discarded(),    run.balanced(),         run.faults(),    run.reason(),
          run.outcome(),  run.failure(),      run.discarded_at_stop()};
}

}  // namespace

Farm farm_of(const v1::FarmView& view, const v1::RunSummary* last) {
  Farm farm;
  farm.name = view.farm();
  farm.state = control::state_of(view.state()).value_or(control::State::error);
  farm.health = health_of(view);
  farm.under_way = control::command_of(view.under_way());
  farm.run = view.run();
  farm.now_utc_ns = view.utc_ns();
  farm.run_begin_utc_ns = view.run_begin_utc_ns();
  farm.commands = commands_of(view, farm.state);
  for (const auto& one : view.overrides())
    farm.overrides.push_back({one.key(), one.value(), one.origin(), one.in_force(), one.unset()});
  farm.over = view.over();
  for (const auto& node : view.nodes()) farm.members.push_back(page_member(view, node));
  farm.disks = farm_view::disks_of(view);
  for (const auto& one : view.switches()) {
    for (const auto& ring : one.report().rings())
      farm.switch_rings.push_back({one.report().name(), ring.name(), ring.waiting(), ring.waiting_bytes(),
                                   ring.waiting_most(), ring.waiting_bytes_most(), ring.room(), ring.frames(),
                                   ring.dropped()});
  }
  add_alarms(view, farm);
  if (view.has_sequence()) farm.sequence = farm_view::sequence_text(view.sequence(), view.utc_ns());
  add_checks(view, farm);
  const bool ended = view.over() || view.run_begin_utc_ns() == 0;
  if (last != nullptr && ended && last->run() == view.run()) show_account(*last, farm);
  if (last != nullptr) farm.ledger = ledger_lines(*last);
  farm.run_fields = {view.run_fields().begin(), view.run_fields().end()};
  farm.required_fields = {view.required_fields().begin(), view.required_fields().end()};
  farm.run_types = {view.run_types().begin(), view.run_types().end()};
  for (int i = view.runs_size(); i-- > 0;) farm.runs.push_back(page_run(view.runs(i)));
  return farm;
}

}  // namespace weir::page
