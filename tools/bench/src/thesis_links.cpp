// Figures of Jereczek's thesis (2017), sections 4.5.3 and 4.5.4: pause frames, and a shared uplink, as data.
#include "thesis_parts.hpp"

#include <string>

namespace weir::bench {

// Six hosts with two DCMs each instead of twelve with twelve.
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

namespace {

Experiment all_to_all_figure() {
  Experiment figure;
  figure.id = "4.13";
  figure.title = "All to all: sustained load and latency against offered load";
  figure.setting = all_to_all();
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scale = 0.003;
  figure.vary = Vary::load;
  figure.x = {0.15, 0.5, 1.02};
  figure.cures = {plain_tcp(),
                  {.label = "byte-credits", .shaper = "byte-credits", .window_kb = 6},
                  {.label = "adaptive", .shaper = "adaptive"},
                  pause_frames()};
  figure.expectations = {
      {.cure = "TCP Cubic",
       .x_from = 1,
       .quantity = Quantity::share,
       .most = 0.2,
       .at = "4.5.3",
       .paper = "switches with TCP Cubic reach less than 20 % of theory"},
      {.cure = "TCP Cubic",
       .x_from = 1,
       .quantity = Quantity::slow,
       .least = 0.1,
       .at = "4.5.3",
       .paper = "and many latencies are above 200 ms"},
      {.cure = "pause frames",
       .x_from = 1,
       .quantity = Quantity::share,
       .least = 0.64,
       .most = 0.85,
       .at = "4.5.3",
       .paper = "pause frames without congestion control reach 64 and 85 % (two models of switch)"},
      {.cure = "pause frames",
       .quantity = Quantity::drops,
       .most = 0,
       .at = "4.5.3",
       .paper = "packet losses are avoided"},
      {.cure = "pause frames",
       .quantity = Quantity::slow,
       .most = 0,
       .at = "4.5.3",
       .paper = "timeouts are avoided"},
      {.cure = "pause frames",
       .at = "4.5.3",
       .paper = "jitter is small, but the latencies are high",
       .open = "section 4.5.3 gives no number; figure 5.13 has 14.5 to 22.3 ms and a sigma of 1.7 to 2.3 "
               "for two such switches"}};
  figure.differs = std::string(
                       "Six hosts with two DCMs each, 5.7 kB a readout and buffers of 13 kB: those are ours, "
                       "so that a response is "
                       "lost as in the paper; it gives no buffers. Byte-credits and adaptive are Weir's, not "
                       "the paper's. With "
                       "pause frames the switch is a process in user space, and a static window of 100 "
                       "segments stands for "
                       "congestion control that is disabled.") +
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
  figure.differs = std::string(
                       "The buffer of 4 MB at the uplink was chosen so that the knees are where the paper "
                       "has them (30 x 100 kB, "
                       "360 flows of 7 to 8 segments), so the place of a knee is not a result. Buffers keep "
                       "their size while links "
                       "are 50 times slower, so a full queue takes longer than TCP's shortest timeout.") +
                   kModernTcp;
  return figure;
}

constexpr const char* kSlowLinks =
    "a slice takes more than 200 ms without a loss: links are 50 times slower than the paper's, timeouts are "
    "not";

Experiment uplink_quota_figure() {
  Experiment figure =
      uplink_figure("4.15", "Quota behind a shared uplink: 12 readouts of 24 x 1 kB, 30 DCMs x 12");
  figure.vary = Vary::quota;
  figure.x = {12, 24, 50, 100, 200, 400};
  figure.cures = {shaping(0)};
  figure.expectations = {{.x_to = 100,
                          .quantity = Quantity::share,
                          .least = 0.97,
                          .at = "4.5.4",
                          .paper = "below a quota of 100 the goodput achieves the theoretical maximum"},
                         {.x_from = 101,
                          .quantity = Quantity::drops,
                          .least = 1,
                          .at = "4.5.4",
                          .paper = "above 100 credits packets are lost"},
                         {.x_from = 101,
                          .quantity = Quantity::share,
                          .over_x = 100,
                          .most = 0.97,
                          .at = "4.5.4",
                          .paper = "and the sustained load is lower"},
                         {.at = "4.5.4",
                          .paper = "the 99th percentile approaches 1000 ms above 100 credits",
                          .cannot = kSlowLinks},
                         {.at = "4.5.4",
                          .paper = "with still larger quotas each collection has a timeout or more",
                          .cannot = kSlowLinks}};
  return figure;
}

Experiment uplink_window_figure() {
  Experiment figure = uplink_figure("4.16", "Static congestion window behind a shared uplink");
  figure.vary = Vary::segments;
  figure.x = {1, 2, 3, 5, 7, 8, 10, 12};
  figure.cures = {static_window(1)};
  figure.expectations = {
      {.x_from = 3,
       .x_to = 9,
       .quantity = Quantity::share,
       .least = 0.97,
       .at = "4.5.4",
       .paper = "windows below ten reach the maximum goodput"},
      {.x_to = 2,
       .quantity = Quantity::mean_ms,
       .over_x = 5,
       .least = 1.02,
       .at = "4.5.4",
       .paper = "the latency is optimum from 3 to 7 (smaller windows are judged)"},
      {.x_from = 8,
       .quantity = Quantity::mean_ms,
       .over_x = 5,
       .least = 1.02,
       .at = "4.5.4",
       .paper = "the latency is optimum from 3 to 7 (larger windows are judged)"},
      {.x_from = 2,
       .x_to = 2,
       .quantity = Quantity::share,
       .most = 0.95,
       .at = "4.5.4",
       .paper = "a window of 2 is below the BDP and leaves the network underutilised"},
      {.x_from = 8,
       .quantity = Quantity::drops,
       .least = 1,
       .at = "4.5.4",
       .paper = "the first drops are between 8 and 10"},
      {.x_from = 8,
       .quantity = Quantity::share,
       .over_x = 7,
       .most = 0.97,
       .at = "4.5.4",
       .paper = "so the overall load is lower"},
      {.at = "4.5.4", .paper = "beyond that all events take much longer, by timeouts", .cannot = kSlowLinks}};
  with_static_window(figure);
  figure.differs +=
      " At links that are 50 times slower the BDP is far below two segments of each of the 360 "
      "flows, so a window of 2 does not leave the uplink idle. (The text gives no round trip for "
      "this setup; with the 200 us of section 4.2 a DCM's twelve flows would exceed its link's BDP "
      "of 16 packets with 24.)";
  return figure;
}

Experiment comparison_figure() {
  Experiment figure = uplink_figure("4.17", "Comparison behind a shared uplink, against offered load");
  figure.vary = Vary::load;
  figure.x = {0.5, 0.9, 1.02};
  figure.cures = {plain_tcp(),
                  static_window(5),
                  shaping(100),
                  {.label = "adaptive", .shaper = "adaptive"},
                  pause_frames()};
  for (const char* cure : {"static TCP", "traffic shaping", "pause frames"}) {
    figure.expectations.push_back({.cure = cure,
                                   .x_to = 0.9,
                                   .quantity = Quantity::sustained,
                                   .least = 0.97,
                                   .at = "4.5.4",
                                   .paper = "shaping, static window and pause frames sustain the load"});
    figure.expectations.push_back({.cure = cure,
                                   .x_from = 1,
                                   .quantity = Quantity::share,
                                   .least = 0.97,
                                   .at = "4.5.4",
                                   .paper = "up to 100 %"});
  }
  for (const char* other : {"traffic shaping", "static TCP"}) {
    figure.expectations.push_back({.cure = "pause frames",
                                   .x_from = 0.9,
                                   .x_to = 0.9,
                                   .quantity = Quantity::mean_ms,
                                   .over = other,
                                   .least = 1.2,
                                   .at = "4.5.4",
                                   .paper = "pause frames have a substantially higher latency and jitter"});
  }
  for (const char* cure : {"static TCP", "traffic shaping"}) {
    figure.expectations.push_back(
        {.cure = cure,
         .at = "4.5.4",
         .paper = "latencies fall slightly as the load rises",
         .cannot =
             "Weir's supervisor gives slices to all DCMs in turn, at low loads too; the paper's may give "
             "most of them to the processing units of one collector"});
  }
  figure.differs +=
      " Plain TCP and adaptive are our additions; the paper's static window is 7, ours 5. With pause frames "
      "the "
      "switches are a process in user space, and a static window of 100 segments stands for congestion "
      "control that "
      "is switched off.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_links() {
  return {all_to_all_figure(), uplink_quota_figure(), uplink_window_figure(), comparison_figure()};
}

}  // namespace weir::bench
