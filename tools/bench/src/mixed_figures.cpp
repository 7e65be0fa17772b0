// Figures of Nomachi et al., "Performance Measurements of Mixed Data Acquisition and LAN Traffic on a
// Credit-based Flow-controlled ATM Network", as data.
#include <weir/bench/experiment.hpp>

#include <utility>

namespace weir::bench {
namespace {

constexpr double kPortMbit = 155;  // of which cells leave 128 Mb/s of payload
constexpr double kTrunkMbit = 622;
constexpr std::uint32_t kFrameBytes = 8192;
// The use of a link refers to the run's time, and some frames are sent before and after it.
constexpr double kFullMost = 1.06;

// Wide enough to keep every queue on the way filled.
constexpr std::uint32_t kSegments = 200;

Cure credits() { return {.label = "credits", .segments = kSegments, .back_pressure = "credits"}; }
Cure pause_frames() { return {.label = "pause frames", .segments = kSegments, .back_pressure = "pause"}; }

// Workstations at one switch send to workstations at another.
Experiment of(const char* id, const char* title, double sources, std::uint32_t destinations) {
  Experiment figure;
  figure.id = id;
  figure.title = title;
  ExperimentSetting& setting = figure.setting;
  setting.layout = NetworkLayout::cascade;
  setting.readouts = sources;
  setting.readouts_per_rack = 4;
  setting.sources = 1;
  setting.fragment_bytes = kFrameBytes;
  setting.dcms = destinations;
  setting.port_mbit = setting.host_mbit = kPortMbit;
  setting.uplink_mbit = kTrunkMbit;
  setting.port_kb = 100;  // small enough for windows to fill every part of them
  setting.core_kb = 400;
  setting.rate_hz = 0;
  figure.scaling.readouts = figure.scaling.buffers = false;
  figure.scale = 0.2;
  figure.cures = {{.label = "TCP flows"}, credits()};
  figure.differs =
      "Each source sends over TCP. Of TCP flows, drop-tail queues and congestion control take the place of "
      "the "
      "paper's credits. With credits each pair of hosts has a part of every buffer, the switches are a "
      "process "
      "in user space, and static windows of 200 segments leave the rates to them.";
  return figure;
}

void all_to_all(Experiment& figure) {
  for (std::uint32_t from = 0; from < static_cast<std::uint32_t>(figure.setting.readouts); ++from) {
    for (std::uint32_t to = 0; to < figure.setting.dcms; ++to) figure.setting.flows.emplace_back(from, to);
  }
}

Expectation use(Quantity quantity, double least, double most, const char* at, const char* paper) {
  return {.quantity = quantity, .least = least, .most = most, .at = at, .paper = paper};
}

Experiment rates_figure() {
  Experiment figure = of("3", "Event rate of four sources and four destinations over 155 Mb/s", 4, 4);
  figure.setting.layout = NetworkLayout::behind_uplink;
  figure.setting.uplink_mbit = kPortMbit;
  figure.scale = 1;
  figure.vary = Vary::fragment;
  figure.x = {64, 256, 1024, 4096};
  figure.cures = {{.label = "one event at a time", .units = 1},
                  {.label = "four events at a time", .units = 4}};
  figure.expectations = {
      {.cure = "four events at a time",
       .x_to = 256,
       .quantity = Quantity::rate,
       .over = "one event at a time",
       .least = 2.75,
       .at = "III.B",
       .paper = "one event at a time: from about 3 kHz to a little less than 4 kHz; several small events at "
                "a time: 11 to 12 kHz, so at least 2.75 times (that 64 and 256 bytes are small is ours)"},
      {.at = "III.B",
       .paper = "nothing was lost at the highest rates either, because of flow control",
       .cannot = "these runs have TCP over queues that drop frames"},
      {.at = "III.B", .paper = "more than one event for a destination", .open = "it does not say how many"}};
  figure.cores_limit = true;
  figure.differs = "The rates are those of this machine's processes, so only their ratio is compared.";
  return figure;
}

Experiment independent_figure() {
  Experiment figure = of("4", "Four sources, each to a destination of its own", 4, 4);
  for (std::uint32_t i = 0; i < 4; ++i) figure.setting.flows.emplace_back(i, i);
  figure.expectations = {use(Quantity::source_least, 0.95, kFullMost, "IV.A, Figure 4",
                             "each connection has the full speed of a link, 128 Mb/s of payload")};
  return figure;
}

Experiment mesh_figure() {
  Experiment figure = of("5", "Four sources to four destinations, full mesh", 4, 4);
  all_to_all(figure);
  figure.expectations = {use(Quantity::source_least, 0.95, kFullMost, "IV.A, Figure 5",
                             "128 Mb/s of payload for each workstation, the most that a link carries")};
  figure.differs += " The four parts of a source, 32 Mb/s each there, are not measured apart.";
  return figure;
}

Experiment merging_figure() {
  Experiment figure = of("6", "Two sources to one destination", 2, 1);
  figure.setting.flows = {{0, 0}, {1, 0}};
  for (const Quantity quantity : {Quantity::source_least, Quantity::source_most})
    figure.expectations.push_back(
        use(quantity, 0.45, 0.55, "IV.A, Figure 6",
            "two merging connections are equally served, with up to 64 Mb/s of 128"));
  return figure;
}

Experiment neighbour_figure(const char* id, const char* title) {
  Experiment figure = of(id, title, 3, 2);
  figure.setting.port_kb = 50;
  figure.setting.core_kb = 100;
  figure.setting.flows = {{0, 0}, {1, 0}, {2, 1}};
  figure.cures.push_back(pause_frames());
  figure.differs += " Pause frames stop all frames of a link, so they halve the third stream in either case.";
  return figure;
}

Experiment shared_card_figure() {
  Experiment figure =
      neighbour_figure("7", "Two merging streams, and a stream through the same interface card");
  figure.setting.one_card = true;
  for (const Quantity quantity : {Quantity::source_least, Quantity::source_most}) {
    Expectation halved =
        use(quantity, 0.45, 0.55, "IV.A, Figure 7",
            "a path through the hot spot's card has half of the expected 128 Mb/s, because a card has a "
            "single processing unit");
    halved.cure = "credits";
    figure.expectations.push_back(std::move(halved));
  }
  figure.differs +=
      " The card is put in by hand: frames to hosts of one card share their credits. The paper "
      "explains its result by the card's single processing unit, and says nothing of shared "
      "credits.";
  return figure;
}

Experiment own_card_figure() {
  Experiment figure =
      neighbour_figure("8", "Two merging streams, and a stream through another interface card");
  for (const char* cure : {"credits"}) {
    Expectation whole = use(Quantity::source_most, 0.95, kFullMost, "IV.A, Figure 8",
                            "a path through another card is not slowed down");
    whole.cure = cure;
    figure.expectations.push_back(std::move(whole));
  }
  return figure;
}

Experiment balance_figure(const char* id, const char* title, double sources) {
  Experiment figure = of(id, title, sources, 3);
  all_to_all(figure);
  figure.cures.push_back({.label = "event builder", .shaper = "adaptive", .units = 4, .flows = false});
  return figure;
}

Experiment balanced_figure() {
  Experiment figure = balance_figure("10", "Eight sources at two switches, all to three destinations", 8);
  for (const Quantity quantity : {Quantity::source_least, Quantity::source_most}) {
    Expectation each =
        use(quantity, 0.35, 0.4, "IV.B, Figure 10", "48 Mb/s for each source (37.5 % of 128), well balanced");
    each.cure = "credits";
    figure.expectations.push_back(std::move(each));
  }
  return figure;
}

Experiment unbalanced_figure() {
  Experiment figure =
      balance_figure("11", "Four and two sources at two switches, all to three destinations", 6);
  figure.expectations = {
      {.cure = "credits",
       .quantity = Quantity::source_most,
       .least = 0.71,
       .most = 0.79,
       .at = "IV.B, Figure 11",
       .paper = "192 Mb/s between switches from both groups of sources, which makes 96 Mb/s for each of the "
                "two (75 % of 128)"},
      {.cure = "credits",
       .quantity = Quantity::source_least,
       .least = 0.35,
       .most = 0.4,
       .at = "IV.B, Figure 11",
       .paper = "and 48 Mb/s for each of the four (37.5 %)"},
      {.cure = "event builder",
       .at = "IV.B",
       .paper = "an event builder needs an external control",
       .open = "none is measured there; equal parts would be 64 Mb/s, half a link"}};
  figure.differs += " Flows over queues that drop frames have their parts at the destination's port.";
  return figure;
}

std::vector<Experiment> make_mixed() {
  return {rates_figure(),       independent_figure(), mesh_figure(),     merging_figure(),
          shared_card_figure(), own_card_figure(),    balanced_figure(), unbalanced_figure()};
}

}  // namespace

const std::vector<Experiment>& mixed_experiments() {
  static const std::vector<Experiment> figures = make_mixed();
  return figures;
}

}  // namespace weir::bench
