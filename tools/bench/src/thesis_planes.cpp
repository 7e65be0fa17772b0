// Figures of Jereczek's thesis (2017), chapter 6: parallel planes, as data.
#include "thesis_parts.hpp"

#include <string>
#include <vector>

namespace weir::bench {
namespace {

constexpr double kRingMbit = 1472;              // 4 packets of 1518 bytes in 33 us (figure 6.8g)
constexpr double kWirePerRing = 1538.0 / 1518;  // the thesis leaves out preamble and gap
constexpr double kBoundS = 0.45;                // heartbeats: 3 misses, one each 150 ms
constexpr double kMarginS = 1;

Expectation about_cut(Quantity quantity, double least, double most, const char* at, const char* paper) {
  Expectation one{.tcp = Tcp::new_tcp, .quantity = quantity, .least = least, .most = most};
  one.at = at;
  one.paper = paper;
  return one;
}

Expectation about_congestion(const char* cure, Quantity quantity, double least, double most, const char* at,
                             const char* paper) {
  Expectation one = about_cut(quantity, least, most, at, paper);
  one.cure = cure;
  return one;
}

constexpr const char* kNoCards =
    "hosts of a lab with planes have no slow cards, and without them nothing overflows (lab.nic_rate)";

// The thesis' one plane with one spine; its other two rows need two planes with slow cards.
Experiment congestion_figure() {
  Experiment figure;
  figure.id = "6.9";
  figure.title = "Rings, rings with a rate, and Cubic in a plane with one spine, hosts with slow cards";
  figure.setting = leaves_and_spines();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.005;
  figure.times = {4, 10};
  constexpr double kOptimumMbit = 910;  // 3 packets in 40 us, for each of eight DCMs
  const Cure rings = {.label = "rings", .segments = 2 * kWholeResponse, .ring_packets = 2048};
  Cure limited = rings;
  limited.label = "rings with a rate";
  limited.ring_mbit = kOptimumMbit * figure.setting.stands_for * kWirePerRing;
  figure.cures = {rings, limited, plain_tcp()};
  Expectation rings_less =
      about_congestion("rings", Quantity::share, -kUnbounded, 0.75, "6.3.2.2, Figure 6.9",
                       "rings without a rate have far less goodput: 46.7 % beside 95.7");
  rings_less.over = limited.label;
  Expectation cubic_less =
      about_congestion("TCP Cubic", Quantity::share, -kUnbounded, 0.8, "6.3.2.2, Figure 6.9",
                       "the same occurs with Cubic without rings: 57.3 %");
  cubic_less.over = limited.label;
  figure.expectations = {
      about_congestion("rings with a rate", Quantity::share, 0.91, kUnbounded, "6.3.2.2, Figure 6.9",
                       "rings with a rate reach the theoretical goodput: 95.7 %"),
      about_congestion("rings with a rate", Quantity::drops, -kUnbounded, 0, "6.3.2.2",
                       "the latencies show no TCP timeouts (here: no drops)"),
      rings_less,
      about_congestion("rings", Quantity::drops, 1, kUnbounded, "6.3.2.2",
                       "timeouts without a rate (here: drops)"),
      cubic_less,
      {.at = "6.3.2.2, Figure 6.9",
       .paper = "two planes with one spine each: 22.3, 51.7 and 29.4 %",
       .cannot = kNoCards},
      {.at = "6.3.2.2, Figure 6.9",
       .paper =
           "two planes with two spines each: 22.7, 45.8 and 24.8 %, and a latency below that of one plane",
       .cannot = kNoCards}};
  with_static_window(figure);
  figure.differs =
      "One DCM with two slices at a time stands for the eight of a host, with eight times the ring's rate. "
      "The cards "
      "of 8.7 Gb/s and 64 kB are those of figure 6.8, put in by hand: in the thesis PCIe gen1 limits both "
      "ports of a "
      "host together, to 12.19 Gb/s. A slice takes 0.17 s and more, so timeouts cannot be seen in its "
      "latency; "
      "drops are counted instead. Cubic has 36 connections here and 288 there, which may be why it drops "
      "nothing.";
  return figure;
}

// Figure 6.7a with one active node of the HLT: eight DCMs.
Experiment failover_figure() {
  Experiment figure;
  figure.id = "6.10";
  figure.title = "A link between leaf and spine is cut and returns: 6 readouts, 8 DCMs, two planes";
  ExperimentSetting& setting = figure.setting;
  setting.layout = NetworkLayout::planes;
  setting.readouts = 6;
  setting.readouts_per_rack = 3;
  setting.sources = 1;
  setting.fragment_bytes = 4096;
  setting.dcms = 8;
  setting.units = 2;
  setting.spines = 2;
  setting.port_mbit = setting.host_mbit = setting.uplink_mbit = 10'000;
  setting.rate_hz = 0;
  setting.cut_spine = 1;
  setting.cut_at_s = 12;
  setting.cut_for_s = 12;
  setting.hold_s = 2;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.005;
  figure.times = {3, 33};
  figure.tcps = {Tcp::new_tcp};
  figure.show = Show::failover;
  figure.cures = {{.label = "rings", .ring_packets = 1024, .ring_mbit = kRingMbit * kWirePerRing}};
  figure.expectations = {
      about_cut(Quantity::before_cut, 0.9, kUnbounded, "6.3.2.3",
                "before the cut the node is near its theoretical rate"),
      about_cut(Quantity::resent_before, -kUnbounded, 0, "6.3.2.3, Figure 6.10", "and drops nothing"),
      about_cut(Quantity::unaffected, 0.9, kUnbounded, "6.3.2.3",
                "proposed for the future: to move only the flows of the failed link, which would cost much "
                "less (there all flows were disabled)"),
      about_cut(Quantity::wrong_moves, -kUnbounded, 0, "6.3.2.3",
                "proposed for the future: to move only the flows of the failed link"),
      about_cut(Quantity::in_cut, 0.95, kUnbounded, "6.3.2.3",
                "other paths can carry all flows at the same goodput (seen there only when the link had "
                "returned)"),
      about_cut(Quantity::after_cut, 0.95, kUnbounded, "6.3.2.3",
                "about 10 s after the link's return the node is at its full rate again"),
      about_cut(Quantity::gap_s, -kUnbounded, kBoundS + kMarginS, "ours",
                "no readout is silent for longer than the heartbeats' bound of 0.45 s and a second"),
      about_cut(Quantity::lost, -kUnbounded, 0, "ours", "nothing but time is lost")};
  figure.differs =
      "The thesis' controller disabled all flows of the rings, and was done with installing them "
      "anew only when the link was back, so its figure does not prove that failover works, as the "
      "thesis says itself (6.3.2.3); the link failed at 120 s for 120 s, here at 12 s for 12 s. A "
      "host of the lab uses one spine in each plane, so two hosts of four DCMs stand for the one "
      "of eight, each with two ports of 10 Gb/s, scaled. Flows move to the other plane only, "
      "because a DCM chooses planes and no spines. Fragments of 4 KiB instead of 128 make slices "
      "of 28 ms, and a DCM returns when its plane has answered for 2 s (10 by default).";
  return figure;
}

// Our own: all switches of a plane die, and the carriers stay up.
Experiment plane_figure() {
  Experiment figure = failover_figure();
  figure.id = "6.10-plane";
  figure.title = "A whole plane is cut and returns: 6 readouts, 8 DCMs, two planes";
  figure.setting.cut_spine = 0;
  figure.differs =
      "The thesis cuts one link. Here all switches of a plane stop, and the carriers of the hosts' links "
      "stay up, as with a crashed switch in software. " +
      figure.differs;
  return figure;
}

// Our own: a shorter cut of all links of a spine, to be repeated.
Experiment spine_figure() {
  Experiment figure = failover_figure();
  figure.id = "6.10-spine";
  figure.title = "A spine is killed and returns: 6 readouts, 8 DCMs, two planes";
  figure.setting.cut_whole_spine = true;
  figure.setting.cut_at_s = figure.setting.cut_for_s = 5;
  figure.times = {2, 14};
  figure.differs =
      "The thesis cuts one link. Here all links of one of a plane's two spines are down from 5 to 10 s, "
      "while the hosts' links stay up. " +
      figure.differs;
  return figure;
}

// Our own: a plane that comes and goes faster than the DCMs may return.
Experiment flapping_figure() {
  Experiment figure = failover_figure();
  figure.id = "6.10-flapping";
  figure.title = "A plane fails ten times in 7 s: 6 readouts, 8 DCMs, two planes";
  figure.setting.cut_spine = 0;
  figure.setting.cut_at_s = 5;
  figure.setting.cut_for_s = 0.5;
  figure.setting.cuts = 10;
  figure.setting.cut_every_s = 0.7;
  figure.times = {2, 16};
  figure.expectations = {about_cut(Quantity::apart_s, figure.setting.hold_s, kUnbounded, "ours",
                                   "no DCM moves twice within its hold time"),
                         about_cut(Quantity::wrong_moves, -kUnbounded, 0, "ours",
                                   "each affected DCM moves once, and back when the plane stays up"),
                         about_cut(Quantity::lost, -kUnbounded, 0, "ours", "nothing but time is lost")};
  figure.differs =
      "The thesis has no such case. All switches of a plane stop for 0.5 s every 0.7 s, and the hold time is "
      "2 s. The columns about the rate during and after the cut refer to its first 0.5 s here, and say "
      "nothing.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_planes() {
  return {congestion_figure(), failover_figure(), plane_figure(), spine_figure(), flapping_figure()};
}

}  // namespace weir::bench
