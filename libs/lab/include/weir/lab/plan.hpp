#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// A lab laid out: what there is, what it is called and which node is where. Made from the lab file alone, or
// with a farm. Pure.
namespace weir::lab {

// Network namespaces, by number: the switches, the control network, then the hosts in order.
using Space = std::size_t;
constexpr Space kSwitches = 0;
constexpr Space kControl = 1;
constexpr Space kFirstHost = 2;

// What an Ethernet frame takes on the wire beside what Linux counts: preamble 8, checksum 4, gap 12.
constexpr std::uint32_t kOverheadBytes = 24;
// The shortest frame on the wire: 64 with its checksum, preamble, gap.
constexpr std::uint32_t kShortestBytes = 84;

enum class Offloads : std::uint8_t { none, checksum, all };

// The limited, counted end of a link from which frames leave.
struct Port {
  std::string name;  // "switch>h8"
  Space space = kSwitches;
  std::string device;
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
  bool to_host = false;  // from a switch to a host
};

// A host's nodes stand still for so long, that often; the first time after `every_ns`. 0: never.
struct Pause {
  std::int64_t every_ns = 0;
  std::int64_t for_ns = 0;
};

struct Host {
  std::string name;
  std::string address;          // in the data network, device `data`
  std::string control_address;  // device `control`
  std::string mac;              // of `data`
  std::size_t attached = 0;     // the switch, by number
  bool own_port = false;        // it sends at a limited rate, through a Port of its own
  Offloads offloads = Offloads::checksum;
  std::string congestion_control;  // empty: the farm's
  std::vector<std::string> nodes;  // the farm's, by name
  bool has_dcm = false;            // one of them is a DCM
  std::size_t spine = 0;           // where leaves and spines are: what is sent to it goes there
  Pause pause;
  double cpu_share = 0;  // of one core, for all its nodes together; 0: not limited
  double loss = 0;       // share of the frames to it
};

// A cable between two switches: two devices, each named for where it is and where it leads.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string from_device;
  std::string to_device;
};

// At a switch, frames for a host leave by this device. There is one for each switch and host: nothing is
// flooded or learnt, so that links may form loops.
struct Forward {
  std::size_t host = 0;
  std::string device;
};

// Frames from one host to another leave their leaf by this device, whatever its Forward says.
struct Steer {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string device;
};

// A long line between the two switches of the topology wan, which are its ends.
struct Line {
  std::string from_device;
  std::string to_device;
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
  std::int64_t delay_ns = 0;
};

struct Foreign {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t rate_bits_per_s = 0;  // 0: unlimited
  std::int64_t start_ns = 0;
  std::int64_t stop_ns = 0;  // 0: with the run
};

// A port's rate and buffer from a time of the run on.
struct PortChange {
  std::int64_t at_ns = 0;
  std::size_t port = 0;  // of LabPlan::ports
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
};

// Where a node of the farm runs.
struct NodePlace {
  Space space = kControl;
  std::string address;             // it listens there
  std::string congestion_control;  // empty: the farm's
};

struct LabPlan {
  std::string name;
  std::string topology;  // "star"
  std::uint32_t mtu = 1500;
  std::uint64_t burst_bytes = 0;
  std::uint32_t window_segments = 0;
  std::vector<std::pair<std::string, std::string>> sysctls;  // of every host: "ipv4/tcp_timestamps", "0"
  std::vector<std::string> switches;
  std::vector<Host> hosts;
  std::vector<Link> links;
  std::vector<Port> ports;  // the limited ones
  std::vector<Forward> forwards;
  std::vector<Steer> steers;
  std::optional<Line> line;
  std::vector<Foreign> foreign;
  std::uint32_t cpu_load = 0;               // processes that only compute
  std::vector<PortChange> changes;          // in the order of their times
  std::map<std::string, NodePlace> places;  // of every node that is not masked; empty without a farm

  // `ports`, and then the two directions of the line, if there is one.
  [[nodiscard]] std::vector<Port> counted_ports() const;
  [[nodiscard]] std::size_t spaces() const { return kFirstHost + hosts.size(); }
  // "switches", "control" or the host's name.
  [[nodiscard]] std::string space_name(Space space) const;
  // The port's rate between two times of the run, with its changes; of an empty time, its rate at the begin.
  [[nodiscard]] double mean_rate(std::size_t port, double from_s, double to_s) const;
};

// Where the supervisor is, and `weir run` meets it.
[[nodiscard]] std::string control_address();
// Both networks are so long: "10.77.0.0/16", "10.78.0.0/16".
constexpr int kPrefixBits = 16;

// `farm`: null for a lab alone. Errors name the key of the lab file.
[[nodiscard]] Expected<LabPlan, config::Problems> plan_lab(const config::LabFile& file,
                                                           const config::FarmPlan* farm);

}  // namespace weir::lab
