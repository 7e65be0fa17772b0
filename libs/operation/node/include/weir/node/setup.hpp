#pragma once

#include <weir/base/ids.hpp>
#include <weir/config/plan.hpp>
#include <weir/node/node.hpp>
#include <weir/security/keys.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The common part of all node executables: command line, farm file, identity, the connection to the
// supervisor.
namespace weir::node {

struct CommandLine {
  std::string farm_file;
  std::string name;               // the node's, as in the plan
  std::vector<std::string> sets;  // key=value
  std::string supervisor;         // host:port; empty: supervisor.listen of the farm file
  std::string listen;             // host:port; empty: as in the plan
  std::string log_level;          // empty: the farm file's
  // host:port of a readout in each plane after the first; empty: as in the first, in the planes' networks.
  std::vector<std::string> planes;
  std::vector<std::string> sources;  // ADDRESS/BITS of its connections in these networks; in others: any
  std::string control;               // host:port of run control; empty: control.listen of the farm file
  bool alone = false;                // one run without run control, whatever the farm file says
  bool one_run = false;              // under run control; the process ends with its run
  std::string after;                 // how the process that this one replaces has ended; empty: none, unknown
};

// The settings from which a node is built. Plain data; outlives the node.
struct Setup {
  v1::Farm farm;  // with this node's settings (config::NodeFarm)
  // The whole farm with all nodes and profiles, for the run's records. Never null after make_setup().
  std::shared_ptr<const v1::Farm> whole_farm;
  config::FarmPlan plan;
  config::NodePlan self;
  ports::Endpoint supervisor;  // the supervisor's address
  ports::Endpoint listen;      // this node's address, port 0: any
  // A readout's addresses in the planes after the first. Empty in a farm without planes.
  std::vector<ports::Endpoint> planes;
  std::vector<transport::SourceAddress> sources;  // of its connections, by network
  sessions::PeerInfo identity;
  sessions::PeerLimits limits;
  RunNumber run;
  std::uint64_t claim = 0;  // id of the run's claim (run_claim.hpp); 0: unknown
  // The run's parts (identity.hpp), from the order that begins it; empty without run control. A node that
  // would load other parts throws when it is made.
  v1::RunIdentity run_identity;
  v1::RunIdentity ran;  // the node's own parts except those that it loads itself
  // For the supervisor's node: names of planned nodes for which it does not wait at the start. The run begins
  // without them, and they take part once they connect: a readout from the next slice on; earlier slices lack
  // it (`removed`). Filled by run control with the absent nodes.
  std::vector<std::string> absent;
  ReportSink* reports = nullptr;  // may be null
  RunWatcher* watcher = nullptr;  // may be null
  SampleSink* samples = nullptr;  // may be null: no taps
  bool one_run = false;           // the process ends with this run
  // For the supervisor's node: time until the run has to begin; 0: no limit by run control.
  DurationNs start_limit_ns = 0;
};

// Throws std::runtime_error with all problems, one per line, if the farm file is invalid or has no such node.
[[nodiscard]] Setup make_setup(const CommandLine& line, Role role);
// The same from the farm that run control has sent, independent of the current farm file. Of the command
// line's keys, those for this host (is_local_key()) apply, except the ones in `set_by_operators`.
[[nodiscard]] Setup make_setup(const CommandLine& line, const v1::Farm& farm,
                               const std::vector<std::string>& set_by_operators, Role role);
// Returns true for a key that may differ between hosts without changing the run: addresses, folders, logging.
[[nodiscard]] bool is_local_key(std::string_view key);
// Returns "dcm.credits" for "dcm.credits=8".
[[nodiscard]] std::string key_of(std::string_view assignment);
// The same from a given farm (tests, several nodes in one process).
[[nodiscard]] Setup make_setup(const v1::Farm& farm, const config::FarmPlan& plan, const std::string& name,
                               const ports::Endpoint& supervisor);

// Returns the keys of trigger clients; nullopt without trigger.key_file. Throws std::runtime_error if the
// file has none.
[[nodiscard]] std::optional<security::FarmKeys> trigger_keys(const v1::Farm& farm);
// Returns the authenticator of the farm's connections, or null without security.key_file. Throws
// std::runtime_error if the file is not valid.
[[nodiscard]] std::shared_ptr<const ports::Authenticator> make_authenticator(const v1::Farm& farm);
// Returns the address outside loopback on which this node listens without a key, or an empty string.
[[nodiscard]] std::string exposed_at(const Setup& setup);

// Counts the loop's streams from now on, for a node in a process that had other nodes before. Requires: the
// loop outlives it.
[[nodiscard]] std::function<ports::StreamCounters()> totals_from_now(const transport::Loop& loop);
// Returns the policy, with the keys for TLS if the farm uses it; logs an unknown congestion control. Throws
// like make_authenticator().
[[nodiscard]] transport::SocketPolicy socket_policy(const v1::Farm& farm);
// Returns the same with the source of the node's connections.
[[nodiscard]] transport::SocketPolicy socket_policy(const Setup& setup);
// Returns a new incarnation each time.
[[nodiscard]] Incarnation make_incarnation();
// Returns an id of this boot and process namespace: for two processes with the same id, a pid means the same.
// Empty: unknown.
[[nodiscard]] std::string pid_space();
// Returns the keys of control.keys for a process of the farm, or nothing. Throws std::runtime_error if they
// cannot be read.
[[nodiscard]] std::optional<security::CurveKeys> bus_keys(const v1::Farm& farm);
// Parses "host:port"; throws if the text has another form.
[[nodiscard]] ports::Endpoint parse_endpoint(const std::string& text);
// Returns the supervisor's address for this node, given the one at which it listens: a DCM of a remote group
// connects to supervisor.announce, if that is set.
[[nodiscard]] ports::Endpoint supervisor_for(const Setup& setup, const std::string& listen);

}  // namespace weir::node
