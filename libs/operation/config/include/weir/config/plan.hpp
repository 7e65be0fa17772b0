#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/role.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// Properties of recorded data on which the farm's layout and checks depend.
struct ReplayContents {
  std::vector<SourceId> sources;  // in the order in which readouts take them
  std::uint64_t slices = 0;
  std::uint64_t slice_bytes_max = 0;     // of the largest slice
  std::uint64_t fragment_bytes_max = 0;  // of the largest fragment
};

// Reads the contents of `path`. The error follows the path's key in messages. This library opens no
// recordings: a caller with a farm that may replay passes a reader (node::read_recording).
using ReplayReader = std::function<Expected<ReplayContents, std::string>(const std::string& path)>;

// NodePlan::entry of a node that is one of `count`.
inline constexpr int kNoEntry = -1;

struct NodePlan {
  std::string name;  // unique in the farm: "readout-0" unless the farm file has another
  Role role = Role::readout;
  NodeIndex index;                // counts the nodes of one role, masked ones too
  std::string listen;             // host:port; empty for a DCM that only connects
  std::vector<SourceId> sources;  // a readout's, in order, masked ones too
  bool masked = false;            // not to be started
  std::string port =
      {};  // of a DCM: the network port through which it receives, shared with others of the same name
  v1::SourceSettings::Kind source_kind = v1::SourceSettings::KIND_DUMMY;  // of a readout
  std::uint8_t group = 0;     // of a DCM: its place in dcm.groups; 0 in a farm without groups
  int entry = kNoEntry;       // index in its role's `nodes` (node_farm.hpp)
  std::string announce = {};  // host:port for DCMs of remote groups; empty: where it listens
  bool remote = false;        // of a DCM: its group is remote
};

struct FarmPlan {
  std::vector<NodePlan> nodes;    // the supervisor, writers, DCMs, readouts
  std::vector<SourceId> sources;  // every source of the farm, in the readouts' order
  std::vector<SourceId> masked;   // those that are not read, ascending

  [[nodiscard]] std::vector<const NodePlan*> of_role(Role role) const;
};

// Lays the farm out: names, roles, and the sources of each readout. The sources of kinds `hits` and `replay`
// are divided into contiguous blocks of sizes that differ by one at most, among the readouts of one entry of
// `readout.nodes` or among all. `replay` is called for source kind replay; without it such a farm is refused.
[[nodiscard]] Expected<FarmPlan, Problems> expand(const v1::Farm& farm, const Locations& locations = {},
                                                  const ReplayReader& replay = {});

// Checks the keys against each other, and against the files they name. Errors and warnings: see Severity.
[[nodiscard]] Problems validate(const v1::Farm& farm, const Locations& locations = {},
                                const ReplayReader& replay = {});

// Returns whether this host:port can be reached from this machine only. An empty address does not listen.
[[nodiscard]] bool is_loopback(std::string_view listen);

}  // namespace weir::config
