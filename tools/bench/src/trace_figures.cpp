// Figures of Jereczek's thesis (2017), chapter 4, that show a network over time, as data.
#include "thesis_traces.hpp"

namespace weir::bench {
namespace {

Experiment one_dcm(const char* id, const char* title, double readouts, std::uint32_t fragment_bytes,
                   double rate_hz, Show show) {
  Experiment figure;
  figure.id = id;
  figure.title = title;
  figure.setting.readouts = readouts;
  figure.setting.fragment_bytes = fragment_bytes;
  figure.setting.rate_hz = rate_hz;
  figure.show = show;
  return figure;
}

// A slice's collection begins and ends at full milliseconds, and processes wait for a CPU.
constexpr double kCollectionMostMs = 25;

Experiment idle_figure() {
  Experiment figure =
      one_dcm("4.2", "Use of a DCM's link: 200 readouts of 12 x 1 kB", 200, 1000, 50, Show::use);
  figure.cures = {{.label = "TCP Cubic"}};
  figure.expectations = {{.quantity = Quantity::idle_gaps,
                          .least = 2,
                          .paper = "the link is idle for at least 200 ms after a timeout, many times"}};
  figure.differs =
      "Today's TCP repairs most losses without a timeout (SACK, RACK, tail-loss probes), so its link is "
      "seldom "
      "idle as long.";
  return figure;
}

Experiment requests_figure() {
  Experiment figure = one_dcm("4.6", "Requests and responses of one slice: 147 readouts of 12 x 1.1 kB", 147,
                              1100, 50, Show::collection);
  figure.cures = {static_window(2), shaping(396)};
  figure.expectations = {{.quantity = Quantity::collection_ms,
                          .most = kCollectionMostMs,
                          .paper = "the last response arrives after 16.8 ms with either"},
                         {.cure = "static TCP",
                          .quantity = Quantity::early_requests,
                          .least = 0.8,
                          .paper = "with a static window all requests are sent at once"},
                         {.cure = "traffic shaping",
                          .quantity = Quantity::early_requests,
                          .most = 0.75,
                          .paper = "with traffic shaping they follow the credits"}};
  figure.differs =
      "A sample each ms of a slice of 17 ms; the paper has a dump of packets. A strict quota asks for "
      "fragments "
      "one by one, so its requests have more bytes.";
  return figure;
}

Experiment queues_figure() {
  Experiment figure = requests_figure();
  figure.id = "4.7";
  figure.title = "Queues during the collection of a slice: 147 readouts of 12 x 1.1 kB";
  figure.show = Show::queues;
  figure.expectations = {
      {.cure = "static TCP",
       .quantity = Quantity::queue_kb,
       .over = "traffic shaping",
       .most = 1.1,
       .paper = "the longest queue is not longer with a static window than with traffic shaping"}};
  figure.differs =
      "The paper's virtual output queues are those of a core router's blades, and shorter with a static "
      "window. Here a port has one queue of the outstanding data: 30 segments of 1.5 kB, or 40 fragments of "
      "1.1 kB.";
  return figure;
}

Experiment diatcp_requests_figure() {
  Experiment figure = one_dcm("4.10", "Requests and responses of one slice: 160 readouts of 12 x 1.1 kB", 160,
                              1100, 40, Show::collection);
  figure.cures = {
      {.label = "DIATCP", .shaper = "diatcp", .window_kb = 160 * kSegmentKb}, static_window(2), shaping(421)};
  figure.expectations = {
      {.quantity = Quantity::collection_ms,
       .most = kCollectionMostMs,
       .paper = "the last response arrives after 18.9 ms with DIATCP, 22.2 ms with a static "
                "window and 18.5 ms with traffic shaping"},
      {.cure = "static TCP",
       .quantity = Quantity::early_requests,
       .least = 0.8,
       .paper = "with a static window all requests are sent at once"}};
  figure.differs =
      "Weir's shaper diatcp divides requests, where DIATCP divides advertised windows and sends all requests "
      "at "
      "once.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_traces() {
  return {idle_figure(), requests_figure(), queues_figure(), diatcp_requests_figure()};
}

}  // namespace weir::bench
