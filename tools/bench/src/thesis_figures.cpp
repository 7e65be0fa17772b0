// Figures of Jereczek's thesis (2017), sections 4.2 and 4.5, with one DCM, as data.
#include "thesis_parts.hpp"

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

std::vector<Expectation> readouts_statements() {
  return {{.x_to = 40,
           .quantity = Quantity::sustained,
           .least = 0.95,
           .at = "4.2",
           .paper = "at a constant rate the goodput grows in proportion to the event's size"},
          {.x_from = 40,
           .x_to = 40,
           .quantity = Quantity::over_serialisation,
           .most = 1.25,
           .at = "4.2",
           .paper = "the latency is close to the serialisation delay"},
          {.x_from = 60,
           .quantity = Quantity::sustained,
           .most = 0.5,
           .at = "4.2",
           .paper = "above 50 ROSes the goodput collapses"},
          {.x_from = 60,
           .quantity = Quantity::slow,
           .least = 0.1,
           .at = "4.2",
           .paper = "more and more events then take over 200 ms, by TCP timeouts"}};
}

Experiment readouts_figure() {
  Experiment figure;
  figure.id = "4.3";
  figure.title = "Goodput and latency with more readouts, at 50 Hz";
  figure.setting = one_dcm(200, 1000, 50);
  figure.vary = Vary::readouts;
  figure.x = {10, 30, 40, 60, 80, 120, 200};
  Cure whole_response = static_window(kWholeResponse);
  whole_response.kept = true;
  figure.cures = {plain_tcp(), whole_response};
  for (const Cure& cure : figure.cures) {
    for (Expectation& statement : readouts_statements()) {
      statement.cure = cure.label;
      figure.expectations.push_back(std::move(statement));
    }
  }
  figure.differs =
      std::string(
          "Six readouts here stand for 60 of the paper, and the port's 60 kB for the 600 kB that "
          "the paper estimates from this figure. Section 4.2 has Cubic. Today's Cubic halves its "
          "windows at the losses while the run settles, until the responses fit the port, and "
          "hardly opens them again (probably because its clock stops while a connection idles), so "
          "80 and 120 readouts lose nothing later. The static window is the thesis' (section 3.5.2: "
          "where congestion control is not to be the limit); with it a readout sends each response "
          "at once.") +
      kModernTcp;
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
  figure.cures = {plain_tcp()};
  figure.expectations = {
      {.x_to = 300,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "4.2",
       .paper = "with too small a queue in the core router packets are lost"},
      {.x_to = 300,
       .quantity = Quantity::over_serialisation,
       .least = 2,
       .at = "4.2",
       .paper = "mean latency and jitter are then large (the mean is judged)"},
      {.x_from = 3000,
       .quantity = Quantity::sustained,
       .least = 0.95,
       .at = "4.2",
       .paper = "with a large enough queue the requested load is reached"},
      {.x_from = 3000,
       .quantity = Quantity::over_serialisation,
       .most = 1.25,
       .at = "4.2",
       .paper = "and the latency is close to the serialisation delay"},
      {.at = "Figure 4.4", .paper = "the queue sizes of the router", .open = "the text gives none"}};
  figure.differs = std::string(
                       "The buffers' sizes are ours; 16 readouts and a slower core port have the paper's "
                       "over-subscription. They use 83 % of the DCM's link, the paper's 40 readouts 20 %.") +
                   kModernTcp;
  return figure;
}

// The figure has the setup of 4.2, with Cubic; section 3.5.2 switches congestion control off where it
// is not to be the limit.
std::vector<Expectation> quota_statements(Tcp tcp) {
  std::vector<Expectation> statements{
      {.x_to = 99,
       .quantity = Quantity::share,
       .most = 0.95,
       .at = "4.5.1",
       .paper = "with fewer than 100 credits the network is not full"},
      {.x_to = 99,
       .quantity = Quantity::over_serialisation,
       .least = 1.05,
       .at = "4.5.1",
       .paper = "the mean latency is higher there"},
      {.x_to = 99,
       .quantity = Quantity::drops,
       .most = 0,
       .at = "4.5.1",
       .paper = "without signs of retransmissions"},
      {.x_from = 100,
       .x_to = 550,
       .quantity = Quantity::over_serialisation,
       .most = 1.1,
       .at = "4.5.1",
       .paper =
           "between 100 and 550 credits the mean latency stays near its minimum of 21.7 ms, close to the "
           "serialisation delay of 20.3 ms (1.07 times)"},
      {.x_from = 551,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "4.5.1",
       .paper = "above 550 credits the switch drops packets"},
      {.x_from = 960,
       .quantity = Quantity::slow,
       .least = 1,
       .at = "4.5.1, Figure 4.5c",
       .paper = "with 960 credits each event has a timeout or more: none takes less than 200 ms"}};
  for (Expectation& statement : statements) statement.tcp = tcp;
  return statements;
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
  figure.tcps = {Tcp::thesis, Tcp::old_tcp, Tcp::new_tcp};
  for (const Tcp tcp : {Tcp::thesis, Tcp::old_tcp}) {
    for (Expectation& statement : quota_statements(tcp)) figure.expectations.push_back(std::move(statement));
  }
  figure.differs = std::string(
                       "The round trip here is mostly the wait for a CPU, so the plateau begins earlier on a "
                       "quiet machine and later on a busy one. Section 4.5.1 has the setup of 4.2, where TCP "
                       "is Cubic; the thesis "
                       "switches congestion control off where it is not to be the limit (section 3.5.2). So "
                       "the figure is shown with its static window (100 segments) and with Cubic. With "
                       "Cubic, a window that was halved by the first losses "
                       "may fit the port, and then no region of losses appears.") +
                   kModernTcp;
  return figure;
}

Experiment static_figure() {
  Experiment figure;
  figure.id = "4.8";
  figure.title =
      "Latency at high load: static congestion window and traffic shaping (147 readouts of 12 x 1.1 kB)";
  figure.setting = one_dcm(147, 1100, 50);
  figure.cures = {plain_tcp(), static_window(2), shaping(396)};
  for (const char* cure : {"static TCP", "traffic shaping"}) {
    figure.expectations.push_back({.cure = cure,
                                   .quantity = Quantity::slow,
                                   .most = 0,
                                   .at = "4.5.2.1",
                                   .paper = "neither a window of 2 nor 396 credits has TCP timeouts"});
  }
  figure.expectations.push_back({.cure = "static TCP",
                                 .quantity = Quantity::mean_ms,
                                 .over = "traffic shaping",
                                 .least = 1,
                                 .most = 1.15,
                                 .at = "4.5.2.1",
                                 .paper = "the mean latency is slightly higher with the static window"});
  figure.differs =
      std::string(
          "Plain TCP is our addition. The caption says 83 % of theory, the text 82 %; 15 readouts stand for "
          "147.") +
      kModernTcp;
  return figure;
}

Experiment diatcp_figure() {
  Experiment figure;
  figure.id = "4.11";
  figure.title =
      "Latency at 40 Hz: DIATCP, static congestion window, traffic shaping (160 readouts of 12 x 1.1 kB)";
  figure.setting = one_dcm(160, 1100, 40);
  figure.cures = {plain_tcp(),
                  static_window(2),
                  shaping(421),
                  {.label = "DIATCP", .shaper = "diatcp", .window_kb = 160 * kSegmentKb}};
  for (const char* cure : {"static TCP", "traffic shaping", "DIATCP"}) {
    figure.expectations.push_back({.cure = cure,
                                   .quantity = Quantity::slow,
                                   .most = 0,
                                   .at = "4.5.2.2",
                                   .paper = "none of the three has TCP timeouts"});
  }
  for (const char* cure : {"static TCP", "DIATCP"}) {
    figure.expectations.push_back({.cure = cure,
                                   .quantity = Quantity::mean_ms,
                                   .over = "traffic shaping",
                                   .least = 0.8,
                                   .most = 1.25,
                                   .at = "4.5.2.2",
                                   .paper = "the mean latencies of all three are comparable"});
  }
  figure.differs =
      "Plain TCP is our addition. Weir's shaper diatcp divides requests, where DIATCP divides advertised "
      "windows. "
      "The caption says 83 % of theory, but 40 Hz x 160 x 13.2 kB is 72 %, as in the text.";
  return figure;
}

std::vector<Experiment> make_experiments() {
  std::vector<Experiment> all = {readouts_figure(), core_figure(), quota_figure(), static_figure(),
                                 diatcp_figure()};
  for (auto part : {thesis_links, thesis_rings, thesis_planes, thesis_comparisons, thesis_traces}) {
    for (Experiment& figure : part()) all.push_back(std::move(figure));
  }
  return all;
}

}  // namespace

const std::vector<Experiment>& thesis_experiments() {
  static const std::vector<Experiment> figures = make_experiments();
  return figures;
}

}  // namespace weir::bench
