#include "settings.hpp"

#include <weir/config/durations.hpp>
#include <weir/config/id_order.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/config/replayed_recording.hpp>
#include <weir/config/silence.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/config/true_tracks.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace weir::supervisor {
namespace {

const char* mode_name(v1::TriggerSettings::Mode mode) {
  switch (mode) {
    case v1::TriggerSettings::MODE_RATE:
      return "rate";
    case v1::TriggerSettings::MODE_POISSON:
      return "poisson";
    case v1::TriggerSettings::MODE_CLOCK:
      return "clock";
    case v1::TriggerSettings::MODE_FILE:
      return "file";
    case v1::TriggerSettings::MODE_NETWORK:
      return "network";
    default:
      return "max";
  }
}

const char* policy_name(v1::SupervisorSettings::Policy policy) {
  switch (policy) {
    case v1::SupervisorSettings::POLICY_STATIC:
      return "static";
    case v1::SupervisorSettings::POLICY_SCHEDULE_TABLE:
      return "schedule-table";
    case v1::SupervisorSettings::POLICY_LEAST_LOADED:
      return "least-loaded";
    case v1::SupervisorSettings::POLICY_LEARNING:
      return "learning";
    default:
      return "credits";
  }
}

std::vector<slice_rows::FileTrigger> read_trigger_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("trigger.file: cannot open '" + path + "'");
  std::ostringstream text;
  text << file.rdbuf();
  auto triggers = slice_rows::parse_trigger_file(text.str(), path);
  if (!triggers) throw std::runtime_error("trigger.file: " + triggers.error());
  return std::move(*triggers);
}

std::vector<assignment::GroupSettings> groups_of(const node::Setup& setup) {
  std::vector<assignment::GroupSettings> groups;
  const auto& from = setup.farm.dcm().groups();
  for (const v1::DcmGroupSettings& each : from) {
    assignment::GroupSettings& group = groups.emplace_back();
    group.name = each.name();
    group.remote = each.remote();
    group.fetches = each.fetch() == v1::DcmGroupSettings::FETCH_BUILDER;
    group.lease_ns = config::from_ms(each.lease_ms());
    group.pending_max = each.pending_max();
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.size()); ++i) {
      const std::string& name = from[static_cast<int>(i)].name();
      if (std::find(each.forward().begin(), each.forward().end(), name) != each.forward().end())
        group.forwards_to.emplace_back(static_cast<std::uint8_t>(i));
    }
  }
  std::uint16_t next = 0;
  for (const config::NodePlan* dcm : setup.plan.of_role(Role::dcm)) {
    if (groups.empty()) break;
    assignment::GroupSettings& group = groups[dcm->group];
    if (group.count++ == 0) group.first = NodeIndex(next);
    ++next;
  }
  return groups;
}

std::unique_ptr<assignment::AssignmentPolicy> policy_of(
    v1::SupervisorSettings::Policy policy, const google::protobuf::RepeatedField<std::uint32_t>& weights,
    const std::string& key) {
  assignment::PolicySettings settings;
  settings.name = policy_name(policy);
  settings.weights.assign(weights.begin(), weights.end());
  auto made = assignment::make_policy(settings);
  if (!made) throw std::runtime_error(key + ": " + made.error().message);
  return std::move(*made);
}

// Returns the slices of the recording that the farm replays; null: its slices are as they are triggered.
std::shared_ptr<const assignment::RecordedTriggers> recorded_triggers(const node::Setup& setup) {
  const auto recording = config::replayed_recording(*setup.whole_farm);
  if (!recording) return nullptr;
  const bool own_path = recording->path == setup.whole_farm->replay().path();  // this host may have another
  const std::string& path = own_path ? setup.farm.replay().path() : recording->path;
  const auto run = ingest::load_recorded_slices(path);
  if (!run) throw std::runtime_error("replay.path: " + run.error().detail);
  const v1::TriggerSettings& trigger = setup.farm.trigger();
  const DurationNs slice_ns = config::from_ms(trigger.slice_ms());
  std::vector<assignment::RecordedTrigger> triggers;
  for (const ingest::RecordedSlice& slice : (*run)->slices) {
    if (recording->by_number && slice.slice > slice_rows::kSliceIdNamedMax) {
      throw std::runtime_error("replay.path: slice " + std::to_string(slice.slice.value) + " of '" + path +
                               "' is above the highest slice id, 2^62 - 2^32 - 1: set replay.loop to true");
    }
    const bool is_of_folder = slice.run == RunNumber();
    const bool without_length = is_of_folder && slice.duration == 0;
    triggers.push_back({slice.slice,
                        {slice.time, without_length ? slice_ns : slice.duration,
                         is_of_folder ? TriggerType(trigger.type()) : slice.trigger_type},
                        {slice.trigger_payload.begin(), slice.trigger_payload.end()}});
  }
  return std::make_shared<assignment::RecordedTriggers>(std::move(triggers), recording->by_number);
}

DurationNs gather_ns(const node::Setup& setup) {
  if (setup.start_limit_ns > 0) return config::gather_patience(setup.start_limit_ns);
  constexpr DurationNs kEach = 100 * kMillisecond;
  return config::from_s(setup.farm.supervisor().gather_s()) +
         static_cast<DurationNs>(setup.plan.nodes.size()) * kEach;
}

bool pushes_by_clock(const node::Setup& setup) {
  const auto mode = setup.farm.trigger().mode();
  const bool by_clock = mode == v1::TriggerSettings::MODE_CLOCK || mode == v1::TriggerSettings::MODE_RATE ||
                        mode == v1::TriggerSettings::MODE_POISSON;
  return by_clock && config::is_push(setup.farm);
}

DurationNs silence_of(const node::Setup& setup, std::uint32_t lease_ms) {
  constexpr DurationNs kReports = 10;
  return std::max(config::from_ms(lease_ms) + config::from_ms(setup.farm.dcm().deadline_ms()),
                  kReports * config::from_ms(setup.farm.supervisor().status_interval_ms()));
}

}  // namespace

SupervisorNodeSettings node_settings(const node::Setup& setup) {
  constexpr DurationNs kSpeaksWithin = 2 * kSecond;
  constexpr DurationNs kNodesReturn = kSecond;
  constexpr DurationNs kReconnects = 3;
  const auto& farm = setup.farm;
  const DurationNs status_interval_ns = config::from_ms(farm.supervisor().status_interval_ms());
  const bool from_network =
      !config::is_by_number(farm) && farm.trigger().mode() == v1::TriggerSettings::MODE_NETWORK;
  return {
      .identity = setup.identity,
      .limits = setup.limits,
      .listen = setup.supervisor,
      .trigger_listen =
          from_network ? std::optional(node::parse_endpoint(farm.trigger().listen())) : std::nullopt,
      .text_listen = from_network && !farm.trigger().listen_text().empty()
                         ? std::optional(node::parse_endpoint(farm.trigger().listen_text()))
                         : std::nullopt,
      .numbers_skew_ns =
          config::is_by_number(farm) ? std::optional(config::from_ms(farm.build().skew_ms())) : std::nullopt,
      .numbers_tolerance_ns = config::from_us(farm.build().time_tolerance_us()),
      .type = TriggerType(farm.trigger().type()),
      .absent = setup.absent,
      .readouts = setup.plan.of_role(Role::readout).size(),
      .writers = setup.plan.of_role(Role::writer).size(),
      .pushes_by_clock = pushes_by_clock(setup),
      .gather_ns = gather_ns(setup),
      .speaks_within = std::min(kSpeaksWithin, 2 * status_interval_ns),
      .status_interval_ns = status_interval_ns,
      .nodes_return_ns = std::max(kNodesReturn, kReconnects * config::from_ms(farm.network().reconnect_ms())),
      .first_slice = farm.trigger().first_slice(),
      .slices = farm.run().slices(),
      .duration_s = farm.run().duration_s(),
      .reports = setup.reports,
      .watcher = setup.watcher,
      .one_run = setup.one_run,
  };
}

DispatchSettings dispatch_settings(const node::Setup& setup) {
  return {.run = setup.run,
          .ids_ascend = config::ids_ascend(setup.farm),
          .true_tracks = config::has_true_tracks(setup.farm),
          .silence_max = silence_of(setup, setup.farm.supervisor().lease_ms())};
}

DurationNs silence_of_group(const node::Setup& setup, const config::NodePlan& node) {
  const auto& groups = setup.farm.dcm().groups();
  if (node.role != Role::dcm || node.group >= groups.size()) return 0;
  const std::uint32_t lease_ms = groups[node.group].lease_ms();
  return lease_ms == 0 ? 0 : silence_of(setup, lease_ms);
}

JournalSettings journal_settings(const node::Setup& setup) {
  return {.run = setup.run, .farm = setup.farm.farm()};
}

BurstAlertSettings burst_alert_settings(const node::Setup& setup) {
  const v1::BurstSettings& burst = setup.farm.burst();
  return {.dcms = setup.plan.of_role(Role::dcm).size(),
          .buffer_bytes = burst.buffer_bytes(),
          .save_bytes_per_s = burst.save_bytes_per_s(),
          .before_ms = static_cast<std::int64_t>(burst.before_s() * 1e3),
          .after_ms = static_cast<std::int64_t>(burst.after_s() * 1e3),
          .filter_alert_ns = config::from_s(burst.filter_alert_s())};
}

TextSettings text_settings(const node::Setup& setup, std::uint64_t claim) {
  TextSettings settings{
      .farm = setup.farm.farm(), .run = setup.run, .keys = node::trigger_keys(setup.farm), .claim = claim};
  const std::string& listen = setup.farm.trigger().listen_text();
  const bool open = setup.farm.security().mode() == v1::SecuritySettings::MODE_OPEN;
  if (!settings.keys && !open && !config::is_loopback(listen)) {
    throw std::runtime_error(
        "trigger.key_file: needed, as trigger.listen_text is " + listen +
        ", which other machines can reach: create a key with `weir keys trigger`, or set "
        "security.mode=open on a private network");
  }
  return settings;
}

AccountSettings account_settings(const node::Setup& setup) {
  AccountSettings settings{.identity = setup.identity,
                           .ran = setup.ran,
                           .id_intervals_max = setup.farm.supervisor().id_intervals_max(),
                           .loss_share_max = setup.farm.source().loss_share_max(),
                           .error_share_max = setup.farm.filter().error_share_max(),
                           .lossy = config::injected_sources(*setup.whole_farm, config::Injected::loss),
                           .damaged = config::injected_sources(*setup.whole_farm, config::Injected::damage),
                           .readout_of = {}};
  for (const config::NodePlan* readout : setup.plan.of_role(Role::readout)) {
    for (const SourceId source : readout->sources) settings.readout_of.emplace(source.value, readout->name);
  }
  for (const SourceId source : setup.plan.masked) settings.readout_of.erase(source.value);
  return settings;
}

StepSettings step_settings(const node::Setup& setup) {
  const v1::BuildSettings& build = setup.farm.build();
  StepSettings settings{build.on_out_of_step(), {}};
  // Readouts that compare nothing have no sources to report.
  const bool by_number = config::is_by_number(setup.farm);
  if (by_number) settings.first_number = SliceId(setup.farm.trigger().first_slice());
  if (!by_number && build.counter_bits() == 0 && build.time_tolerance_us() == 0) return settings;
  for (const config::NodePlan* readout : setup.plan.of_role(Role::readout)) {
    for (const SourceId source : readout->sources) settings.readout_of.emplace(source.value, readout->index);
  }
  for (const SourceId source : setup.plan.masked) settings.readout_of.erase(source.value);
  return settings;
}

assignment::SupervisorSettings machine_settings(const node::Setup& setup) {
  const v1::SupervisorSettings& supervisor = setup.farm.supervisor();
  assignment::SupervisorSettings settings;
  settings.readouts = setup.plan.of_role(Role::readout).size();
  settings.dcms = setup.plan.of_role(Role::dcm).size();
  settings.writers = setup.plan.of_role(Role::writer).size();
  // A slice stays in the readouts' buffers until it is settled: more of them would only wait to be made.
  settings.in_flight_max = std::min(supervisor.in_flight_max(), setup.farm.readout().buffer_slices());
  settings.pending_max = supervisor.pending_max();
  settings.lease_ns = config::from_ms(supervisor.lease_ms());
  settings.data_ns = config::from_ms(setup.farm.dcm().deadline_ms());
  // If another writer is available, a writer that does not acknowledge for this long loses the slice to it.
  settings.writer_ack_ns = settings.lease_ns;
  settings.drain_ns = config::from_s(setup.farm.run().drain_timeout_s());
  settings.filtered_attempts_max = static_cast<std::uint8_t>(supervisor.attempts_max());
  settings.attempts_max = static_cast<std::uint8_t>(settings.filtered_attempts_max + 14);
  settings.slices_max = setup.farm.run().slices();
  settings.duration_ns = config::from_s(setup.farm.run().duration_s());
  settings.first_slice = SliceId(setup.farm.trigger().first_slice());
  settings.id_intervals_max = supervisor.id_intervals_max();
  settings.gate = {supervisor.throttle_low(),
                   std::max(supervisor.throttle_low(), supervisor.throttle_high())};
  settings.reach.settle_ns = config::settle_ns(setup.farm);
  settings.reach.grace_ns = config::from_ms(setup.farm.dcm().grace_ms());
  settings.push = config::is_push(setup.farm);
  settings.groups = groups_of(setup);
  settings.recorded = recorded_triggers(setup);
  settings.ids_ascend = config::is_by_number(setup.farm) || !config::ascending_ids_reason(setup.farm).empty();
  return settings;
}

std::unique_ptr<assignment::TriggerSource> make_triggers(const node::Setup& setup) {
  const v1::TriggerSettings& trigger = setup.farm.trigger();
  assignment::TriggerSettings settings;
  // Numbers that front-ends have counted are offered like triggers from outside.
  settings.mode = config::is_by_number(setup.farm) ? "network" : mode_name(trigger.mode());
  if (trigger.rate_hz() > 0) settings.rate_hz = trigger.rate_hz();
  settings.seed = trigger.seed();
  settings.type = TriggerType(trigger.type());
  settings.slice_ns = config::from_ms(trigger.slice_ms());
  settings.first_slice = SliceId(trigger.first_slice());
  if (trigger.mode() == v1::TriggerSettings::MODE_FILE) settings.file = read_trigger_file(trigger.file());
  auto source = assignment::make_trigger_source(std::move(settings));
  if (!source) throw std::runtime_error("trigger: " + source.error().message);
  return std::move(*source);
}

assignment::DcmGroups::Policies make_policies(const node::Setup& setup) {
  assignment::DcmGroups::Policies policies;
  const v1::SupervisorSettings& supervisor = setup.farm.supervisor();
  for (const v1::DcmGroupSettings& group : setup.farm.dcm().groups())
    policies.push_back(policy_of(group.policy(), group.weights(), "dcm.groups: " + group.name()));
  if (policies.empty())
    policies.push_back(policy_of(supervisor.policy(), supervisor.weights(), "supervisor.policy"));
  return policies;
}

}  // namespace weir::supervisor
