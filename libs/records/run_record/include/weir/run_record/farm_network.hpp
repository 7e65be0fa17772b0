#pragma once

#include <weir/config/planned_farm.hpp>
#include <weir/shaping/theory.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// A farm's network, in the terms of libs/building/shaping/theory.hpp: rates and buffers at the hosts, and of
// the links between switches. Pure.
namespace weir::run_record {

struct FarmHost {
  double port_bits_per_s = 0;  // through which its nodes receive; 0: unlimited
  double link_bits_per_s = 0;  // through which its nodes send; 0: unlimited
  double buffer_bytes = 0;     // of the port, frames as Linux counts them; 0: unknown
  std::uint32_t dcms = 0;
  double data_share = 0;  // of each slice, by the number of sources: share of its readouts
};

// One direction of a link between switches.
struct FarmLink {
  std::string name;  // "rack1>core"
  double bits_per_s = 0;
  double buffer_bytes = 0;
  std::vector<double> data_parts;  // by host: the part of its DCMs' data that passes the link
};

struct FarmNetwork {
  std::vector<FarmHost> hosts;
  std::vector<FarmLink> links;        // the limited ones that carry data
  std::uint32_t window_segments = 0;  // static congestion window of each connection; 0: none
  std::uint32_t mtu = 1500;
  bool timestamps = true;
  std::uint32_t readouts = 0;  // that are read

  // Returns the highest rate at which all DCMs together can receive, on the wire, without overloading a
  // readout's link, a link between switches or a DCM's port, if every slice needs its part from every
  // readout. Data that a DCM reads on its own host pass none of them. 0: unlimited or unknown.
  [[nodiscard]] double bits_per_s() const;
  // Returns the slowest port of a DCM; null: none is limited.
  [[nodiscard]] const FarmHost* port() const;
  [[nodiscard]] shaping::EthernetLink link(double bits_per_s) const { return {bits_per_s, mtu, timestamps}; }
};

// Builds it from network.port_rate and network.port_buffer: a host for each readout, and one for the DCMs of
// each port. TCP timestamps are on, as is Linux' default.
[[nodiscard]] FarmNetwork network_of(const config::PlannedFarm& planned);
// Returns, by host, the link between switches that leaves its DCMs less than their port does, if all DCMs
// receive equally; empty: the port does.
[[nodiscard]] std::vector<std::string> narrow_links(const FarmNetwork& network);
// Returns each node's share of all sources that are read, by name.
[[nodiscard]] std::map<std::string_view, double> data_shares(const config::FarmPlan& plan);

// Means over a run, or expected values.
struct SliceLoad {
  double bytes = 0;  // payload of a slice
  double fragments = 0;
};

// docs/summary.md explains each number; 0: unknown.
struct Theory {
  double goodput_bytes_per_s = 0;
  double thesis_goodput_bytes_per_s = 0;
  double serialisation_us = 0;
  std::uint32_t dcms_per_port = 0;
};
[[nodiscard]] Theory theory_of(const FarmNetwork& network, const SliceLoad& load);

}  // namespace weir::run_record
