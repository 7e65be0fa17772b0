// Figures of Jereczek's thesis (2017), chapters 5 and 6: queues for each DCM in a software switch, as data.
#include "thesis_parts.hpp"

#include <limits>
#include <string>

namespace weir::bench {

ExperimentSetting leaves_and_spines() {
  ExperimentSetting setting;
  setting.layout = NetworkLayout::leaf_spine;
  setting.readouts = 6;
  setting.readouts_per_rack = 3;
  setting.sources = 1;
  setting.fragment_bytes = 128 * 1024;
  setting.dcms = 6;
  setting.stands_for = 8;
  setting.units = 2;
  setting.port_mbit = setting.host_mbit = setting.uplink_mbit = 10'000;
  setting.nic_mbit = 8700;
  setting.rate_hz = 0;
  return setting;
}

namespace {

// Queues of a software switch with the same memory, and a bridge with the buffer of the setting.
std::vector<Cure> queueings(double ring_packets) {
  const auto cure = [&](const char* label, const char* queue) {
    return Cure{.label = label, .segments = kWholeResponse, .ring_packets = ring_packets, .software = queue};
  };
  return {cure("rings", "per-dcm"),
          cure("output queues", "shared"),
          cure("virtual output queues", "per-input"),
          cure("one queue", "one"),
          {.label = "bridge", .segments = kWholeResponse}};
}

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kSlicesOfHost = 12;  // that its DCMs build at a time

Expectation queueing(const char* cure, Quantity quantity, double least, double most, const char* at,
                     const char* paper) {
  return {.cure = cure, .quantity = quantity, .least = least, .most = most, .at = at, .paper = paper};
}

Experiment queueing_figure() {
  Experiment figure;
  figure.id = "5.5";
  figure.title = "Queues of a software switch: all to all without a shaper, 32 KiB a readout";
  figure.setting = all_to_all();
  figure.setting.dcms = 4;
  figure.setting.units = 3;
  figure.setting.fragment_bytes = 32 * 1024;
  figure.setting.port_kb = 100;
  figure.setting.rto_ms = 2000;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.004;
  figure.times = {3, 8};
  figure.cures = queueings(1024);
  figure.expectations = {
      queueing("rings", Quantity::share, 0.97, kNone, "5.4.2, Figure 5.5a",
               "rings reach 98.5 % of theory, without a shaper"),
      queueing("rings", Quantity::drops, -kNone, 0, "5.4.2", "rings drop no packet, even with few cores"),
      queueing("rings", Quantity::over_serialisation, 0.9 * kSlicesOfHost, 1.1 * kSlicesOfHost, "5.4.2",
               "the mean latency is 13.8 ms, where the twelve events of a host take 14.6"),
      queueing("output queues", Quantity::share, 0.94, kNone, "5.4.2, Figure 5.5a",
               "output queues saturate at 96.1 %"),
      queueing("virtual output queues", Quantity::share, 0.9, kNone, "5.4.2, Figure 5.5a",
               "virtual output queues reach 92.8 % in the best case"),
      {.at = "5.4.2, Figure 5.5a",
       .paper = "the goodput of each strategy by the number of cores",
       .cannot = "the switch is one thread, and this machine has no core of its own for it"}};
  with_static_window(figure);
  figure.differs =
      "Six hosts with four DCMs each, that build three slices at a time, instead of twelve with twelve, 32 "
      "KiB a readout instead of 128, 1,024 packets of memory for each DCM in "
      "all rows, and a switch that shares the cores with the farm. At this speed twelve slices take 0.4 s, "
      "so "
      "TCP's shortest timeout is 2 s (sysctl tcp_rto_min_us, Linux 6.11 or newer): with 0.2 s "
      "segments that only wait are sent again. The paper's output queues are in network "
      "cards, with less memory than its rings; ours have the same. The bridge has 100 kB at each port.";
  return figure;
}

Experiment slow_dcm_figure() {
  Experiment figure;
  figure.id = "5.5-slow";
  figure.title =
      "Queues of a software switch with a slow DCM: 24 readouts of 8 KiB, four DCMs, the last at a tenth";
  figure.setting.layout = NetworkLayout::one_switch;
  figure.setting.readouts = 24;
  figure.setting.sources = 1;
  figure.setting.fragment_bytes = 8 * 1024;
  figure.setting.dcms = 4;
  figure.setting.units = 2;
  figure.setting.port_mbit = figure.setting.host_mbit = 10'000;
  figure.setting.slow_mbit = 1000;
  figure.setting.port_kb = 32;
  figure.setting.rate_hz = 0;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.005;
  figure.times = {3, 8};
  figure.cures = queueings(512);
  figure.expectations = {
      queueing("rings", Quantity::share, 0.97, kNone, "5.4.1.3",
               "a queue for each DCM can make the switch fair to all of them (here: the slow one costs the "
               "others nothing)"),
      queueing("rings", Quantity::drops, -kNone, 0, "5.4.1.3",
               "rings should lose nothing even under heavy incast"),
      queueing("one queue", Quantity::share, -kNone, 0.6, "5.4.1",
               "a full transmit queue holds packets back in the queues before it (that a single queue then "
               "slows all DCMs is our conclusion)"),
      queueing("bridge", Quantity::drops, 1, kNone, "5.4.1",
               "usual software switches drop packets at a full transmit queue")};
  with_static_window(figure);
  figure.differs =
      "The thesis measures these queues all to all (Figure 5.5) and has no case of one slow DCM. Rates are "
      "ours: three ports of 50 Mb/s and one of 5; theory "
      "is their sum. The bridge has 32 kB at each port, the other rows 512 packets for each DCM.";
  return figure;
}

Experiment ring_figure() {
  Experiment figure;
  figure.id = "5.8";
  figure.title = "Rings with a rate of 0.777 Gb/s for each DCM: all to all, 128 KiB a readout";
  figure.setting = all_to_all();
  figure.setting.dcms = 4;
  figure.setting.fragment_bytes = 128 * 1024;
  figure.setting.port_kb = 600;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scaling.rings = 5.0 / 11;  // flows to a DCM
  figure.scale = 0.004;
  figure.times = {3, 8};
  figure.vary = Vary::ring;
  figure.x = {128, 512, 1024, 2048};
  // The paper's 12 DCMs of a host have 9.32 Gb/s of its 10 together: three of them are one here.
  figure.cures = {{.label = "rings",
                   .segments = kWholeResponse,
                   .ring_packets = 1,
                   .ring_mbit = 9324.0 / 4,
                   .own_rings = true}};
  figure.expectations = {
      {.x_to = 512,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "5.4.2.2",
       .paper = "rings of 128 or 512 packets are too small: incast"},
      {.x_to = 512,
       .quantity = Quantity::mean_ms,
       .over_x = 2048,
       .least = 2,
       .at = "5.4.2.2",
       .paper = "and have a very high mean latency, by TCP timeouts"},
      {.x_from = 1024,
       .quantity = Quantity::drops,
       .most = 0,
       .at = "5.4.2.2",
       .paper = "larger ones drop none"},
      {.x_from = 1024,
       .quantity = Quantity::over_serialisation,
       .most = 1.2,
       .at = "5.4.2.2",
       .paper = "then the latency is 17.2 ms, with low jitter; the serialisation takes 15.6 ms (1.10 times)"},
      {.x_from = 1024,
       .quantity = Quantity::share,
       .least = 0.72,
       .most = 0.88,
       .at = "5.4.2.2",
       .paper = "80 % of theory, less than without shaping: by the shaping, and by limits of the traffic "
                "generators"}};
  with_static_window(figure);
  figure.differs =
      "0.777 Gb/s are 32 packets of 1518 bytes in 500 us; the text rounds to 0.78, the caption to "
      "0.8. Four DCMs on each of six hosts stand for twelve on each of twelve, with a ring each of "
      "three times the rate: a slice is 450 segments over five flows instead of 990 over eleven, "
      "and the rings' sizes are scaled alike.";
  return figure;
}

Experiment large_burst_figure() {
  Experiment figure;
  figure.id = "5.10";
  figure.title = "Ring size for a burst of 9,790 segments: 110 readouts of 128 KiB, one DCM at 0.78 Gb/s";
  figure.setting.layout = NetworkLayout::one_switch;
  figure.setting.readouts = 110;
  figure.setting.sources = 1;
  figure.setting.fragment_bytes = 128 * 1024;
  figure.setting.rate_hz = 0;
  figure.times = {4, 10};
  figure.vary = Vary::ring;
  figure.x = {1000, 3000, 4500, 7000, 9000, 9500, 10'000};
  figure.cures = {{.label = "rings", .segments = kWholeResponse, .ring_packets = 1, .ring_mbit = 780}};
  figure.expectations = {
      {.x_from = 9500,
       .quantity = Quantity::drops,
       .most = 0,
       .at = "5.4.2.3",
       .paper =
           "rings of 9000 packets or more, nearly an event's number, have no jitter (here no losses from "
           "9310 on, by the arithmetic below; 9000 itself loses frames here)"},
      {.x_from = 9500,
       .quantity = Quantity::over_serialisation,
       .most = 1.05,
       .at = "5.4.2.3",
       .paper = "and a mean latency of 159 ms, where the serialisation takes 156 (1.02 times)"},
      {.x_to = 8999,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "5.4.2.3",
       .paper = "shorter ones make the switch drop packets"},
      {.x_to = 8999,
       .quantity = Quantity::over_serialisation,
       .least = 1.25,
       .at = "5.4.2.3",
       .paper = "with high jitter and mean latency"},
      {.x_to = 4999,
       .quantity = Quantity::slow,
       .least = 1,
       .at = "5.4.2.3",
       .paper = "below 5000 each event has a timeout of 200 ms or more"}};
  with_static_window(figure);
  figure.differs =
      std::string(
          "Here a slice is 1,001 segments of 1,448 bytes (11 x 91), which the readouts send in 11.1 ms; in "
          "this time the "
          "ring passes on 70 of them at 78 Mb/s. So it is lossless from 931 packets on: 9,310 in the paper's "
          "unit, "
          "beyond the 9,000 there. A slice alone takes 156 ms, so 200 ms and more mean a timeout.") +
      kModernTcp;
  return figure;
}

// The statements about one configuration at the paper's optimum.
void add_optimum(Experiment& figure, const char* cure, double gbit, const char* no_drops) {
  Expectation at{.cure = cure, .x_from = gbit, .x_to = gbit, .quantity = Quantity::drops, .most = 0};
  at.at = "Figure 6.8g, 6.3.2.1";
  at.paper = no_drops;
  figure.expectations.push_back(at);
}

Experiment ring_rate_figure() {
  Experiment figure;
  figure.id = "6.8";
  figure.title =
      "Rate of the rings in a plane of leaves and spines: 6 readouts of 128 KiB, 6 hosts with DCMs";
  figure.setting = leaves_and_spines();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.005;
  figure.times = {4, 10};
  figure.vary = Vary::ring_rate;
  figure.x = {0.6, 0.75, 0.91, 1.04, 1.2, 1.47};
  // Each ring holds both slices of its DCM: 1,086 packets.
  const Cure rings = {.label = "one spine", .segments = 2 * kWholeResponse, .ring_packets = 2048};
  figure.cures = {rings, rings};
  figure.cures[1].label = "two spines";
  figure.cures[1].spines = 2;
  add_optimum(figure, "one spine", 0.91,
              "3 packets in 40 us, 0.91 Gb/s, are the optimum: no packet is dropped");
  figure.expectations.push_back({.cure = "one spine",
                                 .x_from = 0.91,
                                 .x_to = 0.91,
                                 .quantity = Quantity::share,
                                 .least = 0.91,
                                 .at = "Figure 6.9",
                                 .paper = "with 95.7 % of the theoretical limit"});
  add_optimum(figure, "two spines", 1.04,
              "3 packets in 35 us, 1.04 Gb/s, are the optimum: no packet is dropped");
  figure.expectations.push_back({.cure = "two spines",
                                 .x_from = 1.04,
                                 .x_to = 1.04,
                                 .quantity = Quantity::share,
                                 .over_x = 0.91,
                                 .least = 1,
                                 .at = "6.3.2.1",
                                 .paper = "which maximises the goodput (judged here beside a slower ring)"});
  figure.expectations.push_back(
      {.x_from = 1.2,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "6.3.2.1",
       .paper = "bursts overflow the small buffers of the hosts' cards; tuned rings avoid drops"});
  figure.expectations.push_back(
      {.at = "6.3.2.1",
       .paper = "two planes: 4 packets in 33 us, 1.47 Gb/s, 11.8 Gb/s to a host; all percentiles "
                "below 6 ms",
       .cannot = "the figure has one plane; a lab with several has no rate of the hosts' cards"});
  with_static_window(figure);
  figure.differs =
      "The hosts' cards of 8.7 Gb/s and 64 kB were put in so that the optimum with two spines is where the "
      "paper has it. There PCIe gen1 gives the two ports of a host 12.19 Gb/s together (6.3.2.1), and small "
      "buffers on the cards overflow; the text does not say how much passes one port. So the place of that "
      "optimum is not a result. One DCM with two "
      "slices "
      "at a "
      "time and eight times the ring's rate stands for the eight DCMs of a host. The formula of section "
      "6.2.2 gives "
      "6.67 Gb/s a host with one spine, 0.83 a DCM, and two spines do not limit it.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_rings() {
  return {queueing_figure(), slow_dcm_figure(), ring_figure(), large_burst_figure(), ring_rate_figure()};
}

}  // namespace weir::bench
