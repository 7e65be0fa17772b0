// The cost of finding a member, in farms of any size.
#include "../src/roster.hpp"
#include "deaf_peer.hpp"
#include "weir_catch.hpp"

#include <deque>
#include <string>

namespace weir::supervisor {
namespace {

constexpr std::uint16_t kSizes[] = {4, 16, 64, 256};

// As many readouts as DCMs, all of them there.
struct BigFarm {
  explicit BigFarm(std::uint16_t each) {
    for (const Role role : {Role::readout, Role::dcm}) {
      for (std::uint16_t i = 0; i < each; ++i)
        roster.plan(role, NodeIndex(i), std::string(name(role)) + "-" + std::to_string(i), "east");
    }
    for (RosterMember& member : roster.members()) roster.connected(member, wires.emplace_back().peer);
  }
  // Finds each member once, in each of the ways.
  std::uint64_t steps_to_find_all() {
    const std::uint64_t before = roster.steps();
    std::size_t at = 0;
    for (RosterMember& member : roster.members()) {
      REQUIRE(roster.find(member.role, member.index) == &member);
      REQUIRE(roster.find(wires[at++].peer) == &member);
      REQUIRE(roster.find(member.name) == &member);
    }
    return roster.steps() - before;
  }
  Roster roster;
  std::deque<test::DeafPeer> wires;
};

}  // namespace

TEST_CASE("a member is found at the same cost however many nodes the farm has") {
  for (const std::uint16_t each : kSizes) {
    BigFarm farm(each);
    CAPTURE(each);
    CHECK(farm.steps_to_find_all() == 3 * farm.roster.members().size());
  }
}

}  // namespace weir::supervisor
