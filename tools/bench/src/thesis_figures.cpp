// Figures of Jereczek's thesis (2017), chapters 4 to 6, as data.
#include "thesis_traces.hpp"
#include <weir/bench/experiment.hpp>

#include <limits>

namespace weir::bench {
namespace {

ExperimentSetting one_dcm(double readouts, std::uint32_t fragment_bytes, double rate_hz) {
  ExperimentSetting setting;
  setting.readouts = readouts;
  setting.fragment_bytes = fragment_bytes;
  setting.rate_hz = rate_hz;
  return setting;
}

// 16 hosts into 400 Mb/s at the scale, so that the core is over-subscribed 4 to 1, as by the paper's 40 hosts
// of 1 Gb/s into 10 Gb/s.
ExperimentSetting congested_core() {
  ExperimentSetting setting = one_dcm(16, 1000, 50);
  setting.readouts_per_rack = 4;
  setting.uplink_mbit = 4000;
  setting.port_kb = 3000;
  return setting;
}

// Six hosts with four DCMs each instead of twelve with twelve.
ExperimentSetting all_to_all() {
  ExperimentSetting setting;
  setting.layout = NetworkLayout::all_to_all;
  setting.readouts = 6;
  setting.dcms = 2;
  setting.sources = 1;
  setting.fragment_bytes = 5'700;  // four frames: a loss has no three duplicate acknowledgements
  setting.port_mbit = setting.host_mbit = 10'000;
  setting.port_kb = 13;
  setting.rate_hz = 0;
  return setting;
}

ExperimentSetting behind_uplink() {
  ExperimentSetting setting;
  setting.layout = NetworkLayout::behind_uplink;
  setting.readouts = 12;
  setting.sources = 24;
  setting.dcms = 30;
  setting.units = 12;
  setting.host_mbit = 10'000;
  setting.core_kb = 4000;
  setting.rate_hz = 0;
  return setting;
}

// Figure 6.7a with one plane: six readouts and six hosts with eight DCMs each, at two leaves.
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

Cure plain() { return {.label = "TCP Cubic"}; }

// A window that lets a readout send its whole response at once: the thesis switches congestion control off
// where it tests pause frames and rings.
constexpr std::uint32_t kWholeResponse = 100;

Cure pause_frames() {
  return {.label = "pause frames", .segments = kWholeResponse, .back_pressure = "pause"};
}

constexpr const char* kModernTcp =
    " Today's TCP repairs most losses without a timeout (SACK, RACK, tail-loss probes), which the thesis' "
    "TCP "
    "could not.";

Experiment readouts_figure() {
  Experiment figure;
  figure.id = "4.3";
  figure.title = "Goodput and latency with more readouts, at 50 Hz";
  figure.setting = one_dcm(200, 1000, 50);
  figure.vary = Vary::readouts;
  figure.x = {10, 30, 40, 60, 80, 120, 200};
  figure.cures = {plain()};
  figure.expectations = {
      {.x_to = 40,
       .quantity = Quantity::sustained,
       .least = 0.95,
       .paper = "the rate is sustained below 50 readouts"},
      {.x_from = 80, .quantity = Quantity::slow, .least = 0.5, .paper = "slices suffer TCP timeouts above"},
      {.x_from = 120,
       .quantity = Quantity::sustained,
       .most = 0.5,
       .paper = "the goodput collapses at a constant rate"}};
  figure.differs = std::string("Six readouts here stand for 60 of the paper.") + kModernTcp;
  return figure;
}

Experiment core_figure() {
  Experiment figure;
  figure.id = "4.4";
  figure.title = "Goodput and latency with other buffers in the core, at 50 Hz";
  figure.setting = congested_core();
  figure.scaling.readouts = false;
  figure.vary = Vary::core_buffer;
  figure.x = {100, 300, 1000, 3000, 10'000};
  figure.cures = {plain()};
  figure.expectations = {{.x_to = 300,
                          .quantity = Quantity::sustained,
                          .most = 0.5,
                          .paper = "small core buffers drop frames, and the rate collapses"},
                         {.x_from = 3000,
                          .quantity = Quantity::sustained,
                          .least = 0.95,
                          .paper = "with large core buffers the load is sustained"},
                         {.x_from = 3000,
                          .quantity = Quantity::p99_ms,
                          .most = 100,
                          .paper = "and the latency is close to the serialisation"}};
  figure.differs =
      std::string(
          "The paper does not state the buffers' sizes; 16 readouts and a slower core port have its "
          "over-subscription.") +
      kModernTcp;
  return figure;
}

Experiment quota_figure() {
  Experiment figure;
  figure.id = "4.5";
  figure.title =
      "Goodput and latency with traffic shaping: 200 readouts of 12 x 1 kB, 50 Hz (102 % of theory)";
  figure.setting = one_dcm(200, 1000, 50);
  figure.vary = Vary::quota;
  figure.x = {10, 20, 40, 100, 200, 400, 550, 750, 960};
  figure.cures = {shaping(0)};
  figure.expectations = {
      {.x_to = 10,
       .quantity = Quantity::share,
       .most = 0.85,
       .paper = "below 100 the link is not fully used"},
      {.x_to = 40, .quantity = Quantity::drops, .most = 0, .paper = "and no packet is lost"},
      {.x_from = 400,
       .x_to = 550,
       .quantity = Quantity::share,
       .least = 0.85,
       .paper = "full goodput from 100 to 550"},
      {.x_from = 400,
       .x_to = 550,
       .quantity = Quantity::mean_ms,
       .most = 26,
       .paper = "with a mean latency of 21.7 ms, of 20.3 ms for serialisation"},
      {.x_from = 960,
       .quantity = Quantity::slow,
       .least = 0.7,
       .paper = "at 960 every slice takes at least 200 ms"}};
  figure.differs = std::string(
                       "The round trip here is mostly the wait for a CPU, so the plateau begins earlier on a "
                       "quiet machine "
                       "and later on a busy one.") +
                   kModernTcp;
  return figure;
}

Experiment static_figure() {
  Experiment figure;
  figure.id = "4.8";
  figure.title =
      "Latency at high load: static congestion window and traffic shaping (147 readouts of 12 x 1.1 kB)";
  figure.setting = one_dcm(147, 1100, 50);
  figure.cures = {plain(), static_window(2), shaping(396)};
  figure.expectations = {
      {.cure = "static TCP",
       .quantity = Quantity::slow,
       .most = 0.01,
       .paper = "a static window of two segments eliminates timeouts"},
      {.cure = "traffic shaping",
       .quantity = Quantity::slow,
       .most = 0.01,
       .paper = "so does traffic shaping with 396 credits"},
      {.cure = "TCP Cubic", .quantity = Quantity::slow, .least = 0.5, .paper = "plain TCP suffers timeouts"}};
  figure.differs =
      std::string("The caption says 83 % of theory, the text 82 %; 15 readouts stand for 147.") + kModernTcp;
  return figure;
}

Experiment diatcp_figure() {
  Experiment figure;
  figure.id = "4.11";
  figure.title =
      "Latency at 40 Hz: DIATCP, static congestion window, traffic shaping (160 readouts of 12 x 1.1 kB)";
  figure.setting = one_dcm(160, 1100, 40);
  figure.cures = {plain(),
                  static_window(2),
                  shaping(421),
                  {.label = "DIATCP", .shaper = "diatcp", .window_kb = 160 * kSegmentKb}};
  for (const char* cure : {"static TCP", "traffic shaping", "DIATCP"}) {
    figure.expectations.push_back({.cure = cure,
                                   .quantity = Quantity::slow,
                                   .most = 0.01,
                                   .paper = "no TCP timeouts with any of the three"});
  }
  figure.differs =
      "Weir's shaper diatcp divides requests, where DIATCP divides advertised windows. The caption says 83 % "
      "of "
      "theory, but 40 Hz x 160 x 13.2 kB is 72 %.";
  return figure;
}

Experiment all_to_all_figure() {
  Experiment figure;
  figure.id = "4.13";
  figure.title = "All to all: sustained load and latency against offered load";
  figure.setting = all_to_all();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.003;
  figure.vary = Vary::load;
  figure.x = {0.15, 0.5, 1.02};
  figure.cures = {plain(),
                  {.label = "byte-credits", .shaper = "byte-credits", .window_kb = 6},
                  {.label = "adaptive", .shaper = "adaptive"},
                  pause_frames()};
  figure.expectations = {
      {.cure = "TCP Cubic",
       .x_from = 1,
       .quantity = Quantity::share,
       .most = 0.25,
       .paper = "plain TCP reaches less than 20 % of theory"},
      {.cure = "byte-credits",
       .x_from = 1,
       .quantity = Quantity::share,
       .least = 0.7,
       .paper = "pause frames, a lossless network, reach 64 and 85 %"},
      {.cure = "pause frames",
       .x_from = 1,
       .quantity = Quantity::share,
       .least = 0.6,
       .most = 0.9,
       .paper = "pause frames reach 64 and 85 % with two switches"},
      {.cure = "pause frames", .quantity = Quantity::drops, .most = 0, .paper = "no packet is lost"},
      {.cure = "pause frames",
       .quantity = Quantity::slow,
       .most = 0.01,
       .paper = "and timeouts are avoided"}};
  figure.differs =
      std::string(
          "Six hosts with two DCMs each, 5.7 kB a readout and buffers of 13 kB. With pause frames the switch "
          "is a process in user space, and a static window of 100 segments stands for congestion control "
          "that "
          "is switched off: without a loss, nothing reduces it.") +
      kModernTcp;
  return figure;
}

Experiment uplink_figure(const char* id, const char* title) {
  Experiment figure;
  figure.id = id;
  figure.title = title;
  figure.setting = behind_uplink();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.02;
  figure.times = {5, 8};
  figure.differs =
      std::string(
          "Buffers keep their size while links are 50 times slower, so a full queue takes 160 ms; 4 MB at "
          "the uplink follow from the paper's limits (30 x 100 kB, 360 flows of 7 to 8 segments).") +
      kModernTcp;
  return figure;
}

Experiment uplink_quota_figure() {
  Experiment figure =
      uplink_figure("4.15", "Quota behind a shared uplink: 12 readouts of 24 x 1 kB, 30 DCMs x 12");
  figure.vary = Vary::quota;
  figure.x = {12, 24, 50, 100, 200, 400};
  figure.cures = {shaping(0)};
  figure.expectations = {
      {.x_to = 100, .quantity = Quantity::share, .least = 0.9, .paper = "full goodput below a quota of 100"},
      {.x_to = 50, .quantity = Quantity::drops, .most = 0, .paper = "without losses"},
      {.x_from = 200,
       .quantity = Quantity::p99_ms,
       .least = 1000,
       .paper = "timeouts above: p99 near 1000 ms"}};
  return figure;
}

Experiment uplink_window_figure() {
  Experiment figure = uplink_figure("4.16", "Static congestion window behind a shared uplink");
  figure.vary = Vary::segments;
  figure.x = {1, 2, 3, 5, 7, 8, 12};
  figure.cures = {static_window(1)};
  figure.expectations = {{.x_from = 3,
                          .x_to = 7,
                          .quantity = Quantity::share,
                          .least = 0.9,
                          .paper = "good from 3 to 7 segments"},
                         {.x_from = 8, .quantity = Quantity::drops, .least = 1, .paper = "losses from 8 on"}};
  return figure;
}

Experiment comparison_figure() {
  Experiment figure = uplink_figure("4.17", "Comparison behind a shared uplink, against offered load");
  figure.vary = Vary::load;
  figure.x = {0.5, 0.9, 1.02};
  figure.cures = {
      plain(), static_window(5), shaping(100), {.label = "adaptive", .shaper = "adaptive"}, pause_frames()};
  for (const char* cure : {"static TCP", "traffic shaping", "pause frames"}) {
    figure.expectations.push_back({.cure = cure,
                                   .x_to = 0.9,
                                   .quantity = Quantity::sustained,
                                   .least = 0.95,
                                   .paper = "the offered load is sustained"});
  }
  figure.expectations.push_back({.cure = "pause frames",
                                 .x_from = 1,
                                 .quantity = Quantity::share,
                                 .least = 0.95,
                                 .paper = "pause frames provide full performance, too"});
  figure.expectations.push_back(
      {.cure = "pause frames", .quantity = Quantity::drops, .most = 0, .paper = "without a loss"});
  figure.expectations.push_back({.cure = "pause frames",
                                 .x_from = 0.9,
                                 .x_to = 0.9,
                                 .quantity = Quantity::p99_ms,
                                 .over = "traffic shaping",
                                 .least = 1.1,
                                 .paper = "but latency and jitter are substantially higher"});
  figure.differs +=
      " With pause frames the switches are a process in user space, and a static window of 100 segments "
      "stands "
      "for congestion control that is switched off.";
  return figure;
}

Experiment ring_figure() {
  Experiment figure;
  figure.id = "5.8";
  figure.title = "Rings of a DCM with a rate of 0.777 Gb/s: all to all, 128 KiB a readout";
  figure.setting = all_to_all();
  figure.setting.dcms = 1;
  figure.setting.fragment_bytes = 128 * 1024;
  figure.setting.port_kb = 600;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scaling.rings = 5.0 / 11;  // flows to a DCM
  figure.scale = 0.01;
  figure.vary = Vary::ring;
  figure.x = {128, 512, 1024, 2048};
  // 12 DCMs of the paper at 0.777 Gb/s together: 9.32 Gb/s of a host's 10.
  figure.cures = {{.label = "rings", .segments = kWholeResponse, .ring_packets = 1, .ring_mbit = 9324}};
  figure.expectations = {{.x_to = 512,
                          .quantity = Quantity::drops,
                          .least = 1,
                          .paper = "rings of 128 and 512 packets overflow"},
                         {.x_from = 1024,
                          .quantity = Quantity::drops,
                          .most = 0,
                          .paper = "rings that hold a slice lose nothing"},
                         {.x_from = 1024,
                          .quantity = Quantity::share,
                          .least = 0.85,
                          .paper = "and the goodput is the rings' rate, 93 % of the port's"}};
  figure.differs =
      "One DCM on each of six hosts has the part of the paper's twelve, so a slice is 450 segments over five "
      "flows instead of 990 over eleven.";
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
  figure.x = {1000, 3000, 4500, 7000, 9000, 10'000};
  figure.cures = {{.label = "rings", .segments = kWholeResponse, .ring_packets = 1, .ring_mbit = 780}};
  figure.expectations = {
      {.x_from = 9000,
       .quantity = Quantity::drops,
       .most = 0,
       .paper = "rings of 9,000 packets and more lose nothing"},
      {.x_to = 4500,
       .quantity = Quantity::slow,
       .least = 0.95,
       .paper = "below 5,000 every slice takes at least 200 ms"},
      {.x_to = 4500, .quantity = Quantity::drops, .least = 1, .paper = "because packets are lost"}};
  figure.differs = std::string("A slice alone takes 156 ms, so 200 ms and more mean a timeout.") + kModernTcp;
  return figure;
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
  const auto optimum = [&](const char* cure, double gbit, const char* no_drops, const char* goodput) {
    Expectation at{.cure = cure, .x_from = gbit, .x_to = gbit, .quantity = Quantity::drops, .most = 0};
    at.paper = no_drops;
    figure.expectations.push_back(at);
    at.quantity = Quantity::share;
    at.least = 0.9;
    at.most = std::numeric_limits<double>::infinity();
    at.paper = goodput;
    figure.expectations.push_back(at);
  };
  optimum("one spine", 0.91, "3 packets in 40 us, 0.91 Gb/s, are the optimum: no packet is dropped",
          "and the goodput is largest, 95.7 % of the fabric's");
  optimum("two spines", 1.04, "3 packets in 35 us, 1.04 Gb/s, are the optimum: no packet is dropped",
          "and the goodput is largest");
  figure.expectations.push_back(
      {.x_to = 0.6, .quantity = Quantity::share, .most = 0.8, .paper = "slower rings limit the goodput"});
  figure.expectations.push_back({.x_from = 1.2,
                                 .quantity = Quantity::drops,
                                 .least = 1,
                                 .paper = "faster rings overflow the hosts' network cards"});
  figure.differs =
      "One DCM with two slices at a time and eight times the ring's rate stands for the eight DCMs of a "
      "host. The paper's hosts take less than their port's 10 Gb/s (PCIe gen1, small buffers on the "
      "card), but it does not say how much through one port: 8.7 Gb/s and 64 kB here, just above its "
      "optimum with two spines, so the cards set this optimum, and the figure does not explain it. The "
      "formula of section 6.2.2 gives 6.67 Gb/s a host with one spine, 0.83 a DCM, and two spines do not "
      "limit it. Faster rings drop few frames after the settling time, probably because congestion "
      "control, which the thesis switches off, shrinks windows after the first losses. Two planes are "
      "missing: a host of the lab has one link.";
  return figure;
}

std::vector<Experiment> make_experiments() {
  std::vector<Experiment> all = {readouts_figure(),     core_figure(),          quota_figure(),
                                 static_figure(),       diatcp_figure(),        all_to_all_figure(),
                                 uplink_quota_figure(), uplink_window_figure(), comparison_figure(),
                                 ring_figure(),         large_burst_figure(),   ring_rate_figure()};
  for (Experiment& figure : thesis_traces()) all.push_back(std::move(figure));
  return all;
}

}  // namespace

const std::vector<Experiment>& thesis_experiments() {
  static const std::vector<Experiment> figures = make_experiments();
  return figures;
}

}  // namespace weir::bench
