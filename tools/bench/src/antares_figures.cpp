// Table 4.2 and the figures of chapter 4 of van Rantwijk's thesis (ANTARES, 2002) as data.
#include <weir/bench/experiment.hpp>

#include <string>

namespace weir::bench {
namespace {

constexpr const char* kSpeed =
    "At a tenth of the speed delays are ten times the paper's. The paper calls its TCP not quantitatively "
    "reliable.";

// LCMs of 50 Mb/s push 30,000 bytes each 10 ms to PCs of 500 Mb/s, through queues of 100 packets. The
// switches between them are never full in the paper, so one stands for all.
Experiment table(const char* id, const char* title, double lcms, std::uint32_t pcs) {
  Experiment figure;
  figure.id = id;
  figure.title = title;
  ExperimentSetting& setting = figure.setting;
  setting.layout = NetworkLayout::one_switch;
  setting.push = true;
  setting.readouts = lcms;
  setting.dcms = pcs;
  setting.units = 64;
  setting.sources = 1;
  setting.fragment_bytes = 30'000;
  setting.host_mbit = 50;
  setting.port_mbit = 500;
  setting.port_kb = 150;
  setting.rate_hz = 100;
  figure.scaling.buffers = figure.scaling.readouts = false;
  figure.scaling.triggers = true;
  figure.times = {4, 12};
  figure.differs = std::string("The cable's delay of 300 us is missing. ") + kSpeed;
  return figure;
}

Cure delayed(std::uint32_t k) {
  Cure cure;
  cure.label = "delayed, k = " + std::to_string(k);
  cure.group = k;
  return cure;
}
Cure cut_off() {
  Cure cure = delayed(8);
  cure.label = "k = 8, bioluminescence with cut-off";
  cure.bursts = cure.cut_off = true;
  return cure;
}
Cure direct() {
  Cure cure;
  cure.label = "direct";
  return cure;
}

// With the delays of the cables, 50, 300 and 50 us. The relay does not carry 60 links with so little jitter.
void add_cables(Experiment& figure) {
  figure.setting.delay_ms = 0.4;
  figure.differs = kSpeed;
}

Experiment sector() {
  Experiment figure = table("table-4.2-sector", "Delays on the sector line: 5 LCMs, 2 PCs", 5, 2);
  add_cables(figure);
  figure.cures = {direct(), delayed(8)};
  figure.expectations = {
      {.quantity = Quantity::mean_ms, .most = 100, .paper = "5 ms on average, direct or delayed"},
      {.quantity = Quantity::drops, .most = 0, .paper = "and nothing is retransmitted"}};
  return figure;
}

Experiment two_strings() {
  Experiment figure = table("table-4.2", "Delays with two strings: 60 LCMs, 20 PCs", 60, 20);
  figure.cures = {direct(), delayed(8)};
  figure.expectations = {
      {.cure = "direct", .quantity = Quantity::drops, .least = 1, .paper = "1.2 % are retransmitted"},
      {.cure = "direct",
       .quantity = Quantity::p99_ms,
       .least = 200,
       .paper = "with delays up to 0.924 s at 99 % (average 0.248 s)"},
      {.cure = "delayed, k = 8",
       .quantity = Quantity::mean_ms,
       .most = 100,
       .paper = "5 ms on average with k = 8"},
      {.cure = "delayed, k = 8",
       .quantity = Quantity::drops,
       .most = 0,
       .paper = "nothing is retransmitted"}};
  return figure;
}

Experiment sizes() {
  Experiment figure = table("table-4.2-sizes", "Larger fragments with k = 8: 60 LCMs, 20 PCs", 60, 20);
  figure.vary = Vary::fragment;
  figure.x = {30'000, 50'000, 60'000, 65'000};
  figure.cures = {delayed(8)};
  figure.expectations = {{.x_to = 60'000,
                          .quantity = Quantity::mean_ms,
                          .most = 300,
                          .paper = "9 and 15 ms on average with 50 and 60 kB"},
                         {.x_from = 65'000,
                          .quantity = Quantity::mean_ms,
                          .least = 300,
                          .paper = "65 kB exceed the LCM's link: 2.55 s on average"}};
  return figure;
}

// Each frame passes one host's link with errors on its way, as it passes the long cable once in the paper.
Experiment errors() {
  Experiment figure =
      table("table-4.2-errors", "Bit errors of 1e-8, bursts with cut-off, k = 8: 60 LCMs, 20 PCs", 60, 20);
  Cure errors = cut_off();
  errors.label += ", bit errors";
  errors.bit_errors = 1e-8;
  figure.cures = {cut_off(), errors};
  figure.times = {4, 40};
  figure.expectations = {
      {.cure = errors.label,
       .quantity = Quantity::mean_ms,
       .over = cut_off().label,
       .most = 1.5,
       .paper = "the average is as without bit errors, 6 ms"},
      {.cure = errors.label,
       .quantity = Quantity::max_ms,
       .over = cut_off().label,
       .least = 1,
       .paper = "the longest delay grows, from 0.492 to 6.007 s"},
      {.quantity = Quantity::retransmitted, .most = 0.001, .paper = "much less than 0.1 % is retransmitted"}};
  figure.differs =
      std::string(
          "60 LCMs instead of 300, and the cable's delay of 300 us is missing. At 1e-8 a full frame is "
          "lost with a probability of 0.012 %. ") +
      kSpeed;
  return figure;
}

Experiment delays(const char* id, const char* title, double lcms, std::uint32_t pcs) {
  Experiment figure = table(id, title, lcms, pcs);
  figure.cures = {direct()};
  figure.show = Show::delays;
  return figure;
}

Experiment sector_delays() {
  Experiment figure = delays("4.1", "Delays of fragments on the sector line, direct: 5 LCMs, 2 PCs", 5, 2);
  add_cables(figure);
  figure.expectations = {{.quantity = Quantity::max_ms,
                          .most = 300,
                          .paper = "all slices are delayed by about the time of their transmission, 5 ms"}};
  return figure;
}

Experiment string_delays() {
  Experiment figure = delays("4.2", "Delays of fragments with two strings, direct: 60 LCMs, 20 PCs", 60, 20);
  figure.expectations = {{.quantity = Quantity::max_ms,
                          .least = 400,
                          .paper = "some fragments are delayed by seconds, with 300 LCMs by more than 40 s"}};
  figure.differs += " The paper's figure has 300 LCMs and 100 PCs; this one has its two strings.";
  return figure;
}

Experiment models() {
  Experiment figure = table("4.3", "Delays of TCP models: 60 LCMs, 20 PCs", 60, 20);
  figure.show = Show::bars;
  Cure bursts = delayed(8);
  bursts.label = "k = 8, bioluminescence";
  bursts.bursts = true;
  figure.cures = {direct(), delayed(8), bursts, cut_off()};
  figure.expectations = {{.cure = "direct",
                          .quantity = Quantity::p99_ms,
                          .over = "delayed, k = 8",
                          .least = 3,
                          .paper = "direct transmission has 0.924 s at 99 %, delayed transmission 0.005 s"},
                         {.cure = bursts.label,
                          .quantity = Quantity::p99_ms,
                          .over = "delayed, k = 8",
                          .least = 3,
                          .paper = "bursts degrade it seriously: 5.2 s at 99 % with 300 LCMs"},
                         {.cure = cut_off().label,
                          .quantity = Quantity::p99_ms,
                          .over = bursts.label,
                          .most = 0.5,
                          .paper = "the cut-off restores most of it: 0.051 s"}};
  figure.differs += " The paper's rows with bioluminescence have 300 LCMs.";
  return figure;
}

Experiment lcms_in_burst() {
  Experiment figure = table("4.4", "LCMs in a burst of bioluminescence, of 300", 300, 100);
  figure.show = Show::bursts;
  figure.differs = "The bursts are those of Weir's source `hits`; no farm runs.";
  return figure;
}

}  // namespace

const std::vector<Experiment>& antares_experiments() {
  static const std::vector<Experiment> figures = {sector(), two_strings(),   sizes(),
                                                  errors(), sector_delays(), string_delays(),
                                                  models(), lcms_in_burst()};
  return figures;
}

}  // namespace weir::bench
