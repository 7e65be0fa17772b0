#pragma once

#include <weir/base/time.hpp>
#include <weir/lab/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The switches of a lab with back-pressure: cables, routes, and the room of each stream of frames. Pure.
namespace weir::lab {

// Nodes of the fabric: the hosts in order, then the switches.
using FabricNode = std::size_t;
// Frames that are held back together: all frames of a cable with pause frames; with credits those between two
// hosts, or those to the hosts of one interface card.
using StreamId = std::uint64_t;

// A sending end, as in LabPlan::ports.
struct FabricPort {
  FabricNode from = 0;
  FabricNode to = 0;
  std::size_t back = 0;  // the port that sends the other way along the same cable
  std::uint64_t rate_bits_per_s = 0;
  DurationNs delay_ns = 0;
  // Bytes of one stream that came by this port and wait in the switch at its end: no more fit than `limit`,
  // above `hold` the switch holds the stream back, at `resume` it lets the stream continue.
  std::uint64_t limit = 0;
  std::uint64_t hold = 0;
  std::uint64_t resume = 0;
};

class FabricPlan {
 public:
  // Requires: plan.back_pressure is set, and every end of a cable has a port with a rate.
  explicit FabricPlan(const LabPlan& plan);

  [[nodiscard]] const std::vector<FabricPort>& ports() const { return ports_; }
  [[nodiscard]] std::size_t hosts() const { return hosts_; }
  [[nodiscard]] bool is_host(FabricNode node) const { return node < hosts_; }
  // Returns the port by which a host sends.
  [[nodiscard]] std::size_t host_port(std::size_t host) const { return host_ports_[host]; }
  // Returns the port by which frames between two hosts leave the switch at the end of the port `came_by`.
  [[nodiscard]] std::size_t next_port(std::size_t came_by, std::size_t source, std::size_t destination) const;
  [[nodiscard]] StreamId stream(std::size_t source, std::size_t destination) const;
  [[nodiscard]] std::uint32_t frame_bytes_max() const { return frame_bytes_max_; }
  // Returns why a switch cannot hold its senders back without a loss, or nothing.
  [[nodiscard]] std::optional<std::string> problem(const LabPlan& plan) const;

 private:
  void connect(const LabPlan& plan);
  void route(const LabPlan& plan);
  [[nodiscard]] std::vector<std::size_t> streams_of_ports() const;
  void divide_buffers(const LabPlan& plan);

  std::size_t hosts_;
  FlowControl back_pressure_;
  std::uint32_t frame_bytes_max_;
  std::vector<FabricPort> ports_;
  std::vector<std::size_t> streams_;  // that pass each port
  std::vector<std::size_t> host_ports_;
  std::vector<StreamId> cards_;      // by host; 0: none
  std::vector<std::size_t> routes_;  // by switch and destination
  std::map<std::string, std::size_t> by_device_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t>
      steers_;  // by hosts: the port at the first switch
};

}  // namespace weir::lab
