#include "core.hpp"

#include "disks.hpp"
#include "memory_contents.hpp"
#include <weir/clock/clock.hpp>
#include <weir/config/rules.hpp>
#include <weir/node/setup.hpp>
#include <weir/telemetry/log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

// Hz; 0: triggers from outside, or as many as possible.
double trigger_rate(const v1::TriggerSettings& trigger) {
  const bool known =
      trigger.mode() == v1::TriggerSettings::MODE_RATE || trigger.mode() == v1::TriggerSettings::MODE_POISSON;
  return known ? trigger.rate_hz() : 0;
}

ConstBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

RunControl::Core::Core(RunControlSettings settings)
    : begins_with_file_(settings.begins_with_file),
      setup_(settings.farm_file, settings.sets, settings.fallback),
      own_(own_settings(setup_, settings.one_run)),
      log_file_(own_.run_out + "/log/run-control.log", own_.log_file_bytes_max, own_.log_files_kept),
      book_(made_out(settings, own_), settings.one_run ? RunBook::Keeper::starter : RunBook::Keeper::self),
      memory_(memory_path(settings, own_), settings.one_run ? Memory::Extent::state : Memory::Extent::farm),
      hub_(hub_settings(settings, own_, setup_.plan().nodes.size())),
      history_(settings.one_run ? "" : made_out(settings, own_)),
      log_([this](const v1::FarmView::Line& line) {
        if (web_) web_->log("run-control", line);
        hub_.publish("log.run-control", bytes_of(line.SerializeAsString()));
      }),
      machine_(own_.members, own_.deadlines, settings.one_run),
      members_(machine_.members().size()),
      orders_(machine_, members_, setup_, book_,
              [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      hooks_(own_.hooks, made_out(settings, own_) + "/hooks", log_),
      parts_{setup_, own_, log_, book_, machine_, members_, orders_, {}, awake_now_ns()},
      reception_(parts_, {hub_.publish_port(), hub_.subscribe_port()},
                 [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      commands_(parts_),
      rules_(own_.rules, log_, commands_),
      health_(begins_anew() ? HealthWatch::Begin::anew : HealthWatch::Begin::recalled, own_.heartbeat_ns,
              flow_limits(rules_.rules()), parts_.now_ns),
      alarms_(own_.alarms, settings.one_run ? "" : made_out(settings, own_) + "/alarms.jsonl", log_),
      switches_(setup_, own_.deadlines.silence_ns, parts_.now_ns),
      quality_(own_.quality, made_out(settings, own_)),
      disks_(own_.disk_limits),
      frozen_(own_.deadlines.return_ns),
      taps_(parts_, hub_.subscribe_port(),
            [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      going_off_(std::move(settings.going_off)) {
  health_.set_groups(own_.groups);
  parts_.hooks = &hooks_;
  parts_.folder = made_out(settings, own_);
  if (!settings.one_run) {
    const char* key = own_.control_out.empty() ? "run.out" : "control.out";
    folders_.set_folders({{key, made_out(settings, own_), node::FolderWatch::Links::resolved}});
  }
  tell_ports();
  hub_.observe("report.");
  hub_.observe("log.");
  open_page(settings);
  if (memory_.before() != nullptr) recall(*memory_.before());
  if (!setup_.file_problem().empty())
    log_.error("the farm file cannot be used, run control continues with the farm as it was started: " +
               setup_.file_problem());
}

RunControl::Core::~Core() {
  for (const std::string& one : book_.records().unwritten)
    log_.error(one + " is lost: run control ends before it could be written");
}

void RunControl::Core::open_page(const RunControlSettings& settings) {
  const std::string& page = settings.page.empty() && !settings.one_run ? own_.page : settings.page;
  if (page.empty()) return;
  page::PageSettings shown;
  shown.listen = node::parse_endpoint(page);
  shown.token = page_token(made_out(settings, own_) + "/page-token");
  shown.people = own_.people;
  shown.names = own_.page_names;
  shown.tls = own_.page_tls;
  web_.emplace(std::move(shown), made_out(settings, own_), history_);
  hub_.wait_for(web_->descriptor());
}

// False: this process takes over the farm of one that died. `weir up` starts a new session, unless a run is
// open.
bool RunControl::Core::begins_anew() const {
  const v1::ControlMemory* before = memory_.before();
  return before == nullptr || (begins_with_file_ && !before->run_open());
}

void RunControl::Core::recall(const v1::ControlMemory& before) {
  members_.supervisor_listens(RunNumber(before.run()), before.supervisor(), {});
  parts_.disks.recall(disks_of(before));
  rules_.recall(before.next_by());
  alarms_.recall(before, {parts_.now_ns, utc_now_ns()});
  switches_.accounts().recall(before);
  book_.recall(RunNumber(before.run()), before.run_begin_utc_ns());
  book_.recall(before.identity(), {before.run_faults().begin(), before.run_faults().end()},
               {before.run_fields().begin(), before.run_fields().end()});
  control::Remembered farm = farm_of(before);
  if (!recall_settings(before)) ++farm.epoch;  // the processes are given the farm as it is now
  machine_.recall(farm, parts_.now_ns);
  log_.note(control::Level::info,
            fmt::format("run control resumed: the farm was {}, run {}", before.goal(), before.run()));
}

// True: the processes have the configuration that this run control has.
bool RunControl::Core::recall_settings(const v1::ControlMemory& before) {
  if (begins_with_file_ && !before.run_open()) return before.farm_digest() == setup_.digest();
  std::string problem;
  const bool same = setup_.recall(settings_of(before, memory_.farm()), problem);
  if (!problem.empty())
    log_.error("settings of an earlier session do not fit the farm file any more: " + problem);
  if (!same && before.run_open())
    log_.error(
        "the farm file was changed, and the active run's farm cannot be read: processes that restart in this "
        "run take no part");
  return same || before.run_open();
}

v1::ControlMemory RunControl::Core::memory() const {
  v1::ControlMemory memory;
  add_farm(machine_.remembered(), memory);
  add_settings(setup_.remembered(), memory);
  *memory.mutable_identity() = book_.identity();
  for (const std::string& one : book_.faults()) memory.add_run_faults(one);
  memory.mutable_run_fields()->insert(book_.fields().begin(), book_.fields().end());
  memory.set_supervisor(members_.supervisor(RunNumber(memory.run())));
  memory.set_next_by(rules_.next_by());
  memory.set_run_begin_utc_ns(book_.begin_utc());
  add_disks(parts_.disks, memory);
  alarms_.add_to(memory);
  switches_.accounts().add_to(memory);
  return memory;
}

// Warns if a port differs from the farm file's, which a firewall may be configured for.
void RunControl::Core::tell_ports() {
  const auto tell = [this](const char* what, std::uint16_t port, std::uint16_t is) {
    if (port == 0 || port == is) return;
    log_.note(control::Level::warning,
              fmt::format("port {} is taken: {} port {} instead; open it in the firewall", port, what, is));
  };
  tell("publications go to", hub_.settings().publish_port, hub_.publish_port());
  tell("subscribers connect to", hub_.settings().subscribe_port, hub_.subscribe_port());
}

void RunControl::Core::turn(DurationNs wait) {
  hub_.poll(wait, *this);
  log_file_.look(parts_.now_ns);
  parts_.now_ns = awake_now_ns();
  if (const std::string pause = pauses_.look(); !pause.empty())
    log_.note(control::Level::warning, "run control " + pause);
  // Without keys a handshake fails only where a process ends in it.
  if (hub_.settings().keys) log_.strangers(hub_.counters(), parts_.now_ns);
  machine_.tick(parts_.now_ns, parts_.actions);
  look_for_ports();
  frozen_.look(parts_);
  health_.set_freeze(frozen_.freeze());
  look_at_switches();
  look_at_records();
  look_at_disks();
  look_at_rules();
  health_.set_error_share_max(setup_.configured().filter().error_share_max());
  health_.set_expected_rate(trigger_rate(setup_.configured().trigger()));
  health_.look(machine_, members_, parts_.now_ns);
  quality_.look(parts_, utc_now_ns());
  look_at_alarms();
  look_at_history();
  if (web_) {
    web_->answer([this](const v1::Request& wish) {
      std::string error = carry_out(wish);
      web_->set_tried(commands_.tried());
      next_show_ns_ = 0;  // the page shows the effect at once
      return error;
    });
  }
  look_at_hooks();
  carry_out_actions();
  look_for_account();
  tell_watchers();
  log_run();
  for (const std::string& failure : {memory_.keep_farm(setup_), memory_.keep(memory())}) {
    if (!failure.empty()) log_.error(failure);
  }
  show_page();
}

void RunControl::Core::note_events() {
  for (const control::Event& event : std::exchange(parts_.actions.events, {}))
    log_.note(event.level, event.text);
}

void RunControl::Core::carry_out_actions() {
  note_events();
  // Answers may be sent inside; resulting actions belong to the next turn.
  const control::FarmActions taken = std::exchange(parts_.actions, {});
  if (taken.lost) lose_run(*taken.lost);
  if (!taken.without.empty()) {
    v1::Command command;
    command.set_kind(v1::Command::DRAIN);
    command.set_reason("refuses to take part");
    for (const std::size_t member : taken.without) command.add_nodes(machine_.members()[member].plan.name);
    orders_.tell_supervisor(command);
  }
  if (machine_.going_off() && going_off_) std::exchange(going_off_, nullptr)();
  for (const control::Order& order : taken.orders) orders_.send(order);
}

}  // namespace weir::run_control
