// Carriers of real virtual cables.
#include "needs_root.hpp"
#include "own_space.hpp"
#include "weir_catch.hpp"
#include <weir/base/time.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/carriers.hpp>

#include <cstdlib>
#include <poll.h>
#include <string>

namespace weir::node {
namespace {

using Lost = std::vector<std::size_t>;

constexpr DurationNs kPatience = 20 * kSecond;

void ip(const std::string& arguments) { REQUIRE(std::system(("ip " + arguments).c_str()) == 0); }

void wait_for_carrier(const std::string& device) {
  const std::string look = "until ip link show dev " + device + " | grep -q 'state UP'; do sleep 0.01; done";
  REQUIRE(std::system(("timeout 20 sh -c \"" + look + "\"").c_str()) == 0);
}

// Returns the first networks that are lost; nothing after the patience.
Lost wait_for_loss(ports::Carriers& carriers) {
  for (const TimeNs end = monotonic_now_ns() + kPatience; monotonic_now_ns() < end;) {
    if (Lost lost = carriers.lost(); !lost.empty()) return lost;
    (void)::poll(nullptr, 0, 1);
  }
  return {};
}

}  // namespace

TEST_CASE("a network is lost with the carrier of its last interface here, again after each return") {
  NEEDS_ROOT();
  test::in_own_space([] {
    test::add_cable("a0", "switch0");
    test::add_cable("b0", "switch1");
    test::add_cable("b1", "switch2");
    ip("address add 10.1.0.7/16 dev a0");
    ip("address add 10.2.0.7/16 dev b0");
    ip("address add 10.2.0.8/16 dev b1");
    std::vector<config::Ipv4Network> networks;
    for (const char* text : {"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"})
      networks.push_back(config::parse_network(text).value());
    const auto carriers = watch_carriers(networks);
    REQUIRE(carriers != nullptr);
    CHECK(carriers->lost().empty());
    for (int i = 0; i < 2; ++i) {
      ip("link set switch0 down");
      CHECK(wait_for_loss(*carriers) == Lost{0});
      CHECK(carriers->lost().empty());
      ip("link set switch0 up");
      wait_for_carrier("a0");
      CHECK(carriers->lost().empty());
    }
    ip("link set switch1 down");
    CHECK(carriers->lost().empty());  // the other interface is still there
    ip("link set switch2 down");
    CHECK(wait_for_loss(*carriers) == Lost{1});
  });
}

}  // namespace weir::node
