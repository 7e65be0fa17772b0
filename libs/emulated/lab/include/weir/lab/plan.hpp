#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/switching/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The layout of a lab: its parts, their names, and the place of each node. Made from the lab file alone, or
// with a farm. Pure.
namespace weir::lab {

// Network namespaces, by number: the switches, the control network, then the hosts in order.
using Space = std::size_t;
constexpr Space kSwitches = 0;
constexpr Space kControl = 1;
constexpr Space kFirstHost = 2;

// Bytes of an Ethernet frame on the wire that Linux does not count: preamble 8, checksum 4, gap 12.
constexpr std::uint32_t kOverheadBytes = 24;
// The shortest frame on the wire: 64 with its checksum, preamble, gap.
constexpr std::uint32_t kShortestBytes = 84;
constexpr std::uint32_t kEthernetHeaderBytes = 14;

enum class Offloads : std::uint8_t { none, checksum, all };

// How a switch holds its senders back instead of dropping frames.
enum class FlowControl : std::uint8_t { none, pause, credits };
[[nodiscard]] const char* name_of(FlowControl back_pressure);

// The device of a slow card, in its host's namespace.
inline constexpr const char* kNicDevice = "nic";

// The sending end of a link, or a host's slow card, with a limited rate and counters.
struct Port {
  std::string name;  // "switch>h8"
  Space space = kSwitches;
  std::string device;
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
  bool to_host = false;  // from a switch to a host
  // Addresses of DCMs behind it, each with a ring of its own. Empty: one queue for all frames.
  std::vector<std::string> rings;
};

// Pauses of a host's nodes: `for_ns` long, every `every_ns`, the first after `every_ns`. 0: never.
struct Pause {
  std::int64_t every_ns = 0;
  std::int64_t for_ns = 0;
};

// A host's interface in one plane.
struct LabLeg {
  std::string device;   // at its switch
  std::string nic;      // in the host
  std::string address;  // in the plane's data network
  std::string mac;
  std::vector<std::string> dcm_addresses;
  std::size_t attached = 0;
};

struct LabHost {
  std::string name;
  std::string address;                     // in the data network, device `data`
  std::string control_address;             // device `control`
  std::string mac;                         // of `data`
  std::vector<std::string> dcm_addresses;  // more of `data`, one for each of its DCMs
  std::size_t attached = 0;                // the switch, by number
  std::size_t card = 0;      // interface card of that switch, shared by hosts with the same one; 0: its own
  bool own_port = false;     // sends at a limited rate, through a Port of its own
  bool slow_nic = false;     // receives at a limited rate, through a Port of its own, device `nic`
  bool relayed_nic = false;  // with software switches that card is a machine beside them
  Offloads offloads = Offloads::checksum;
  std::string congestion_control;  // empty: the farm's
  std::vector<std::string> nodes;  // the farm's, by name
  bool has_dcm = false;            // one of them is a DCM
  std::size_t spine = 0;           // with leaves and spines: the spine for frames to this host
  Pause pause;
  double cpu_share = 0;  // of one core, for all its nodes together; 0: not limited
  double loss = 0;       // share of the frames to it
  // Share of the bits to it that are damaged; a frame with one is lost.
  double bit_errors = 0;
  std::int64_t delay_ns = 0;      // of its link, in each direction
  std::vector<LabLeg> more_legs;  // in the planes after the first

  // Returns its interface in this plane, from 0.
  [[nodiscard]] LabLeg leg(std::size_t plane) const {
    if (plane > 0) return more_legs[plane - 1];
    return {name, "data", address, mac, dcm_addresses, attached};
  }
  // The devices of a relayed card, in the space of the switches: at its link, and towards the host.
  [[nodiscard]] std::string card_link() const { return name + ".in"; }
  [[nodiscard]] std::string card_exit() const { return name + ".to"; }
  // Returns whether frames to it are lost on purpose.
  [[nodiscard]] bool loses_frames() const { return loss > 0 || bit_errors > 0; }
};

// A cable between two switches: two devices, each named after its switch and the other end.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string from_device;
  std::string to_device;
  std::int64_t delay_ns = 0;
};

// At a switch, frames for a host leave by this device. One entry exists for each switch and host: no flooding
// and no learning, so that links may form loops.
struct Forward {
  std::size_t host = 0;
  std::string device;
  std::size_t plane = 0;
};

// Frames from one host to another leave their leaf by this device, in spite of its Forward.
struct Steer {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string device;
  std::size_t plane = 0;
};

struct RelayedEnd {
  Space space = kSwitches;
  std::string device;
};

// A link that a relay in user space carries: the long line of topology wan, or a link with a delay.
struct RelayedLink {
  RelayedEnd from;
  RelayedEnd to;
  std::uint64_t rate_bits_per_s = 0;  // 0: only delays, because ports at both ends limit it
  std::uint64_t buffer_bytes = 0;     // of frames that wait for their turn at this rate
  std::int64_t delay_ns = 0;
};

// A time of the run in which the long line drops every frame.
struct Outage {
  std::int64_t at_ns = 0;
  std::int64_t for_ns = 0;
};

// A time of the run in which a part of a plane carries no frame.
struct PlaneCut {
  std::int64_t at_ns = 0;
  std::int64_t for_ns = 0;
  std::string what;                  // "plane 2", "h3 in plane 2", "leaf1>spine1 in plane 2"
  std::vector<std::string> devices;  // of switches, which are down meanwhile
};

struct Foreign {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t rate_bits_per_s = 0;  // 0: unlimited
  std::int64_t start_ns = 0;
  std::int64_t stop_ns = 0;  // 0: with the run
};

// A port's rate and buffer from a given time of the run on.
struct PortChange {
  std::int64_t at_ns = 0;
  std::size_t port = 0;  // of LabPlan::ports
  std::uint64_t rate_bits_per_s = 0;
  std::uint64_t buffer_bytes = 0;
};

// The place of a node of the farm.
struct LabPlace {
  Space space = kControl;
  std::string address;               // its address for listening
  std::vector<std::string> planes;   // a readout's, likewise in the planes after the first
  std::vector<std::string> sources;  // of its connections in each data network, as 10.77.128.1/16; empty: any
  std::string congestion_control;    // empty: the farm's
};

struct LabPlan {
  std::string name;
  std::string topology;  // "star"
  FlowControl back_pressure = FlowControl::none;
  // The queues of all switches, if they are those of weir-switch instead of bridges.
  std::optional<switching::Queueing> software;
  std::uint32_t mark_packets = 0;  // in a queue of these, above which frames are marked; 0: never
  bool nic_pauses = false;         // relayed cards send pause frames while half of their buffer is full
  std::uint32_t mtu = 1500;
  std::uint64_t burst_bytes = 0;
  std::uint32_t window_segments = 0;
  bool static_window = false;  // kept through losses, by a congestion control instead of the route
  std::vector<std::pair<std::string, std::string>> sysctls;  // of every host: "ipv4/tcp_timestamps", "0"
  std::size_t planes = 1;
  std::vector<std::string> switches;
  std::vector<LabHost> hosts;
  std::vector<Link> links;
  std::vector<Port> ports;  // the limited ones
  std::uint32_t ring_packets = 0;
  std::uint64_t ring_bits_per_s = 0;  // at which a ring is emptied at most; 0: as the port
  std::vector<Forward> forwards;
  std::vector<Steer> steers;
  std::optional<RelayedLink> line;  // of topology wan
  std::vector<Foreign> foreign;
  std::uint32_t cpu_load = 0;              // processes that only compute
  std::vector<PortChange> changes;         // sorted by time
  std::vector<Outage> outages;             // likewise, of the line
  std::vector<PlaneCut> cuts;              // likewise
  std::map<std::string, LabPlace> places;  // of every node that is not masked; empty without a farm

  // Returns whether routes lock the window. Then a loss still reduces it.
  [[nodiscard]] bool locks_windows() const { return window_segments > 0 && !static_window; }
  // Sets the TCP congestion control of every host and node.
  void set_congestion_control(const std::string& name_of_it);
  // Returns `ports`, followed by the two directions of the line, if any.
  [[nodiscard]] std::vector<Port> counted_ports() const;
  // Returns the long line, if any, followed by the links with a delay. Empty with a fabric, which delays.
  [[nodiscard]] std::vector<RelayedLink> relayed_links() const;
  // Returns whether all switches are a machine in user space (SwitchFabric) instead of the kernel's bridges.
  [[nodiscard]] bool has_fabric() const { return back_pressure != FlowControl::none; }
  // Returns whether a relay carries frames between TAP devices.
  [[nodiscard]] bool needs_relay() const {
    return has_fabric() || software.has_value() || !relayed_links().empty();
  }
  // Returns the addresses of the host to which the data of its DCMs are sent.
  [[nodiscard]] std::vector<std::string> ring_addresses(std::size_t host, std::size_t plane = 0) const;
  [[nodiscard]] std::size_t spaces() const { return kFirstHost + hosts.size(); }
  // Returns "switches", "control" or the host's name.
  [[nodiscard]] std::string space_name(Space space) const;
  // Returns the port's mean rate between two times of the run, with its changes; for an empty interval, its
  // rate at the beginning.
  [[nodiscard]] double mean_rate(std::size_t port, double from_s, double to_s) const;
  // Returns whether the line is down at this time of the run.
  [[nodiscard]] bool line_is_down(std::int64_t at_ns) const;
};

// The supervisor's address, at which `weir run` reaches it.
[[nodiscard]] std::string control_address();
// Returns the data network of a plane, from 0: "10.77.0.0/16".
[[nodiscard]] std::string data_network(std::size_t plane);
// Prefix length of all networks: "10.77.0.0/16", "10.78.0.0/16".
constexpr int kPrefixBits = 16;

// Plans the lab. `farm`: null for a lab without a farm. Errors name the key of the lab file.
[[nodiscard]] Expected<LabPlan, config::Problems> plan_lab(const config::LabFile& file,
                                                           const config::FarmPlan* farm);

}  // namespace weir::lab
