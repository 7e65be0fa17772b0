#include "settings.hpp"

#include "alarm_letter.hpp"
#include "network_socket.hpp"
#include <weir/config/durations.hpp>
#include <weir/config/hooks.hpp>
#include <weir/config/quality.hpp>
#include <weir/config/rules.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/process.hpp>
#include <weir/node/setup.hpp>
#include <weir/security/keys.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

constexpr double kSecondsPerHour = 3600;

DurationNs seconds(double value) { return static_cast<DurationNs>(std::llround(value * kSecond)); }

std::vector<control::MemberPlan> members_of(const config::FarmPlan& plan, const v1::ControlSettings& settings,
                                            bool one_run) {
  std::vector<control::MemberPlan> members;
  for (const config::NodePlan& node : plan.nodes) {
    if (!node.masked) members.push_back({node.name, node.role, control::Duty::dynamic});
  }
  const auto give = [&](const auto& names, control::Duty duty, const char* key) {
    for (const std::string& name : names) {
      const auto found =
          std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.name == name; });
      if (found == members.end())
        throw std::runtime_error(fmt::format("control.{}: the farm has no process '{}'", key, name));
      found->duty = duty;
    }
  };
  if (!one_run) give(settings.transient(), control::Duty::transient, "transient");
  give(settings.essential(), control::Duty::essential, "essential");
  return members;
}

control::Deadlines deadlines_of(const FarmSetup& setup) {
  constexpr DurationNs kStartOfEach = 100 * kMillisecond;
  const v1::ControlSettings& settings = setup.file().control();
  control::Deadlines deadlines;
  deadlines.order_ns = seconds(settings.order_s());
  deadlines.configure_ns = seconds(settings.configure_s());
  deadlines.init_ns = seconds(settings.init_s());
  deadlines.start_ns =
      seconds(settings.start_s()) + static_cast<DurationNs>(setup.plan().nodes.size()) * kStartOfEach;
  deadlines.stop_ns = config::stop_limit(setup.file());
  deadlines.return_ns = seconds(settings.return_s());
  deadlines.silence_ns = config::from_ms(settings.silence_ms());
  return deadlines;
}

std::vector<control::Rule> rules_of(const FarmSetup& setup) {
  auto rules = config::read_rules(setup.file(), setup.plan());
  if (!rules) throw std::runtime_error(config::to_text(rules.error()));
  return std::move(*rules);
}

config::Alarms alarms_of(const FarmSetup& setup, bool one_run) {
  auto alarms = config::read_alarms(setup.file());
  if (!alarms) throw std::runtime_error(config::to_text(alarms.error()));
  if (one_run) {
    alarms->settings.channels.clear();
    alarms->ways.clear();
  }
  return std::move(*alarms);
}

std::vector<control::Hook> hooks_of(const FarmSetup& setup) {
  auto hooks = config::read_hooks(setup.file());
  if (!hooks) throw std::runtime_error(config::to_text(hooks.error()));
  return std::move(*hooks);
}

std::vector<control::QualityCheck> quality_of(const FarmSetup& setup) {
  auto quality = config::read_quality(setup.file());
  if (!quality) throw std::runtime_error(config::to_text(quality.error()));
  return std::move(*quality);
}

[[noreturn]] void refuse_key(const FarmSetup& setup, const std::string& key, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}: {}", setup.place_of(key), key, why));
}

std::vector<page::Person> people_of(const FarmSetup& setup) {
  constexpr const char* kKey = "control.people";
  const std::string& file = setup.file().control().people();
  if (file.empty()) return {};
  const auto text = read_secret(file);
  if (!text) refuse_key(setup, kKey, text.error());
  auto people = page::read_people(*text);
  if (!people) refuse_key(setup, kKey, file + ": " + people.error());
  return std::move(*people);
}

http::TlsFiles tls_of(const FarmSetup& setup) {
  const v1::ControlSettings& control = setup.file().control();
  const http::TlsFiles files{control.page_certificate(), control.page_key()};
  if (files.certificate.empty() || control.page().empty()) return {};
  if (const auto end = http::check_tls(files); !end) {
    refuse_key(setup, end.error().of_key ? "control.page_key" : "control.page_certificate", end.error().what);
  }
  return files;
}

HealthWatch::Groups groups_of(const FarmSetup& setup) {
  HealthWatch::Groups groups;
  const v1::DcmSettings& dcm = setup.file().dcm();
  for (const config::NodePlan* node : setup.plan().of_role(Role::dcm)) {
    if (node->group < dcm.groups_size()) groups.of_dcm[node->name] = dcm.groups(node->group).name();
  }
  for (const v1::DcmGroupSettings& group : dcm.groups()) {
    groups.pending_max[group.name()] =
        group.pending_max() > 0 ? group.pending_max() : setup.file().supervisor().pending_max();
  }
  return groups;
}

std::string listen_of(const RunControlSettings& settings, const OwnSettings& own) {
  const std::string& listen = settings.listen.empty() ? own.listen : settings.listen;
  if (!listen.empty()) return listen;
  throw std::runtime_error(settings.farm_file +
                           ": control.listen is empty: set it to where run control is to listen, as in "
                           "127.0.0.1:7700");
}

}  // namespace

OwnSettings own_settings(const FarmSetup& setup, bool one_run) {
  const auto& file = setup.file();
  const v1::ControlSettings& control = file.control();
  return {.listen = control.listen(),
          .keys = control.keys(),
          .run_out = file.run().out(),
          .control_out = control.out(),
          .log_file_bytes_max = file.log().file_bytes_max(),
          .log_files_kept = file.log().files_kept(),
          .page = control.page(),
          .page_names = {control.page_names().begin(), control.page_names().end()},
          .page_tls = one_run ? http::TlsFiles{} : tls_of(setup),
          .people = one_run ? std::vector<page::Person>{} : people_of(setup),
          .members = members_of(setup.plan(), control, one_run),
          .deadlines = deadlines_of(setup),
          .heartbeat_ns = config::from_ms(control.heartbeat_ms()),
          .taps_max = file.tap().taps_max(),
          .tap_bytes_per_s = file.tap().rate_bytes_max(),
          .tap_lease_ns = config::from_ms(std::llround(file.tap().lease_s() * kSecond / kMillisecond)),
          .groups = groups_of(setup),
          .rules = rules_of(setup),
          .hooks = hooks_of(setup),
          .disk_limits = {control.disk_free_min(), seconds(control.disk_hours_min() * kSecondsPerHour)},
          .quality = quality_of(setup),
          .alarms = alarms_of(setup, one_run)};
}

bus::HubSettings hub_settings(const std::string& folder, const std::string& listen) {
  const ports::Endpoint at = node::parse_endpoint(listen);
  bus::HubSettings hub;
  hub.host = at.host;
  hub.port = at.port;
  if (at.port != 0) {
    hub.publish_port = static_cast<std::uint16_t>(at.port + 1);
    hub.subscribe_port = static_cast<std::uint16_t>(at.port + 2);
  }
  if (folder.empty()) {
    if (!config::is_loopback(listen)) {
      throw std::runtime_error("control.listen: " + at.host +
                               " is not loopback, where the bus needs keys: create them with `weir keys new "
                               "FOLDER`, and name the folder in control.keys");
    }
    return hub;
  }
  auto keys = security::read_curve_keys(folder + "/" + security::curve_file(security::BusRole::control));
  if (!keys) throw std::runtime_error("control.keys: " + keys.error());
  auto clients = security::read_clients(folder + "/" + std::string(security::kClientsFile));
  if (!clients) throw std::runtime_error("control.keys: " + clients.error());
  hub.keys = std::move(*keys);
  hub.clients = std::move(*clients);
  return hub;
}

bus::HubSettings hub_settings(const RunControlSettings& settings, const OwnSettings& own,
                              std::size_t processes) {
  if (const std::string why = node::allow_descriptors(processes); !why.empty()) throw std::runtime_error(why);
  bus::HubSettings hub = hub_settings(own.keys, listen_of(settings, own));
  hub.connections_max = bus::connections_of(processes);
  if (settings.network.empty()) return hub;
  hub.beside = [settings](std::uint16_t port) {
    return listen_in(settings.network, settings.network_host, port);
  };
  return hub;
}

std::string made_out(const RunControlSettings& settings, const OwnSettings& own) {
  const bool of_run = own.control_out.empty() || settings.one_run;
  auto out = node::made_folder(of_run ? own.run_out : own.control_out);
  if (!out) throw std::runtime_error("control.out: " + out.error());
  return std::move(*out);
}

std::string memory_path(const RunControlSettings& settings, const OwnSettings& own) {
  if (!settings.memory.empty() || settings.one_run) return settings.memory;
  return made_out(settings, own) + "/run-control.state";
}

}  // namespace weir::run_control
