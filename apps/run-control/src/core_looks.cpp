#include "core.hpp"
#include "disks.hpp"
#include "hook_account.hpp"
#include "view.hpp"
#include <weir/clock/clock.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/transport/free_ports.hpp>

#include <algorithm>
#include <utility>

namespace weir::run_control {
namespace {

constexpr DurationNs kShowInterval = kSecond;
constexpr DurationNs kPortLookInterval = 2 * kSecond;

}  // namespace

void RunControl::Core::look_at_hooks() {
  if (own_.hooks.empty()) return;
  if (const auto answered = commands_.look_at_hooks()) {
    if (!asker_.client.empty()) {
      v1::BusMessage message;
      message.mutable_reply()->set_id(asker_.id);
      message.mutable_reply()->set_error(answered->error);
      message.mutable_reply()->set_good(answered->error.empty());
      hub_.send(asker_.client, message);
    }
    asker_ = {};
  }
  const control::TransitionWatch::Seen now{machine_.state(), machine_.under_way(),
                                           !machine_.why_refused().empty(), book_.open()};
  for (const control::TransitionWatch::Passed& one : transitions_.look(now)) {
    if (hooks_.has(one.point)) hooks_.inform(one.point, account_after(parts_, one.run));
  }
}

// Processes of this host that cannot connect cannot report why.
void RunControl::Core::look_for_ports() {
  if (parts_.now_ns < next_port_look_ns_) return;
  next_port_look_ns_ = parts_.now_ns + kPortLookInterval;
  const std::string why = transport::no_port_left();
  if (!why.empty() && !std::exchange(no_port_told_, true)) log_.error(why);
  no_port_ = why;
}

// Also immediately at a transition, and when the farm is off: the process may end before the next second, and
// the page keeps its last state.
void RunControl::Core::show_page() {
  if (!web_) return;
  const v1::RunSummary* account = book_.account();
  const Shown now{machine_.is_over(), machine_.all_gone(), account == nullptr ? 0 : account->run(),
                  machine_.state(), hooks_.waits() ? hooks_.waits() : machine_.under_way()};
  if (parts_.now_ns < next_show_ns_ && now == shown_) return;
  shown_ = now;
  next_show_ns_ = parts_.now_ns + kShowInterval;
  if (grouped_ != setup_.digest()) {
    grouped_ = setup_.digest();
    auto groups = config::source_groups(setup_.configured(), setup_.plan());
    web_->set_groups(groups ? std::move(*groups) : std::vector<config::SourceGroupPlan>());
  }
  web_->show(view(), account);
}

void RunControl::Core::look_at_switches() {
  const control::Remembered farm = machine_.remembered();
  SwitchAccounts& accounts = switches_.accounts();
  if (!farm.run_open) {
    accounts.end();
  } else if (!accounts.is_on() || accounts.run() != farm.run) {
    for (auto& [client, table] : switches_.begin(farm.run, book_.begin_utc(), parts_.now_ns)) {
      v1::BusMessage message;
      *message.mutable_switch_table() = std::move(table);
      hub_.send(client, message);
    }
  }
  switches_.look(parts_.now_ns);
}

void RunControl::Core::look_at_rules() {
  if (rules_.wants_next() && !machine_.under_way() && !machine_.remembered().run_open)
    rules_.start_next(machine_.state(), setup_.run_sets(), run_record::inherited(book_.fields()));
  if (rules_.is_due(parts_.now_ns))
    rules_.look(rules_view(machine_, members_, book_.begin_utc(), utc_now_ns(), health_.flow()),
                parts_.now_ns);
}

void RunControl::Core::look_at_records() {
  if (book_.keeper() == RunBook::Keeper::starter) return;
  for (const control::Event& event : book_.look(parts_.now_ns, own_room()))
    log_.note(event.level, event.text);
  control::HealthView::Records records = book_.records();
  if (!memory_.failure().empty()) {
    records.unwritten.emplace_back("the farm's state");
    if (records.why.empty()) records.why = memory_.failure();
  }
  health_.set_records(std::move(records));
}

// Returns the bytes that run control may still write into control.out; nullopt: unknown.
std::optional<std::uint64_t> RunControl::Core::own_room() const {
  if (parts_.own_spaces.empty()) return std::nullopt;
  return parts_.own_spaces.begin()->second.free_bytes;
}

void RunControl::Core::look_at_disks() {
  if (folders_.look(parts_.now_ns)) parts_.own_places = folders_.places();
  look_at_space();
  if (parts_.now_ns < next_disk_look_ns_) return;
  next_disk_look_ns_ = parts_.now_ns + node::FolderWatch::kInterval;
  auto missing = missing_disks(parts_);
  note_unmounted(parts_, missing);
  health_.set_missing_disks(std::move(missing));
}

void RunControl::Core::look_at_space() {
  probe_.look(parts_.own_places, parts_.now_ns);
  parts_.own_spaces.clear();
  for (const control::FolderPlace& place : parts_.own_places) {
    if (const auto space = probe_.of(place.folder, parts_.now_ns)) parts_.own_spaces[place.folder] = *space;
  }
  disks_.look(parts_);
  health_.set_disks(disks_.uses());
}

// The farm that ends on purpose raises no alarm.
void RunControl::Core::look_at_alarms() {
  if (alarms_.is_due(parts_.now_ns)) {
    auto present = findings();
    alarms_.look(parts_, present, utc_now_ns());
    for (control::Finding& one : alarms_.findings()) present.push_back(std::move(one));
    finding_times_.look(present, utc_now_ns());
  }
  alarms_.turn(parts_, utc_now_ns());
}

std::vector<control::Finding> RunControl::Core::findings() const {
  auto findings = health_.findings(machine_, members_, book_.last_run(machine_.run()), parts_.now_ns);
  if (!no_port_.empty()) findings.insert(findings.begin(), {control::Gravity::error, "no port", no_port_});
  const auto below = std::find_if(findings.begin(), findings.end(),
                                  [](const auto& one) { return one.gravity < control::Gravity::warning; });
  auto further = hooks_.findings();
  if (auto silent = sequence_.finding(parts_.now_ns)) further.push_back(std::move(*silent));
  for (control::Finding& one : quality_.findings()) further.push_back(std::move(one));
  for (control::Finding& one : switches_.findings(parts_.now_ns)) further.push_back(std::move(one));
  if (web_) {
    if (auto certificate = web_->finding(utc_now_ns())) further.push_back(std::move(*certificate));
  }
  findings.insert(below, further.begin(), further.end());
  // A grave check is not below warnings.
  std::ranges::stable_sort(findings, std::ranges::greater(), &control::Finding::gravity);
  return findings;
}

void RunControl::Core::look_at_history() {
  if (const std::string trouble = history_.take_trouble(); !trouble.empty())
    log_.note(control::Level::warning, trouble);
  if (!history_.is_due(parts_.now_ns)) return;
  auto values = sampler_.sample(machine_, members_, parts_.now_ns);
  if (const auto share = health_.live_share()) values["farm/live_share"] = *share;
  for (const control::DiskUse& disk : disks_.uses()) {
    const double share = control::free_share(disk.space);
    const auto [at, is_new] = values.try_emplace("farm/disk_free_share", share);
    if (!is_new) at->second = std::min(at->second, share);
  }
  switches_.add_to(values, parts_.now_ns);
  history_.take(parts_.now_ns, utc_now_ns(), values);
}

void RunControl::Core::log_run() {
  const RunNumber run = machine_.remembered().run;
  if (std::exchange(logged_run_, run) != run) telemetry::set_log_run(run.value);
}

void RunControl::Core::look_for_account() {
  const auto run = book_.take_overdue(machine_.remembered().run_open, machine_.all_gone(), parts_.now_ns);
  if (run) lose_run({*run, true, "its supervisor ended it, and the account did not arrive"});
}

void RunControl::Core::lose_run(const control::LostRun& lost) {
  std::vector<v1::Report> reports;
  for (std::size_t i = 0; i < members_.size(); ++i) reports.push_back(members_[i].report);
  for (const control::Event& event :
       book_.lose(lost, reports, setup_.configured().farm(), switches_.accounts().accounts(lost.run)))
    log_.note(event.level, event.text);
}

}  // namespace weir::run_control
