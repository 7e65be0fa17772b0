#pragma once

#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/shaping/theory.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <vector>

// A farm's network, as far as the formulas of libs/shaping/theory.hpp go: rates and buffers at the hosts.
// What is between switches is not looked at. Pure.
namespace weir::run_record {

struct FarmHost {
  double port_bits_per_s = 0;  // its nodes receive through; 0: not limited
  double link_bits_per_s = 0;  // they send through; 0: not limited
  double buffer_bytes = 0;     // of the port, frames as Linux counts them; 0: not known
  std::uint32_t dcms = 0;
  double data_share = 0;  // of each slice, by the number of sources: what its readouts hold
};

struct FarmNetwork {
  std::vector<FarmHost> hosts;
  std::uint32_t mtu = 1500;
  bool timestamps = true;
  std::uint32_t readouts = 0;  // that are read

  // What all DCMs together can receive at most, on the wire: min(links of the readouts, ports of the DCMs),
  // where every slice needs its part from every readout, and what a DCM reads on its own host passes neither.
  // 0: not limited, or not known.
  [[nodiscard]] double bits_per_s() const;
  // The slowest port that a DCM receives through; null: none is limited.
  [[nodiscard]] const FarmHost* port() const;
  [[nodiscard]] shaping::EthernetLink link(double bits_per_s) const { return {bits_per_s, mtu, timestamps}; }
};

// By network.port_rate and network.port_buffer: a host for each readout, and for the DCMs of each port. TCP
// time stamps are on, as is Linux' default.
[[nodiscard]] FarmNetwork network_of(const v1::Farm& farm, const config::FarmPlan& plan);
// Ports that change have their mean rate between two times of the run; of an empty time, that of its begin.
[[nodiscard]] FarmNetwork network_of(const lab::LabPlan& lab, const config::FarmPlan& plan, double from_s = 0,
                                     double to_s = 0);

// Means over a run, or what is expected of it.
struct SliceLoad {
  double bytes = 0;  // payload of a slice
  double fragments = 0;
};

// docs/summary.md says what each is; 0: not known.
struct Theory {
  double goodput_bytes_per_s = 0;
  double thesis_goodput_bytes_per_s = 0;
  double serialisation_us = 0;
  std::uint32_t dcms_per_port = 0;
};
[[nodiscard]] Theory theory_of(const FarmNetwork& network, const SliceLoad& load);

}  // namespace weir::run_record
