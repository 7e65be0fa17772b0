#include "../src/exposition.hpp"

#include "weir_catch.hpp"

namespace weir::switch_node {
namespace {

using Catch::Matchers::ContainsSubstring;
using switching::FrameDrop;

packet_switch::SwitchCounts counts() {
  packet_switch::SwitchCounts counts;
  counts.ports.resize(2);
  counts.ports[0].received = 100;
  counts.ports[0].dropped[static_cast<std::size_t>(FrameDrop::queue_full)] = 7;
  counts.ports[0].dropped[static_cast<std::size_t>(FrameDrop::no_route)] = 3;
  counts.ports[1].sent = 85;
  counts.rings.push_back({.frames = 85, .dropped = 7, .waiting = 5, .waiting_most = 16});
  counts.held = 5;
  return counts;
}

switching::SwitchSettings settings() {
  switching::SwitchSettings settings;
  settings.ports = {{.name = "eth1"}, {.name = "eth2"}};
  settings.rings = {{.name = "dcm-0", .via = 1, .frames_max = 16}};
  return settings;
}

TEST_CASE("the counters of ports and rings are exported with the drops' reasons") {
  const std::string text = prometheus_text("daq", settings(), counts());
  CHECK_THAT(text,
             ContainsSubstring("weir_switch_received_frames_total{switch=\"daq\",port=\"eth1\"} 100\n"));
  CHECK_THAT(text,
             ContainsSubstring(
                 "weir_switch_dropped_frames_total{switch=\"daq\",port=\"eth1\",reason=\"queue_full\"} 7\n"));
  CHECK_THAT(text, ContainsSubstring("weir_switch_ring_waiting_frames{switch=\"daq\",ring=\"dcm-0\"} 5\n"));
  CHECK_THAT(text, ContainsSubstring("# TYPE weir_switch_ring_waiting_frames_most gauge\n"));
}

TEST_CASE("the summary adds up, with drops by reason") {
  const std::string text = summary_text("daq", settings(), counts(), 2);
  CHECK_THAT(text, ContainsSubstring("100 received, 85 sent, 10 dropped: no_route 3, queue_full 7\n"));
  CHECK_THAT(text, ContainsSubstring("5 frames at the end"));
  CHECK_THAT(text, ContainsSubstring("ring: 85 frames, 7 dropped, at most 16 of 16 waiting"));
  CHECK(lost_frames(counts()) == 7);
}

}  // namespace
}  // namespace weir::switch_node
