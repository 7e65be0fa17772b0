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
  figure.cures = {
      {.label = "full speed"}, constant_rate(kBusyPort), {.label = "adaptive", .shaper = "adaptive"}};
  figure.expectations = {
      {.cure = "full speed",
       .x_from = 0.7,
       .quantity = Quantity::drops,
       .least = 1,
       .paper = "sources at full speed lose data when the rate is increased"},
      {.cure = "full speed",
       .x_from = 0.7,
       .quantity = Quantity::slow,
       .least = 0.01,
       .paper = "the number of corrupted events sharply increases (here: slices that waited for a timeout)"},
      {.cure = "constant rate",
       .quantity = Quantity::drops,
       .most = 0,
       .paper = "constant bit rates lose nothing"},
      {.cure = "constant rate",
       .x_to = 0.7,
       .quantity = Quantity::sustained,
       .least = 0.97,
       .paper = "and follow the attempted rate"},
      {.cure = "constant rate",
       .x_from = 1.2,
       .quantity = Quantity::share,
       .least = 0.8,
       .most = 0.95,
       .paper = "up to a plateau near 90 % of the link"},
      {.cure = "adaptive",
       .x_from = 1.2,
       .quantity = Quantity::share,
       .least = 0.9,
       .paper = "FlowMaster reaches more than constant bit rates"}};
  figure.differs =
      "ATM loses an event with each lost cell; TCP sends it again, so a slice is not corrupted but late: by "
      "a "
      "retransmission timeout of 200 ms or more. Three DCMs replace eleven, at a third of the rate.";
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
       .quantity = Quantity::share,
       .least = 0.75,
       .most = 0.85,
       .paper = "fragments of 4 kB use the 80 % that the channels allow (less than 70 Mb/s with Winsock2)"},
      {.quantity = Quantity::drops, .most = 0, .paper = "nothing is lost"}};
  figure.differs =
      "With fragments of 1 kB the paper's hosts are limited by their software; a DCM of today takes several "
      "times that rate on one core.";
  return figure;
}

Experiment scaling_figure() {
  Experiment figure = made("13", "Throughput of the event builder against the number of destinations");
  figure.scale = 0.1;
  figure.vary = Vary::dcms;
  figure.x = {1, 2, 4, 8, 11};
  figure.cures = {constant_rate(kBusyPort)};
  figure.expectations = {{.quantity = Quantity::share,
                          .least = 0.7,
                          .paper = "linear in the number of destinations, up to 120 MB/s: 70 % of the links"},
                         {.quantity = Quantity::drops, .most = 0, .paper = "without a loss"}};
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
