#include "run_setup.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/planes.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/paths.hpp>
#include <weir/node/recordings.hpp>
#include <weir/node/run_folder.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/security/farm_authenticator.hpp>
#include <weir/transport/congestion_control.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <system_error>

namespace weir::node {
namespace {

constexpr std::string_view kTlsPurpose = "weir 1 tls";

[[noreturn]] void fail(const config::Problems& problems) {
  throw std::runtime_error(config::to_text(problems));
}

security::FarmKeys farm_keys(const v1::Farm& farm) {
  auto keys = security::read_farm_keys(farm.security().key_file());
  if (!keys) throw std::runtime_error("security.key_file: " + keys.error());
  return std::move(*keys);
}

std::vector<transport::TlsKey> tls_keys(const v1::Farm& farm) {
  std::vector<transport::TlsKey> keys;
  if (!farm.security().tls()) return keys;
  if (farm.security().key_file().empty())
    throw std::runtime_error("security.key_file: needed by security.tls: create keys with `weir keys new`");
  for (const security::FarmKey& key : farm_keys(farm).keys)
    keys.push_back({key.name, security::derived_secret(key, kTlsPurpose)});
  return keys;
}

// Checks the actual address, because the command line can override the plan's.
void check_exposure(const Setup& setup) {
  const std::string where = exposed_at(setup);
  if (where.empty() || setup.farm.security().mode() == v1::SecuritySettings::MODE_OPEN) return;
  throw std::runtime_error("security.key_file: needed, as " + setup.identity.name + " listens at " + where +
                           ", which other machines can reach: create keys with `weir keys new`, or "
                           "set security.mode=open on a private network");
}

}  // namespace

Incarnation make_incarnation() {
  std::random_device device;
  return Incarnation((std::uint64_t{device()} << 32 | device()) | 1);
}

std::string pid_space() {
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (!std::getline(boot, id) || error) return {};
  return id + " " + space.string();
}

std::optional<security::CurveKeys> bus_keys(const v1::Farm& farm) {
  if (farm.control().keys().empty()) return std::nullopt;
  auto keys =
      security::read_curve_keys(farm.control().keys() + "/" + security::curve_file(security::BusRole::node));
  if (!keys) throw std::runtime_error("control.keys: " + keys.error());
  return std::move(*keys);
}

std::string exposed_at(const Setup& setup) {
  if (setup.limits.authenticator) return {};
  if (setup.identity.role == Role::dcm && setup.self.listen.empty()) return {};
  const bool supervises = setup.identity.role == Role::supervisor;
  const std::string listen = ports::to_text(supervises ? setup.supervisor : setup.listen);
  if (!config::is_loopback(listen)) return listen;
  for (const ports::Endpoint& plane : setup.planes) {
    if (const std::string there = ports::to_text(plane); !config::is_loopback(there)) return there;
  }
  const auto& trigger = setup.farm.trigger();
  const bool takes_triggers = supervises && trigger.mode() == v1::TriggerSettings::MODE_NETWORK;
  return takes_triggers && !config::is_loopback(trigger.listen()) ? trigger.listen() : std::string();
}

void resolve_out(Setup& setup, const std::string& before) {
  v1::RunSettings& run = *setup.farm.mutable_run();
  const bool writes = setup.identity.role == Role::writer || setup.identity.role == Role::supervisor;
  std::error_code error;
  if (writes && !before.empty() && !std::filesystem::is_directory(before, error)) {
    throw std::runtime_error("run.out: the folder '" + before +
                             "', in which this run was begun, no longer exists: move it back");
  }
  const Expected<std::string, std::string> resolved = before.empty() ? resolved_folder(run.out()) : before;
  if (!resolved) throw std::runtime_error("run.out: " + resolved.error());
  run.set_out(*resolved);
  auto whole = std::make_shared<v1::Farm>(*setup.whole_farm);
  whole->mutable_run()->set_out(*resolved);
  setup.whole_farm = std::move(whole);
}

std::shared_ptr<const ports::Authenticator> make_authenticator(const v1::Farm& farm) {
  if (farm.security().key_file().empty()) return nullptr;
  return std::make_shared<security::FarmAuthenticator>(farm_keys(farm));
}

std::optional<security::FarmKeys> trigger_keys(const v1::Farm& farm) {
  if (farm.trigger().key_file().empty()) return std::nullopt;
  auto keys = security::read_trigger_keys(farm.trigger().key_file());
  if (!keys) throw std::runtime_error("trigger.key_file: " + keys.error());
  return std::move(*keys);
}

ports::Endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  unsigned port = 65536;
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
    if (parsed.ec != std::errc() || parsed.ptr != end) port = 65536;
  }
  if (colon == 0 || port > 65535) throw std::runtime_error("'" + text + "' is not HOST:PORT");
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);  // [::1]:7000
  return {host, static_cast<std::uint16_t>(port)};
}

std::function<ports::StreamCounters()> totals_from_now(const transport::Loop& loop) {
  return [&loop, before = loop.stream_totals()] { return loop.stream_totals() - before; };
}

transport::SocketPolicy socket_policy(const v1::Farm& farm) {
  const auto& network = farm.network();
  const std::string problem = transport::congestion_control_problem(network.congestion_control());
  if (!problem.empty()) spdlog::warn("network.congestion_control: {}", problem);
  return {network.congestion_control(),
          network.no_delay(),
          static_cast<int>(network.send_buffer_bytes()),
          static_cast<int>(network.receive_buffer_bytes()),
          tls_keys(farm),
          {}};
}

transport::SocketPolicy socket_policy(const Setup& setup) {
  transport::SocketPolicy policy = socket_policy(setup.farm);
  policy.sources = setup.sources;
  return policy;
}

namespace {

// A readout listens in every plane.
void listen_at(const ports::Endpoint& at, Setup& setup) {
  setup.listen = at;
  setup.planes.clear();
  if (setup.self.role != Role::readout) return;
  std::vector<std::string> hosts = config::addresses_in_planes(setup.farm, at.host);
  for (std::size_t i = 1; i < hosts.size(); ++i) setup.planes.push_back({std::move(hosts[i]), at.port});
}

}  // namespace

Setup make_setup(const v1::Farm& farm, const config::FarmPlan& plan, const std::string& name,
                 const ports::Endpoint& supervisor) {
  Setup setup;
  setup.plan = plan;
  for (const config::NodePlan& node : plan.nodes) {
    if (node.name == name) setup.self = node;
  }
  if (setup.self.name.empty()) {
    std::string names;
    for (const config::NodePlan& node : plan.nodes) names += (names.empty() ? "" : ", ") + node.name;
    throw std::runtime_error("the farm has no node '" + name + "'; it has " + names);
  }
  setup.farm = config::NodeFarms(farm).of(setup.self).farm;
  setup.whole_farm = std::make_shared<const v1::Farm>(farm);
  setup.supervisor = supervisor;
  if (!setup.self.listen.empty()) listen_at(parse_endpoint(setup.self.listen), setup);
  setup.run = RunNumber(farm.run().number());
  WEIR_ASSERT(farm.network().frame_bytes_max() <= UINT32_MAX);
  setup.limits.frame_bytes_max = static_cast<std::uint32_t>(farm.network().frame_bytes_max());
  // Room for all nodes, for some of them twice until a lost connection is noticed, and for a few that only
  // watch.
  setup.limits.connections_max = 2 * plan.nodes.size() + 64;
  // In each plane heartbeats have connections of their own.
  if (!farm.network().planes().empty()) setup.limits.connections_max += 2 * plan.nodes.size();
  setup.limits.authenticator = make_authenticator(farm);
  setup.limits.hello_timeout_ns = config::from_ms(farm.network().hello_timeout_ms());
  sessions::PeerInfo& identity = setup.identity;
  identity.role = setup.self.role;
  identity.name = name;
  identity.index = setup.self.index;
  identity.run = setup.run;
  identity.farm = farm.farm();
  identity.incarnation = make_incarnation();
  for (const SourceId source : setup.self.sources) {
    if (!std::binary_search(plan.masked.begin(), plan.masked.end(), source))
      identity.sources.push_back(source);
  }
  if (identity.role == Role::dcm) identity.credits = setup.farm.dcm().credits();
  return setup;
}

ports::Endpoint supervisor_for(const Setup& setup, const std::string& listen) {
  const std::string& announce = setup.farm.supervisor().announce();
  return parse_endpoint(setup.self.remote && !announce.empty() ? announce : listen);
}

namespace {

void take_planes(const std::vector<std::string>& addresses, Setup& setup) {
  const auto planes = static_cast<std::size_t>(setup.farm.network().planes_size());
  if (setup.self.role != Role::readout) {
    if (!addresses.empty())
      throw std::runtime_error("--plane: is for readouts, and '" + setup.self.name + "' is none");
    return;
  }
  if (!addresses.empty()) setup.planes.clear();
  for (const std::string& address : addresses) setup.planes.push_back(parse_endpoint(address));
  if (setup.planes.size() + 1 == std::max<std::size_t>(1, planes)) return;
  throw std::runtime_error(
      "--plane: '" + setup.self.name + "' has " + std::to_string(setup.planes.size() + 1) +
      " addresses, at " + ports::to_text(setup.listen) + " and in further planes, and the farm " +
      std::to_string(planes) +
      " network.planes: listen in the first of them, or give --plane for each of the others");
}

// Returns the setup of the node that the command line names.
Setup own_setup(const CommandLine& line, const v1::Farm& farm, const config::Locations& locations,
                Role role) {
  const auto plan = config::expand(farm, locations, read_recording);
  if (!plan) fail(plan.error());
  const std::string supervisor = line.supervisor.empty() ? farm.supervisor().listen() : line.supervisor;
  Setup setup = make_setup(farm, *plan, line.name, parse_endpoint(supervisor));
  if (line.supervisor.empty()) setup.supervisor = supervisor_for(setup, supervisor);
  if (!line.listen.empty() && role == Role::supervisor) setup.supervisor = parse_endpoint(line.listen);
  if (!line.listen.empty() && role != Role::supervisor) listen_at(parse_endpoint(line.listen), setup);
  take_planes(line.planes, setup);
  for (const std::string& text : line.sources) {
    const auto source = transport::parse_source(text);
    if (!source) throw std::runtime_error("--source: '" + text + "' is not like 10.77.128.1/16");
    setup.sources.push_back(*source);
  }
  if (setup.identity.role != role) {
    throw std::runtime_error("node '" + line.name + "' is a " + std::string(name(setup.identity.role)) +
                             ", this program is a " + std::string(name(role)));
  }
  check_exposure(setup);
  return setup;
}

}  // namespace

std::string key_of(std::string_view assignment) {
  return std::string(assignment.substr(0, assignment.find('=')));
}

bool is_local_key(std::string_view key) {
  constexpr std::string_view kSections[] = {"control.", "log.", "metrics.", "security."};
  constexpr std::string_view kKeys[] = {"dcm.host",           "filter.search_path", "hits.truth_file",
                                        "readout.host",       "replay.path",        "run.out",
                                        "source.search_path", "supervisor.listen",  "trigger.key_file",
                                        "writer.host",        "writer.listen"};
  return std::any_of(std::begin(kSections), std::end(kSections),
                     [key](std::string_view section) { return key.starts_with(section); }) ||
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Setup make_setup(const CommandLine& line, Role role) {
  auto file = config::load_farm(line.farm_file);
  if (!file) fail(file.error());
  for (const std::string& set : line.sets) {
    if (const auto problems = config::apply_override(file->farm, set, &file->locations); !problems.empty()) {
      fail(problems);
    }
  }
  return own_setup(line, file->farm, file->locations, role);
}

Setup make_setup(const CommandLine& line, const v1::Farm& farm,
                 const std::vector<std::string>& set_by_operators, Role role) {
  v1::Farm here = farm;
  config::Locations locations("the farm that run control sent");
  for (const std::string& set : line.sets) {
    const std::string key = key_of(set);
    const auto& theirs = set_by_operators;
    if (!is_local_key(key) || std::find(theirs.begin(), theirs.end(), key) != theirs.end()) continue;
    if (const auto problems = config::apply_override(here, set, &locations); !problems.empty())
      fail(problems);
  }
  Setup setup = own_setup(line, here, locations, role);
  setup.whole_farm = std::make_shared<const v1::Farm>(farm);
  return setup;
}

namespace {

// Applies the order's run number and overrides to the farm.
void take_run(const v1::Order& order, v1::Farm& farm) {
  farm.mutable_run()->set_number(order.run());
  for (const std::string& one : order.sets()) {
    if (const auto problems = config::apply_override(farm, one); !problems.empty()) fail(problems);
  }
}

}  // namespace

std::unique_ptr<Setup> run_setup(const Setup& configured, const v1::Order& order) {
  auto setup = std::make_unique<Setup>(configured);
  setup->run = RunNumber(order.run());
  setup->claim = order.claim();
  setup->identity.run = setup->run;
  setup->identity.incarnation = make_incarnation();
  setup->absent.assign(order.absent().begin(), order.absent().end());
  setup->start_limit_ns = config::from_ms(order.limit_ms());
  take_run(order, setup->farm);
  v1::Farm whole = *configured.whole_farm;
  take_run(order, whole);
  setup->run_identity = order.identity();
  *setup->ran.add_parts() = farm_part(whole);
  require(order.identity(), setup->ran.parts(0));
  setup->whole_farm = std::make_shared<const v1::Farm>(std::move(whole));
  resolve_out(*setup, order.out());
  if (setup->self.role != Role::supervisor) {
    setup->supervisor = supervisor_for(*setup, order.supervisor());
  } else if (!order.listen().empty()) {
    setup->supervisor = parse_endpoint(order.listen());
  }
  return setup;
}

std::vector<FolderWatch::Folder> data_folders(const Setup& setup, FolderWatch::Links run_out) {
  const Role role = setup.self.role;
  const bool keeps_journal = role == Role::supervisor && setup.farm.supervisor().journal();
  if (role == Role::writer || keeps_journal) return {{"run.out", setup.farm.run().out(), run_out}};
  if (role == Role::dcm && setup.farm.burst().disk_bytes() > 0)
    return {{"burst.folder", setup.farm.burst().folder()}};
  return {};
}

}  // namespace weir::node
