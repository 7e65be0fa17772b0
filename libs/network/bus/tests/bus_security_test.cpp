#include "bus_fixture.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::bus;
using weir::bus::test::bytes;
using weir::bus::test::heartbeat;
using weir::bus::test::Middle;
using weir::security::BusRole;

namespace {

// The keys of a farm, and a hub that accepts them.
struct Locked {
  security::CurveKeys control = security::make_curve_keys(BusRole::control, "");
  security::CurveKeys node = security::make_curve_keys(BusRole::node, control.public_key);
  security::CurveKeys observer = security::make_curve_keys(BusRole::observer, control.public_key);
  security::CurveKeys stranger = security::make_curve_keys(BusRole::operator_, control.public_key);

  [[nodiscard]] HubSettings hub() const {
    HubSettings settings;
    settings.keys = control;
    settings.clients = {{"nodes", BusRole::node, node.public_key},
                        {"desk", BusRole::observer, observer.public_key}};
    return settings;
  }
};

ClientSettings to(const Hub& hub, std::optional<security::CurveKeys> keys) {
  ClientSettings settings;
  settings.host = "127.0.0.1";
  settings.port = hub.port();
  settings.keys = std::move(keys);
  return settings;
}

}  // namespace

TEST_CASE("the role of a client is that of its key") {
  const Locked farm;
  Middle middle(farm.hub());
  Client node(to(middle.hub, farm.node), {});
  Client observer(to(middle.hub, farm.observer), {});
  node.send(heartbeat(1));
  observer.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
  for (const test::Heard& heard : middle.heard) {
    const bool is_node = heard.message.heartbeat().incarnation() == 1;
    CHECK(heard.from.role == (is_node ? BusRole::node : BusRole::observer));
  }
}

TEST_CASE("no key, a key that is not on the list, and another server's key are refused and counted") {
  const Locked farm;
  Middle middle(farm.hub());
  Client without(to(middle.hub, std::nullopt), {});
  Client stranger(to(middle.hub, farm.stranger), {});
  const security::CurveKeys other = security::make_curve_keys(BusRole::control, "");
  Client misled(to(middle.hub, security::make_curve_keys(BusRole::node, other.public_key)), {});
  for (Client* one : {&without, &stranger, &misled}) one->send(heartbeat(9));
  CHECK(middle.until([&] {
    const HubCounters counters = middle.hub.counters();
    return counters.refused_key >= 1 && counters.refused_handshake >= 2;
  }));
  CHECK(middle.heard.empty());
  Client node(to(middle.hub, farm.node), {});
  node.send(heartbeat(1));
  CHECK(middle.until([&] { return middle.heard.size() == 1; }));
}

TEST_CASE("an observer listens, and publishes nothing") {
  const Locked farm;
  Middle middle(farm.hub());
  middle.hub.observe("report.");
  Client observer(to(middle.hub, farm.observer), {});
  observer.publish_to(middle.hub.publish_port());
  CHECK(middle.until([&] {
    observer.publish("report.dcm-0", bytes("forged"));
    return middle.hub.counters().not_allowed > 0;
  }));
  CHECK(middle.observed.empty());
  Client node(to(middle.hub, farm.node), {});
  node.publish_to(middle.hub.publish_port());
  CHECK(middle.until([&] {
    node.publish("report.dcm-0", bytes("true"));
    return !middle.observed.empty();
  }));
}
