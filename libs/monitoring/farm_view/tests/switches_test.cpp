#include "weir_catch.hpp"
#include <weir/farm_view/switches.hpp>

using namespace weir;

TEST_CASE("a switch's line has its frames, its longest ring and its problem") {
  v1::FarmView::SwitchState state;
  v1::SwitchReport& report = *state.mutable_report();
  report.set_name("daq");
  state.set_silent_ns(-1);
  CHECK(farm_view::switch_text(state) == "daq: not connected");
  state.set_silent_ns(0);
  report.set_host("sw-1");
  report.set_received(12);
  report.set_sent(9);
  report.set_lost(1);
  report.add_rings()->set_name("dcm-0");
  CHECK(farm_view::switch_text(state) == "daq on sw-1: 12 frames received, 9 sent, 1 lost for lack of room");
  report.add_rings()->set_name("dcm-1");
  report.mutable_rings(1)->set_waiting(2);
  report.mutable_rings(0)->set_waiting_most(7);
  report.mutable_rings(0)->set_waiting_bytes_most(9'000);
  report.mutable_rings(0)->set_room(8);
  state.set_problem("is silent");
  CHECK(farm_view::switch_text(state) ==
        "daq on sw-1: 12 frames received, 9 sent, 1 lost for lack of room; 2 frames wait in dcm-1; at most 7 "
        "of 8 "
        "in dcm-0, 9.00 kB; is silent");
}
