#include "weir_catch.hpp"
#include <weir/reports/switch_account.hpp>

using namespace weir;

namespace {

v1::SwitchAccount switch_account() {
  v1::SwitchAccount account;
  account.set_name("daq");
  account.set_host("sw-1");
  account.set_received(12'345);
  account.set_sent(12'000);
  for (const char* name : {"dcm-0", "dcm-1"}) {
    v1::SwitchAccount::Ring& ring = *account.add_rings();
    ring.set_name(name);
    ring.set_room(4'096);
  }
  return account;
}

}  // namespace

TEST_CASE("a switch's line in the summary has drops by reason, the deepest ring, and what happened to it") {
  v1::SwitchAccount account = switch_account();
  CHECK(reports::switch_line(account) == "on sw-1: 12 345 frames received, 12 000 forwarded, 0 dropped");
  account.mutable_rings(0)->set_waiting_most(7);
  account.mutable_rings(1)->set_waiting_most(1'200);
  account.mutable_rings(1)->set_waiting_bytes_most(1'800'000);
  (*account.mutable_dropped())["queue_full"] = 300;
  (*account.mutable_dropped())["no_route"] = 45;
  account.set_tables_changed(2);
  account.set_restarts(1);
  account.set_silences(1);
  CHECK(
      reports::switch_line(account) ==
      "on sw-1: 12 345 frames received, 12 000 forwarded, 345 dropped: no_route 45, queue_full 300; deepest "
      "ring dcm-1: 1 200 of 4 096 frames, 1.80 MB; table changed 2 times; restarted 1 time; silent 1 time");
  account.clear_host();
  CHECK(reports::switch_line(account) == "not connected");
}

TEST_CASE("a switch that drops for lack of room is a fault of the run, with the ring and what to do") {
  v1::SwitchAccount account = switch_account();
  (*account.mutable_dropped())["no_route"] = 45;
  CHECK(reports::switch_loss(account).empty());
  v1::RunSummary good;
  reports::add_switches({account}, good);
  CHECK(good.switches_size() == 1);
  CHECK_FALSE(good.faults());
  (*account.mutable_dropped())["queue_full"] = 3;
  (*account.mutable_dropped())["receive_full"] = 2;
  account.mutable_rings(1)->set_dropped(3);
  v1::RunSummary summary;
  reports::add_switches({account}, summary);
  CHECK(summary.faults());
  REQUIRE(summary.faults_text_size() == 1);
  CHECK(summary.faults_text(0) ==
        "switch daq dropped 5 frames for lack of room: queue_full 3, receive_full 2, most for ring dcm-1; "
        "raise its `packets`, or look at its `rate` and at its DCM");
}

TEST_CASE("a switch that drops in the kernel, or gives no reasons, is a fault without a ring") {
  v1::SwitchAccount account = switch_account();
  (*account.mutable_dropped())["receive_full"] = 1;
  CHECK(reports::switch_loss(account) ==
        "switch daq dropped 1 frame for lack of room: receive_full 1; give the switch a core of its own, or "
        "raise `receive_packets`");
  account.clear_dropped();
  (*account.mutable_dropped())["unspecified"] = 4;
  CHECK(reports::switch_loss(account) ==
        "switch daq dropped 4 frames for lack of room: unspecified 4; the log of the switch has the reasons");
}
