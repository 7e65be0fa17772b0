// Each body of Control, made from the schema with values that no honest peer sends, to a node of each role.
#include "false_supervisor.hpp"
#include "schema_messages.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

#include <map>
#include <set>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr int kMessagesOfABody = 25;
constexpr std::size_t kGrowthMost = 64U << 20U;
constexpr const char* kSchemaFarm =
    "trigger: {mode: rate, rate_hz: 100}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {lease_ms: 100, status_interval_ms: 20}\n"
    "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 2, sources_per_readout: 2}\n"
    "dcm: {count: 2, credits: 4, deadline_ms: 20, grace_ms: 10, buffer_bytes: 4194304}\n"
    "writer: {count: 2, sync_interval_ms: 5}\n";

using Reached = std::map<std::string, std::set<Role>>;  // roles by body

void check_all_reached(const Reached& reached, const std::set<Role>& roles) {
  CHECK(reached.size() == control_bodies().size());
  for (const auto& [body, by] : reached) {
    INFO(body);
    CHECK(by == roles);
  }
}

// A client's command that ends the run is obeyed.
bool is_end(const v1::Control& message) {
  return message.command().kind() == v1::Command::STOP || message.command().kind() == v1::Command::SHUTDOWN;
}

// Sends every body as this role, beside honest nodes that are served meanwhile.
Reached say_all(Role role, std::uint64_t seed) {
  MemoryFarm farm(kSchemaFarm);
  farm.start("supervisor");
  const std::string taken = std::string(name(role)) + "-1";
  for (const config::NodePlan& node : farm.plan().nodes) {
    if (node.name != taken && node.name != "supervisor") farm.start(node.name);
  }
  Watcher watcher(farm);
  Impostor impostor(farm, role, 1);
  impostor.come();
  farm.turn(20);
  if (role != Role::control) impostor.begin();
  farm.turn(20);
  demand_progress(farm, watcher);
  const Growth growth(farm);
  Random random(seed);
  Reached reached;
  for (const std::string& body : control_bodies()) {
    INFO(name(role) << " says " << body);
    for (int n = 0; n < kMessagesOfABody; ++n) {
      const v1::Control message =
          hostile_control(random, around(farm, watcher.counter("supervisor", "triggered")), body);
      if (role == Role::control && is_end(message)) continue;
      impostor.say(message, reached[body]);
      watcher.listen();
    }
    if (role == Role::control) {  // a pause was obeyed, too
      v1::Control go_on;
      go_on.mutable_command()->set_kind(v1::Command::CONTINUE);
      impostor.say(go_on, reached[body]);
    }
    impostor.leave();
    REQUIRE_NOTHROW(demand_progress(farm, watcher));
    REQUIRE_NOTHROW(demand_sound_nodes(farm, false));
    CHECK(growth.bytes() < kGrowthMost);
  }
  farm.turn(50);
  watcher.listen();
  REQUIRE_NOTHROW(end_run(farm, watcher));
  return reached;
}

}  // namespace

TEST_CASE("each body of Control, with values no DCM sends, stops neither supervisor, readout nor writer") {
  spdlog::set_level(spdlog::level::off);
  check_all_reached(say_all(Role::dcm, 1), {Role::supervisor, Role::readout, Role::writer});
}

TEST_CASE("each body of Control, with values no readout sends, stops neither supervisor nor DCM") {
  spdlog::set_level(spdlog::level::off);
  check_all_reached(say_all(Role::readout, 2), {Role::supervisor, Role::dcm});
}

TEST_CASE("each body of Control, with values no writer sends, stops neither supervisor nor DCM") {
  spdlog::set_level(spdlog::level::off);
  check_all_reached(say_all(Role::writer, 3), {Role::supervisor, Role::dcm});
}

TEST_CASE("each body of Control, with values no client sends, does not stop the supervisor") {
  spdlog::set_level(spdlog::level::off);
  check_all_reached(say_all(Role::control, 4), {Role::supervisor});
}

TEST_CASE(
    "each body of Control, with values no supervisor sends, is survived by readouts, DCMs and writers") {
  spdlog::set_level(spdlog::level::off);
  for (std::uint64_t seed = 5; seed < 8; ++seed) {
    MemoryFarm farm(kSchemaFarm);
    FalseSupervisor supervisor(farm);
    const Growth growth(farm);
    Random random(seed);
    Reached reached;
    for (const std::string& body : control_bodies()) {
      INFO(body << ", seed " << seed);
      for (int n = 0; n < kMessagesOfABody; ++n) {
        supervisor.say(hostile_control(random, around(farm, 100), body), reached[body]);
        REQUIRE_NOTHROW(demand_sound_nodes(farm));
      }
      CHECK(growth.bytes() < kGrowthMost);
    }
    REQUIRE_NOTHROW(supervisor.demand_sound());
    check_all_reached(reached, {Role::readout, Role::dcm, Role::writer});
  }
}

TEST_CASE("each body of Control from a peer without a hello is refused by every listener") {
  spdlog::set_level(spdlog::level::off);
  MemoryFarm farm(kSchemaFarm);
  for (const config::NodePlan& node : farm.plan().nodes) farm.start(node.name);
  Watcher watcher(farm);
  demand_progress(farm, watcher);
  Random random(9);
  for (const std::string& body : control_bodies()) {
    INFO(body);
    for (const config::NodePlan& node : farm.plan().nodes) {
      if (node.role == Role::dcm) continue;
      RawPeer stranger;
      stranger.connect(farm.network(), farm.port_of(node.name));
      stranger.send(hostile_control(random, around(farm, 100), body));
      farm.turn(2);
      CHECK(stranger.closed());
      stranger.leave();
    }
  }
  REQUIRE_NOTHROW(demand_progress(farm, watcher));
  end_run(farm, watcher);
  CHECK(watcher.summary.balanced());
  CHECK_FALSE(watcher.summary.faults());
}
