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

// What all node executables share: command line, farm file, identity, the connection to the supervisor.
namespace weir::node {

struct CommandLine {
  std::string farm_file;
  std::string name;               // the node's, as the plan names it
  std::vector<std::string> sets;  // key=value
  std::string supervisor;         // host:port; empty: supervisor.listen of the farm file
  std::string listen;             // host:port; empty: as the plan says
  std::string log_level;          // empty: the farm file's
  std::string control;            // host:port of run control; empty: control.listen of the farm file
  bool alone = false;             // one run without run control, whatever the farm file says
  bool one_run = false;           // under run control, and the process ends with its run
};

// Everything a node is built from. Plain data; outlives the node.
struct Setup {
  v1::Farm farm;  // as this node has it (config::NodeFarm)
  // The whole farm, with all nodes and profiles: what the run's records contain. Never null after
  // make_setup().
  std::shared_ptr<const v1::Farm> whole_farm;
  config::FarmPlan plan;
  config::NodePlan self;
  ports::Endpoint supervisor;  // where the supervisor listens
  ports::Endpoint listen;      // where this node does, port 0: any
  sessions::PeerInfo identity;
  sessions::PeerLimits limits;
  RunNumber run;
  std::uint64_t claim = 0;  // whose run of this number it is (run_claim.hpp); 0: not told
  // What the run is made of (identity.hpp), as the order that begins it says; empty without run control. A
  // node that would load anything else throws when it is made.
  v1::RunIdentity run_identity;
  v1::RunIdentity ran;  // the node's own parts but for those that it loads itself
  // For the supervisor's node: names of nodes of the plan that it does not wait for at the start. The run
  // begins without them, and they take part from when they come; a readout from the next slice on, the ones
  // before are without it (`removed`). Run control fills it with those that it knows not to be there.
  std::vector<std::string> absent;
  ReportSink* reports = nullptr;  // may be none
  RunWatcher* watcher = nullptr;  // likewise
  SampleSink* samples = nullptr;  // likewise: then there are no taps
  bool one_run = false;           // the process ends with this run
  // For the supervisor's node: time until the run has to have begun; 0: run control sets no limit.
  DurationNs start_limit_ns = 0;
};

// Throws std::runtime_error with all problems, one per line, when the farm file is not good or has no such
// node.
[[nodiscard]] Setup make_setup(const CommandLine& line, Role role);
// The same from the farm that run control has sent, whatever the farm file says by now. Of the command line's
// keys those count that say where things are on this host (is_local_key()), but for those in
// `set_by_operators`.
[[nodiscard]] Setup make_setup(const CommandLine& line, const v1::Farm& farm,
                               const std::vector<std::string>& set_by_operators, Role role);
// True for a key that may differ from host to host without changing what a run is: addresses and folders,
// logging.
[[nodiscard]] bool is_local_key(std::string_view key);
// "dcm.credits" of "dcm.credits=8".
[[nodiscard]] std::string key_of(std::string_view assignment);
// The same from a farm at hand (tests, several nodes in one process).
[[nodiscard]] Setup make_setup(const v1::Farm& farm, const config::FarmPlan& plan, const std::string& name,
                               const ports::Endpoint& supervisor);

// What the farm's connections prove themselves with; empty without security.key_file. Throws
// std::runtime_error, a sentence, when the file is not good.
[[nodiscard]] std::shared_ptr<const ports::Authenticator> make_authenticator(const v1::Farm& farm);
// Where this node listens outside loopback without a key; empty: it does not.
[[nodiscard]] std::string exposed_at(const Setup& setup);

// Counts the loop's streams from now on: a node's own, in a process that had others before. The loop outlives
// it.
[[nodiscard]] std::function<ports::StreamCounters()> totals_from_now(const transport::Loop& loop);
// With the keys for TLS where the farm wants it; throws as make_authenticator().
[[nodiscard]] transport::SocketPolicy socket_policy(const v1::Farm& farm);
// Another one each time.
[[nodiscard]] Incarnation make_incarnation();
// The same for two processes when a pid means the same to both: this boot of the machine, and the namespace.
// Empty: not known.
[[nodiscard]] std::string pid_space();
// Of control.keys, for a process of the farm; none without. Throws a sentence when they cannot be read.
[[nodiscard]] std::optional<security::CurveKeys> bus_keys(const v1::Farm& farm);
// "host:port"; throws when it is not that.
[[nodiscard]] ports::Endpoint parse_endpoint(const std::string& text);

}  // namespace weir::node
