// Figures of Jereczek's thesis (2017), chapter 4, that show a network over time, as data.
#include "thesis_parts.hpp"

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

Experiment idle_figure() {
  Experiment figure =
      one_dcm("4.2", "Use of a DCM's link: 200 readouts of 12 x 1 kB", 200, 1000, 50, Show::use);
  figure.cures = {plain_tcp()};
  figure.expectations = {{.quantity = Quantity::idle_gaps,
                          .least = 2,
                          .at = "4.2",
                          .paper = "the link is idle for 200 ms or more, many times"}};
  figure.differs =
      std::string(
          "A timeout of 200 ms begins with the last segment that was sent, up to 20 ms before the link falls "
          "idle, so times of 175 ms are counted.") +
      kModernTcp;
  return figure;
}

// Statements about one collection are judged by the median over all slices of a run, as the paper's dump of
// one slice cannot be.
Experiment requests_figure() {
  Experiment figure = one_dcm("4.6", "Requests and responses of one slice: 147 readouts of 12 x 1.1 kB", 147,
                              1100, 50, Show::collection);
  figure.cures = {static_window(2), shaping(396)};
  figure.expectations = {
      {.quantity = Quantity::p50_ms,
       .most = 18.5,
       .at = "Figure 4.6",
       .paper = "the last response arrives after 16.766 ms with a static window of 2 and 16.84 ms with 396 "
                "credits "
                "(and 10 %)"},
      {.cure = "static TCP",
       .quantity = Quantity::p50_ms,
       .over = "traffic shaping",
       .least = 0.95,
       .most = 1.05,
       .at = "4.5.2.1",
       .paper = "at almost the same time"},
      {.cure = "static TCP",
       .quantity = Quantity::early_requests,
       .least = 0.95,
       .at = "4.5.2.1",
       .paper = "with a static window the DCM requests all fragments at once"},
      {.cure = "traffic shaping",
       .quantity = Quantity::early_requests,
       .most = 0.6,
       .at = "4.5.2.1",
       .paper = "with shaping the requests are spread over time, as credits allow"},
      {.cure = "static TCP",
       .at = "4.5.2.1",
       .paper =
           "20 kB more go from DCM to ROS with the static window, and acknowledgements for another 1.3 ms",
       .cannot = "a strict quota requests fragments one by one, so that its requests outweigh "
                 "acknowledgements, and "
                 "the trace has a sample each ms"}};
  figure.differs =
      "The curves are the median collection among those without an idle ms, a sample each ms; the paper's "
      "are a dump "
      "of packets of one event.";
  return figure;
}

Experiment queues_figure() {
  Experiment figure = requests_figure();
  figure.id = "4.7";
  figure.title = "Queues during the collection of a slice: 147 readouts of 12 x 1.1 kB";
  figure.show = Show::queues;
  figure.expectations = {
      {.cure = "static TCP",
       .at = "4.5.2.1",
       .paper = "a virtual output queue has a stable size, with a lower maximum if the window is static",
       .cannot = "a port of the lab has one queue for all inputs, not one for each blade, and it holds all "
                 "outstanding data: 30 segments of 1.5 kB or 40 fragments of 1.1 kB"}};
  figure.differs =
      "A queue here is that of the port to the DCM; the paper's are virtual queues of three blades "
      "of a core router.";
  return figure;
}

Experiment diatcp_requests_figure() {
  Experiment figure = one_dcm("4.10", "Requests and responses of one slice: 160 readouts of 12 x 1.1 kB", 160,
                              1100, 40, Show::collection);
  figure.cures = {
      {.label = "DIATCP", .shaper = "diatcp", .window_kb = 160 * kSegmentKb}, static_window(2), shaping(421)};
  figure.expectations = {
      {.cure = "DIATCP",
       .quantity = Quantity::p50_ms,
       .over = "traffic shaping",
       .least = 0.9,
       .most = 1.1,
       .at = "4.5.2.2, Figure 4.10",
       .paper = "latencies of DIATCP (18.94 ms) and traffic shaping (18.48 ms) are comparable"},
      {.cure = "static TCP",
       .at = "4.5.2.2, Figure 4.10",
       .paper = "the last response comes later with static TCP, after 22.19 ms",
       .cannot = "the paper believes its server-based router to be the reason, which the lab does not have"},
      {.cure = "DIATCP",
       .at = "4.5.2.2, Figure 4.10b",
       .paper = "higher traffic towards the ROS, of frequent window updates",
       .cannot = "Weir's shaper diatcp divides requests and not advertised windows"}};
  figure.differs =
      "Weir's shaper diatcp divides requests, where DIATCP divides advertised windows. The curves are the "
      "median "
      "collection among those without an idle ms, a sample each ms.";
  return figure;
}

}  // namespace

std::vector<Experiment> thesis_traces() {
  return {idle_figure(), requests_figure(), queues_figure(), diatcp_requests_figure()};
}

}  // namespace weir::bench
