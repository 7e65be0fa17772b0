// Which nodes of the plan are connected, and which of them the run waits for.
#include "../src/roster.hpp"
#include "deaf_peer.hpp"
#include "weir_catch.hpp"

namespace weir::supervisor {
namespace {

struct Farm {
  Farm() {
    roster.plan(Role::dcm, NodeIndex(0), "dcm-0", "east");
    roster.plan(Role::dcm, NodeIndex(1), "dcm-1", "east");
    roster.plan(Role::dcm, NodeIndex(2), "dcm-2", "west");
    roster.plan(Role::writer, NodeIndex(0), "writer-0", "");
  }
  RosterMember& member(const std::string& name) { return *roster.find(name); }
  void join(const std::string& name, test::DeafPeer& by) {
    roster.connected(member(name), by.peer);
    member(name).was_there = true;
  }
  bool report(const std::string& name, double base_us, bool final = false) {
    v1::Report report;
    report.set_final(final);
    if (base_us > 0) (*report.mutable_gauges())["shaper.base_us"] = base_us;
    return roster.take_report(member(name), report);
  }
  // As the sender of shares does.
  void tell_shares() {
    for (RosterMember& member : roster.members()) {
      if (member.role == Role::dcm && member.peer != nullptr)
        member.share_sent = roster.port_shares().at(member.port);
    }
  }

  Roster roster;
  test::DeafPeer first;
  test::DeafPeer second;
  test::DeafPeer third;
  test::DeafPeer fourth;
};

}  // namespace

TEST_CASE("a member is found by role and index, by name and by connection") {
  Farm farm;
  farm.join("dcm-1", farm.first);
  CHECK(farm.roster.find(Role::dcm, NodeIndex(1)) == &farm.member("dcm-1"));
  CHECK(farm.roster.find(farm.first.peer) == &farm.member("dcm-1"));
  CHECK(farm.roster.find(farm.second.peer) == nullptr);
  CHECK(farm.roster.find(Role::writer, NodeIndex(1)) == nullptr);
  CHECK(farm.roster.find("dcm-3") == nullptr);
  farm.roster.plan(Role::dcm, NodeIndex(5), "dcm-5", "");
  CHECK(farm.roster.find(Role::dcm, NodeIndex(5)) == &farm.member("dcm-5"));
  CHECK(farm.roster.find(Role::dcm, NodeIndex(4)) == nullptr);
  CHECK(farm.roster.find(Role::trigger, NodeIndex(0)) == nullptr);
  CHECK(farm.roster.find(static_cast<Role>(200), NodeIndex(0)) == nullptr);
}

TEST_CASE("a run begins when all expected nodes of the plan have joined") {
  Farm farm;
  farm.join("dcm-0", farm.first);
  farm.join("dcm-2", farm.second);
  CHECK_FALSE(farm.roster.complete());
  CHECK(farm.roster.absent() == "dcm-1, writer-0");
  farm.member("dcm-1").absent = true;
  CHECK(farm.roster.absent() == "writer-0");
  CHECK_FALSE(farm.roster.complete());
  farm.join("writer-0", farm.third);
  CHECK(farm.roster.complete());
  CHECK(farm.roster.absent().empty());
}

TEST_CASE("a run is over when every connected node has sent its final report, and no other is missing") {
  Farm farm;
  CHECK(farm.roster.all_final());
  CHECK_FALSE(farm.roster.is_one_away());
  farm.join("dcm-0", farm.first);
  CHECK_FALSE(farm.roster.all_final());
  CHECK_FALSE(farm.roster.is_one_away());
  farm.report("dcm-0", 0);
  CHECK_FALSE(farm.roster.all_final());
  farm.member("dcm-0").peer = nullptr;
  CHECK(farm.roster.all_final());
  CHECK(farm.roster.is_one_away());
  farm.report("dcm-0", 0, true);
  CHECK_FALSE(farm.roster.is_one_away());
}

TEST_CASE(
    "DCMs of one port share it among the present ones, by the shortest round trip that any of them "
    "measured") {
  Farm farm;
  farm.join("dcm-0", farm.first);
  farm.report("dcm-0", 120);
  farm.report("dcm-1", 10);  // its last words
  farm.join("dcm-2", farm.second);
  CHECK(farm.roster.port_shares().at("east") == DcmPortShare{1, 120});
  farm.join("dcm-1", farm.third);
  CHECK(farm.roster.port_shares().at("east") == DcmPortShare{2, 10});
  CHECK(farm.roster.port_shares().at("west") == DcmPortShare{1, 0});
  farm.report("dcm-1", 150);
  CHECK(farm.roster.port_shares().at("east") == DcmPortShare{2, 120});
}

TEST_CASE("a report that leaves the share of its port unchanged returns true") {
  Farm farm;
  farm.join("dcm-0", farm.first);
  farm.join("dcm-1", farm.second);
  farm.join("dcm-2", farm.third);
  farm.join("writer-0", farm.fourth);
  farm.tell_shares();
  CHECK(farm.report("dcm-0", 120));
  farm.tell_shares();
  CHECK_FALSE(farm.report("dcm-0", 120));
  CHECK_FALSE(farm.report("dcm-1", 150));
  CHECK_FALSE(farm.report("dcm-1", 140));
  CHECK_FALSE(farm.report("dcm-2", 10));  // is alone
  CHECK_FALSE(farm.report("writer-0", 10));
  CHECK(farm.roster.port_shares().at("east") == DcmPortShare{2, 120});
  CHECK(farm.report("dcm-1", 110));
  farm.tell_shares();
  CHECK(farm.report("dcm-1", 130));  // was the shortest
  CHECK(farm.roster.port_shares().at("east") == DcmPortShare{2, 120});
}

TEST_CASE("a writer that was lost for good is in the ledger with its index alone") {
  Farm farm;
  CHECK(ledger_input(farm.roster).writers.empty());
  farm.join("writer-0", farm.first);
  farm.report("writer-0", 0);
  auto& counters = *farm.member("writer-0").report.mutable_counters();
  counters["writer.dead_copies"] = 3;
  REQUIRE(ledger_input(farm.roster).writers.size() == 1);
  CHECK(ledger_input(farm.roster).writers.front().dead == 0);
  CHECK_FALSE(ledger_input(farm.roster).writers.front().final);
  farm.member("writer-0").report.set_final(true);
  CHECK(ledger_input(farm.roster).writers.front().dead == 3);
}

}  // namespace weir::supervisor
