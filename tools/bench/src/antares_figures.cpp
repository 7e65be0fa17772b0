// Table 4.2 and the figures of chapter 4 of van Rantwijk's thesis (ANTARES, 2002) as data.
#include <weir/bench/experiment.hpp>

#include <string>

namespace weir::bench {
namespace {

constexpr const char* kSpeed =
    "At a tenth of the speed delays are ten times the paper's, but TCP's timeouts are not: 200 "
    "ms here are 20 ms of the paper's time. The paper's delays are taken to be of fragments "
    "(4.3.4); 4.4.1 computes them \"over all slices\". The paper calls its TCP not "
    "quantitatively reliable (4.3.5); it is ns-2's FullTcp (4.3.2), and the text names neither "
    "its congestion control nor its window. Ours is Cubic.";
// Criteria: rows without a loss within 1.3 of table 4.2, others within 3.
constexpr double kCloseRow = 1.3;
constexpr double kLossyRow = 3;
constexpr const char* kShort =
    "a run of 16 s is 1.6 s of the paper's time, where its simulation has 60 s and 10 s of relaxation";

// LCMs of 50 Mb/s push 30,000 bytes each 10 ms to PCs of 500 Mb/s, through queues of 100 packets. One
// switch stands for those of the paper.
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
  figure.differs = std::string("The cables' delays of 50, 300 and 50 us are missing. ") + kSpeed;
  return figure;
}

Expectation row(const std::string& cure, Quantity quantity, double paper_value, double within,
                const char* paper) {
  return {.cure = cure,
          .quantity = quantity,
          .least = paper_value / within,
          .most = paper_value * within,
          .paper_value = paper_value,
          .within = within,
          .at = "Table 4.2",
          .paper = paper};
}
Expectation none_retransmitted(const std::string& cure) {
  return {.cure = cure,
          .quantity = Quantity::drops,
          .most = 0,
          .at = "Table 4.2",
          .paper = "0.0 % are retransmitted"};
}
Expectation too_short(const std::string& cure, const char* at, const char* paper) {
  return {.cure = cure, .at = at, .paper = paper, .cannot = kShort};
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
  for (const Cure& cure : figure.cures) {
    figure.expectations.push_back(
        row(cure.label, Quantity::fragment_mean_ms, 5, kCloseRow, "0.005 s on average"));
    figure.expectations.push_back(
        row(cure.label, Quantity::fragment_p99_ms, 5, kCloseRow, "0.005 s at 99 %"));
    figure.expectations.push_back(
        row(cure.label, Quantity::fragment_max_ms, 6, kCloseRow, "0.006 s at most"));
    figure.expectations.push_back(none_retransmitted(cure.label));
  }
  return figure;
}

Experiment two_strings() {
  Experiment figure = table("table-4.2", "Delays with two strings: 60 LCMs, 20 PCs", 60, 20);
  figure.cures = {direct(), delayed(8)};
  const std::string k8 = delayed(8).label;
  figure.expectations = {row("direct", Quantity::fragment_mean_ms, 248, kLossyRow, "0.248 s on average"),
                         row("direct", Quantity::retransmitted, 0.012, kLossyRow, "1.2 % are retransmitted"),
                         too_short("direct", "Table 4.2", "0.924 s at 99 %, 6.021 s at most"),
                         row(k8, Quantity::fragment_mean_ms, 5, kCloseRow, "0.005 s on average"),
                         row(k8, Quantity::fragment_p99_ms, 5, kCloseRow, "0.005 s at 99 %"),
                         row(k8, Quantity::fragment_max_ms, 7, kCloseRow, "0.007 s at most"),
                         none_retransmitted(k8)};
  return figure;
}

Experiment sizes() {
  Experiment figure = table("table-4.2-sizes", "Larger fragments with k = 8: 60 LCMs, 20 PCs", 60, 20);
  figure.vary = Vary::fragment;
  figure.x = {30'000, 50'000, 60'000, 65'000};
  figure.cures = {delayed(8)};
  const auto at = [&](double bytes, Expectation expectation) {
    expectation.x_from = expectation.x_to = bytes;
    figure.expectations.push_back(std::move(expectation));
  };
  const std::string k8 = delayed(8).label;
  at(50'000, row(k8, Quantity::fragment_mean_ms, 9, kCloseRow, "50 kB: 0.009 s on average"));
  at(50'000, none_retransmitted(k8));
  at(60'000, row(k8, Quantity::fragment_mean_ms, 15, kCloseRow, "60 kB: 0.015 s on average"));
  at(60'000, none_retransmitted(k8));
  at(65'000, row(k8, Quantity::fragment_mean_ms, 2550, kLossyRow, "65 kB: 2.550 s on average"));
  at(65'000, row(k8, Quantity::retransmitted, 0.13, kLossyRow, "65 kB: about 13 % are retransmitted"));
  figure.expectations.push_back(too_short(k8, "Table 4.2", "65 kB: 13.614 s at 99 %, 57.313 s at most"));
  figure.differs += " The paper's rows have 300 LCMs and 100 PCs.";
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
  for (const Cure& cure : figure.cures) {
    figure.expectations.push_back(row(cure.label, Quantity::fragment_mean_ms, 6, kLossyRow,
                                      "0.006 s on average, with bit errors or without"));
    figure.expectations.push_back(
        row(cure.label, Quantity::fragment_p99_ms, 51, kLossyRow, "0.051 s at 99 %"));
    figure.expectations.push_back({.cure = cure.label,
                                   .quantity = Quantity::retransmitted,
                                   .most = 0.0005,
                                   .at = "Table 4.2",
                                   .paper = "much less than 0.1 % is retransmitted"});
  }
  figure.expectations.push_back(
      {.cure = errors.label,
       .quantity = Quantity::fragment_max_ms,
       .over = cut_off().label,
       .least = 4,
       .at = "Table 4.2",
       .paper = "with bit errors the longest delay grows from 0.492 to 6.007 s (12 times)"});
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
  // The same delay: the mean, 99 % and the longest are close to the paper's, and so to each other.
  figure.expectations = {
      row("direct", Quantity::fragment_mean_ms, 5, kCloseRow,
          "all slices have about the same delay, that of their transmission: 0.005 s on average"),
      row("direct", Quantity::fragment_p99_ms, 5, kCloseRow, "0.005 s at 99 %"),
      row("direct", Quantity::fragment_max_ms, 6, kCloseRow, "0.006 s at most")};
  for (Expectation& statement : figure.expectations) statement.at = "4.4.1, Table 4.2";
  return figure;
}

Experiment string_delays() {
  Experiment figure = delays("4.2", "Delays of fragments with two strings, direct: 60 LCMs, 20 PCs", 60, 20);
  figure.expectations = {
      too_short("direct", "4.4.1", "10 strings: fragments with more than 40 s"),
      {.cure = "direct",
       .at = "4.4.1",
       .paper = "10 strings: erratic, with bands of connections that lost some packets in a row",
       .cannot = "the lab has two strings, 60 LCMs"}};
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
  figure.expectations = {
      {.cure = "direct",
       .quantity = Quantity::fragment_mean_ms,
       .over = "delayed, k = 8",
       .least = 50 / kLossyRow,
       .at = "4.4.1, Table 4.2",
       .paper = "direct delays grow with the detector, delayed ones hardly: 0.248 and 0.005 s on average "
                "with 2 strings (50 times)"},
      {.cure = bursts.label,
       .quantity = Quantity::fragment_mean_ms,
       .over = "delayed, k = 8",
       .least = 49 / kLossyRow,
       .at = "4.4.1, Table 4.2",
       .paper = "bioluminescence makes delays much longer: 0.292 s on average beside 0.006 s, with 10 "
                "strings (49 times)"},
      {.cure = cut_off().label,
       .quantity = Quantity::fragment_mean_ms,
       .over = bursts.label,
       .most = kLossyRow / 49,
       .at = "4.4.1, Table 4.2",
       .paper = "the cut-off helps: 0.006 s on average instead of 0.292 s, with 10 strings"}};
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
