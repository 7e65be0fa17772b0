// Figures of event building in the RCNP emulation (section VI.F): 11 sources with a fragment of 4 kB each,
// ports of 155 Mb/s.
#include <weir/bench/experiment.hpp>

namespace weir::bench {
namespace {

constexpr double kBusyPort = 0.9;  // share that the paper could give to its constant bit rates

Cure constant_rate(double share) { return {.label = "constant rate", .shaper = "paced", .pace = share}; }

ExperimentSetting event_builder() {
  ExperimentSetting setting;
  setting.layout = NetworkLayout::one_switch;
  setting.readouts = 11;
  setting.sources = 1;
  setting.fragment_bytes = 4096;
  setting.units = 4;
  setting.port_mbit = setting.host_mbit = 155;
  setting.port_kb = 32;
  setting.rate_hz = 0;
  return setting;
}

Experiment made(const char* id, const char* title) {
  Experiment figure;
  figure.id = id;
  figure.title = title;
  figure.setting = event_builder();
  figure.scaling.buffers = figure.scaling.readouts = false;
  return figure;
}

Experiment load_figure() {
  Experiment figure = made("11b", "Event building against the attempted rate: 11 sources of 4 kB");
  figure.setting.dcms = 3;
  figure.scale = 0.3;
  figure.vary = Vary::load;
  figure.x = {0.3, 0.5, 0.7, 0.9, 1.2};
  figure.cures = {{.label = "full speed"},
                  constant_rate(kBusyPort),
                  {.label = "credits", .segments = 200, .back_pressure = "credits", .port_kb = 100},
                  {.label = "adaptive", .shaper = "adaptive"}};
  figure.expectations = {
      {.cure = "full speed",
       .x_to = 0.3,
       .quantity = Quantity::slow,
       .most = 0.01,
       .at = "VI.F, Figure 11a",
       .paper = "sources at full speed: correct at low rates"},
      {.cure = "full speed",
       .x_from = 0.7,
       .quantity = Quantity::slow,
       .least = 0.1,
       .at = "VI.F, Figure 11b",
       .paper = "at higher rates many more events are corrupted (here: slices that waited for a timeout)"},
      {.cure = "full speed",
       .x_from = 0.9,
       .quantity = Quantity::share,
       .most = 0.5,
       .at = "VI.F, Figure 11a",
       .paper = "and the performance collapses"},
      {.cure = "constant rate",
       .quantity = Quantity::drops,
       .most = 0,
       .at = "VI.F",
       .paper = "constant bit rates lose no cell"},
      {.cure = "constant rate",
       .x_to = 0.7,
       .quantity = Quantity::sustained,
       .least = 0.97,
       .at = "VI.F",
       .paper = "the rate of built events follows the attempted one"},
      {.cure = "constant rate",
       .x_from = 1.2,
       .quantity = Quantity::share,
       .least = 0.85,
       .most = 0.92,
       .at = "VI.F",
       .paper = "up to a plateau, as constant rates have 90 % of a link"},
      {.cure = "credits",
       .x_from = 1.2,
       .quantity = Quantity::share,
       .over = "constant rate",
       .least = 1.02,
       .at = "VI.F",
       .paper = "FlowMaster (credits for each connection, in the paper on mixed traffic) is faster, with 100 "
                "% of a link"},
      {.cure = "credits",
       .quantity = Quantity::drops,
       .most = 0,
       .at = "VI.F",
       .paper = "and loses nothing"}};
  figure.differs =
      "The paper has AAL5 on ATM without TCP: it loses an event with each lost cell. TCP sends it "
      "again, so a slice is not corrupted but late, by a retransmission timeout of 200 ms or more, "
      "and collapses at lower rates. Three DCMs replace eleven, at 0.3 of the links' rate. With "
      "credits ports have 100 kB instead of 32, a part for each pair of hosts. Adaptive is Weir's "
      "own. Constant rates are set to 90 % of a link, as in the paper, so the height of their "
      "plateau is not a result.";
  return figure;
}

Experiment link_figure() {
  Experiment figure =
      made("12", "Use of a destination's link against the size of fragments: 11 sources, one DCM");
  figure.setting.dcms = 1;
  figure.scale = 1;
  figure.vary = Vary::fragment;
  figure.x = {512, 1024, 2048, 4096, 8192};
  figure.cures = {constant_rate(0.8)};
  figure.expectations = {
      {.x_from = 4096,
       .x_to = 4096,
       .quantity = Quantity::share,
       .least = 0.75,
       .most = 0.85,
       .at = "VI.F, Figure 12",
       .paper = "4 kB use the destination's link well (DEC, and zero copy on a PC): up to the 80 % that the "
                "channels allow"},
      {.at = "VI.F, Figure 12",
       .paper = "Winsock2 stays below 70 Mb/s, and with 1 kB software overheads dominate on all platforms",
       .cannot = "a DCM of today takes several times that rate on one core"}};
  figure.differs =
      "The paper has AAL5 on ATM, without TCP. The channels are set to 80 % of the link, as there, so only "
      "what stays below is a result.";
  return figure;
}

Experiment scaling_figure() {
  Experiment figure = made("13", "Throughput of the event builder against the number of destinations");
  figure.scale = 0.1;
  figure.vary = Vary::dcms;
  figure.x = {1, 2, 4, 8, 11};
  figure.cures = {constant_rate(kBusyPort)};
  figure.expectations = {{.quantity = Quantity::share,
                          .over_x = 1,
                          .least = 0.95,
                          .most = 1.05,
                          .at = "VI.F, Figure 13",
                          .paper = "the throughput is linear in the number of destinations"},
                         {.x_from = 11,
                          .quantity = Quantity::share,
                          .least = 0.65,
                          .most = 0.75,
                          .at = "VI.F",
                          .paper = "the maximum throughput is 120 MB/s, 70 % of the links' capacity"}};
  figure.differs =
      "Links of a tenth of the paper's rate, so that this machine carries all of them; a straight line is a "
      "constant share of theory, because theory grows with the number of DCMs.";
  return figure;
}

}  // namespace

const std::vector<Experiment>& rcnp_experiments() {
  static const std::vector<Experiment> figures = {load_figure(), link_figure(), scaling_figure()};
  return figures;
}

}  // namespace weir::bench
