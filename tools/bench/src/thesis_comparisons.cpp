// Figures of Jereczek's thesis (2017), sections 5.6.1 and 7.3: rings beside other cures, as data.
#include "thesis_parts.hpp"

#include <string>
#include <vector>

namespace weir::bench {
namespace {

constexpr double kFull = 1.02;  // offered, of theory

Cure rings(const char* label, double packets, double mbit = 0) {
  return {.label = label, .segments = kWholeResponse, .ring_packets = packets, .ring_mbit = mbit};
}

// A statement about the cures with this label, for loads from and to.
struct About {
  const char* cure;
  double x_from;
  double x_to;
};
Expectation that(const About& about, Quantity quantity, double least, double most, const char* at,
                 const char* paper) {
  Expectation one{.cure = about.cure, .x_from = about.x_from, .x_to = about.x_to, .quantity = quantity};
  one.least = least;
  one.most = most;
  one.at = at;
  one.paper = paper;
  return one;
}

Expectation that_over(Expectation one, const char* over) {
  one.over = over;
  return one;
}
Expectation that_over(Expectation one, double over_x) {
  one.over_x = over_x;
  return one;
}

// A software switch beside switches with pause frames. The thesis has two of those; ours differ in buffers.
Experiment switch_figure() {
  Experiment figure;
  figure.id = "5.13";
  figure.title = "A software switch with rings beside pause frames: all to all";
  figure.setting = all_to_all();
  figure.setting.units = 6;  // with two DCMs as many slices at a host as there: twelve
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.003;
  figure.times = {3, 8};
  figure.vary = Vary::load;
  figure.x = {0.7, 0.9, 0.99};
  Cure large = pause_frames();
  large.label = "pause frames, buffers of 52 kB";
  large.port_kb = 52;
  figure.cures = {rings("rings", 1024), pause_frames(), large};
  figure.cures.front().software = "per-dcm";
  const About all_rings{"rings", 0, kUnbounded};
  figure.expectations = {
      that({"rings", 0.99, 0.99}, Quantity::share, 0.96, kUnbounded, "5.6.1, Figure 5.13a",
           "OVS with rings sustains nearly 100 %"),
      that({"pause frames", 0.99, 0.99}, Quantity::share, 0.64, 0.85, "5.6.1",
           "the switches with pause frames reach only 64 and 85 %"),
      that({"", 0, kUnbounded}, Quantity::slow, -kUnbounded, 0, "5.6.1",
           "none of the configurations has timeouts"),
      that_over(
          that(all_rings, Quantity::mean_ms, -kUnbounded, 0.95, "Figure 5.13",
               "4.9, 6.6 and 11.8 ms with rings at 70, 90 and 99 % are below the 14.5, 16.5 and 16.6 of one "
               "switch (0.34 to 0.71 of them)"),
          "pause frames, buffers of 52 kB"),
      that_over(that(all_rings, Quantity::mean_ms, -kUnbounded, 0.95, "Figure 5.13",
                     "and below the 22.1, 22.2 and 22.3 of the other (0.22 to 0.53)"),
                "pause frames"),
      that_over(
          that({"rings", 0.99, 0.99}, Quantity::mean_ms, 1.2, kUnbounded, "5.6.1, Figure 5.13",
               "the latency of OVS increases with the load, 11.8 ms at 99 % beside 4.9 at 70 % (2.4 times)"),
          0.7),
      that_over(
          that({"pause frames", 0.99, 0.99}, Quantity::mean_ms, -kUnbounded, 1.2, "5.6.1, Figure 5.13",
               "that of the other switches does not, as they saturate at lower loads (1.01 and 1.14 times)"),
          0.7)};
  with_static_window(figure);
  figure.differs =
      "Six hosts with two DCMs each, that build six slices at a time, 5.7 kB a readout and buffers of 13 "
      "kB. The thesis "
      "has two "
      "switches with pause frames by different makers and does not say how they differ; the second one here "
      "has "
      "larger buffers. All switches share the cores with the farm.";
  return figure;
}

// Configuration A: rings in the comparison of figure 4.17.
Experiment uplink_figure() {
  Experiment figure;
  figure.id = "7.4";
  figure.title = "Shaping, static window, pause frames and rings behind a shared uplink";
  figure.setting = behind_uplink();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.02;
  figure.times = {5, 8};
  figure.vary = Vary::load;
  figure.x = {0.7, kFull};
  // Each ring holds what its DCM may request: 12 slices of 12 responses of 17 segments.
  figure.cures = {shaping(100), static_window(5), pause_frames(), rings("rings, 344 Mb/s", 4096, 344),
                  rings("rings, 1.38 Gb/s", 4096, 1380)};
  figure.expectations = {
      that({"", 0.7, 0.7}, Quantity::sustained, 0.97, kUnbounded, "7.3.2, Figure 7.4a",
           "all four sustain the load"),
      that({"", kFull, kFull}, Quantity::share, 0.97, kUnbounded, "7.3.2, Figure 7.4a", "up to full load"),
      that({"rings, 344 Mb/s", 0, kUnbounded}, Quantity::drops, -kUnbounded, 0, "7.3.2",
           "30 rings with 344 Mb/s each cause no retransmissions (here: drops)"),
      that_over(that({"pause frames", 0.7, 0.7}, Quantity::mean_ms, 1.2, kUnbounded, "7.3.2, Figure 7.4b",
                     "pause frames have a significantly higher latency and jitter"),
                "traffic shaping"),
      that_over(that({"rings, 1.38 Gb/s", 0.7, 0.7}, Quantity::mean_ms, -kUnbounded, 1, "7.3.2",
                     "rings of 1.38 Gb/s have the lowest latency at a load of 70 %"),
                "traffic shaping"),
      that_over(that({"rings, 1.38 Gb/s", 0.7, 0.7}, Quantity::mean_ms, -kUnbounded, 1, "7.3.2",
                     "and it is lower than with a static window"),
                "static TCP"),
      that_over(that({"rings, 344 Mb/s", kFull, kFull}, Quantity::mean_ms, 1, kUnbounded, "7.3.2",
                     "at full load rings have a higher latency than traffic shaping"),
                "traffic shaping")};
  with_static_window(figure);
  figure.differs =
      "The rings are classes of the kernel's bridges instead of a server behind a multi-host controller. A "
      "ring of "
      "1.38 Gb/s is limited by its DCM's port of 1 Gb/s. The buffer of 4 MB at the uplink and the static "
      "window of 5 "
      "segments are those of figures 4.15 to 4.17. A full queue takes longer than TCP's shortest timeout, "
      "because "
      "links are 50 times slower.";
  return figure;
}

// Configuration B.
Experiment hosts_figure() {
  Experiment figure;
  figure.id = "7.8";
  figure.title = "Cubic, static window, pause frames and rings: 6 readouts to 6 hosts of 3 DCMs";
  ExperimentSetting& setting = figure.setting;
  setting.layout = NetworkLayout::one_switch;
  setting.readouts = 6;
  setting.sources = 1;
  setting.fragment_bytes = 5'700;
  setting.dcms = 18;
  setting.units = 4;
  setting.hosts = 6;
  setting.port_mbit = setting.host_mbit = 10'000;
  setting.port_kb = 60;  // two segments of each of 18 flows fit, three do not
  setting.rate_hz = 0;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.003;
  figure.times = {3, 8};
  figure.vary = Vary::load;
  figure.x = {0.7, kFull};
  Cure slow = rings("rings, slow hosts", 1024);
  slow.software = "per-dcm";
  slow.nic_mbit = 9400;
  slow.port_kb = 12;
  Cure pausing = slow;
  pausing.label = "rings, slow hosts that pause";
  pausing.nic_pauses = true;
  figure.cures = {plain_tcp(), static_window(2), pause_frames(), rings("rings", 1024), slow, pausing};
  const auto full = [](const char* cure) { return About{cure, kFull, kFull}; };
  figure.expectations = {
      that(full("rings"), Quantity::share, 0.94, kUnbounded, "7.3.3, Figure 7.8",
           "rings saturate at 94 % of theory"),
      that(full("pause frames"), Quantity::share, -kUnbounded, 0.85, "7.3.3",
           "the second best, pause frames in both directions, reaches only 79 %"),
      that(full("static TCP"), Quantity::drops, -kUnbounded, 0, "7.3.3",
           "a static window of 2 is stable, with few losses"),
      {.cure = "static TCP",
       .at = "7.3.3",
       .paper = "it saturates just above 40 %",
       .cannot = "two segments of each flow fill links that are 300 times slower"},
      that(full("TCP Cubic"), Quantity::share, -kUnbounded, 0.2, "7.3.3",
           "with Cubic the load does not exceed 20 %"),
      that(full("TCP Cubic"), Quantity::slow, 0.01, kUnbounded, "7.3.3",
           "and some events need more than 200 ms"),
      that_over(that(full("rings"), Quantity::mean_ms, 1.01, 1.5, "7.3.3",
                     "the mean latency is slightly higher with rings than with pause frames"),
                "pause frames"),
      that(full("rings, slow hosts"), Quantity::drops, 1, kUnbounded, "7.3.3",
           "hosts with too little CPU can drop packets"),
      that(full("rings, slow hosts that pause"), Quantity::drops, -kUnbounded, 0, "7.3.3",
           "pause frames from the hosts to the switch alone avoid overflowing them"),
      that_over(that(full("rings, slow hosts that pause"), Quantity::rate, 1, kUnbounded, "7.3.3",
                     "this combined approach provides the best performance"),
                "rings, slow hosts"),
      {.at = "7.3.3",
       .paper = "each host has two links of 10 Gb/s to one switch",
       .cannot = "a second link of the lab's hosts goes to a switch of another plane"}};
  with_static_window(figure);
  figure.differs =
      "Three DCMs a host that build four slices at a time instead of eleven that build one, one link a host "
      "instead of two, 5.7 kB a readout instead of 96 "
      "KiB, and "
      "buffers of 60 kB, which hold two segments of each of a host's 18 flows, but not three: the thesis "
      "gives "
      "no buffers, and finds a window of 2 stable and one of 3 not. A ring is one of a host's port, as "
      "there, and one of a DCM where hosts are slow. There the hosts are slow by themselves, at times; here "
      "their cards pass 9.4 Gb/s, as much as the thesis' rings reach, and have 64 kB. Theory counts that "
      "rate.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_comparisons() { return {switch_figure(), uplink_figure(), hosts_figure()}; }

}  // namespace weir::bench
