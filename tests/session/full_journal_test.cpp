// A supervisor whose journal has no room: nobody hears of what would be gone with its process. Its nodes and
// its trigger client say exactly what the test says.
#include "rig.hpp"
#include "talker.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <vector>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr char kSettings[] =
    "trigger: {mode: network}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {status_interval_ms: 20, lease_ms: 60000}\n"
    "network: {reconnect_ms: 10}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 2}\n"
    "dcm: {count: 1}\n"
    "writer: {count: 1}\n";

constexpr int kLongerThanARetry = 1500;  // turns: what the journal waits between two attempts, and more

using Slices = std::vector<std::uint64_t>;

// Somebody who speaks to the supervisor; what he was told so far.
struct Party {
  Party(Rig& rig, std::uint16_t port, v1::Role role, const char* name) : rig_(rig), port_(port) {
    hello_.set_version(wire::kVersion);
    hello_.set_role(role);
    hello_.set_name(name);
    hello_.set_index(name[std::char_traits<char>::length(name) - 1] == '1' ? 1 : 0);
    hello_.set_farm("session");
    hello_.set_incarnation(77);
    hello_.set_credits(16);
    come();
  }
  void come() {
    talker = std::make_unique<Talker>();
    talker->connect(rig_.network(), port_);
    talker->say(wire::FrameType::hello, hello_);
  }
  void listen() {
    for (const Talker::Heard& heard : talker->take_heard()) {
      v1::Control message;
      if (heard.header.type != wire::FrameType::control) continue;
      REQUIRE(message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size())));
      const auto& rows = message.announce().slice();
      announced.insert(announced.end(), rows.begin(), rows.end());
      if (message.has_open_slices())
        open = Slices(message.open_slices().slice().begin(), message.open_slices().slice().end());
      for (const v1::TriggerAnswer::One& answer : message.trigger_answer().answers()) {
        if (answer.taken()) taken.push_back(answer.slice());
        if (!answer.taken()) busy.push_back(answer.busy());
      }
      begins += message.has_begin_run() ? 1 : 0;
      absences += message.has_absences() ? 1 : 0;
    }
  }

  std::unique_ptr<Talker> talker;
  int begins = 0;
  int absences = 0;
  Slices announced;
  std::optional<Slices> open;
  Slices taken;
  std::vector<std::string> busy;

 private:
  Rig& rig_;
  std::uint16_t port_;
  v1::Hello hello_;
};

struct Farm {
  Farm() : rig(kSettings) {
    spdlog::set_level(spdlog::level::off);
    rig.start("supervisor");
    const std::uint16_t port = rig.port_of("supervisor");
    readout.emplace(rig, port, v1::ROLE_READOUT, "readout-0");
    other.emplace(rig, port, v1::ROLE_READOUT, "readout-1");
    dcm.emplace(rig, port, v1::ROLE_DCM, "dcm-0");
    writer.emplace(rig, port, v1::ROLE_WRITER, "writer-0");
    client.emplace(rig, rig.trigger_port(), v1::ROLE_TRIGGER, "client");
    turn(20);
    REQUIRE(readout->begins == 1);
  }
  void turn(int times) {
    rig.turn(times);
    for (auto* party : {&readout, &other, &dcm, &writer, &client}) (*party)->listen();
  }
  void offer(const Slices& slices) {
    v1::Control message;
    for (const std::uint64_t slice : slices) message.mutable_trigger()->add_triggers()->set_slice(slice);
    client->talker->say(message);
    turn(20);
  }

  Rig rig;
  std::optional<Party> readout, other, dcm, writer, client;
};

}  // namespace

TEST_CASE("a trigger client is told that a slice is taken when the journal has it, and not before") {
  Farm farm;
  farm.offer({1, 2});
  CHECK(farm.client->taken == Slices{1, 2});
  farm.rig.journal().full = true;
  farm.offer({3, 4});
  farm.offer({4, 5});
  farm.turn(kLongerThanARetry);
  CHECK(farm.client->taken == Slices{1, 2});
  CHECK(farm.client->busy.empty());
  CHECK(farm.readout->announced == Slices{1, 2});
  SECTION("there is room") {
    farm.rig.journal().full = false;
    farm.turn(kLongerThanARetry);
    CHECK(farm.client->taken == Slices{1, 2, 3, 4, 5});
    CHECK(farm.client->busy == std::vector<std::string>{"duplicate_id"});
    CHECK(farm.readout->announced == Slices{1, 2, 3, 4, 5});
  }
  SECTION("the client has gone meanwhile") {
    farm.client->talker->leave();
    farm.turn(20);
    farm.rig.journal().full = false;
    farm.turn(kLongerThanARetry);
    CHECK(farm.readout->announced == Slices{1, 2, 3, 4, 5});
  }
  SECTION("the supervisor dies: nobody was promised what its successor does not know") {
    farm.rig.stop("supervisor");
    farm.turn(20);
    farm.rig.journal().full = false;
    farm.rig.start("supervisor");
    farm.turn(20);
    CHECK(farm.client->taken == Slices{1, 2});
    farm.readout->come();
    farm.turn(20);
    CHECK(farm.readout->open == Slices{1, 2});
  }
}

TEST_CASE("a readout that comes back while the journal has no room is told of open slices when it has them") {
  Farm farm;
  farm.offer({1, 2});
  farm.rig.journal().full = true;
  farm.offer({3, 4});
  farm.readout->talker->leave();
  farm.turn(20);
  farm.readout->come();
  farm.turn(kLongerThanARetry);
  CHECK(farm.readout->announced == Slices{1, 2});
  CHECK_FALSE(farm.readout->open);
  farm.rig.journal().full = false;
  farm.turn(kLongerThanARetry);
  CHECK(farm.readout->begins == 2);
  CHECK(farm.readout->open == Slices{1, 2, 3, 4});
  CHECK(farm.readout->announced == Slices{1, 2, 1, 2, 3, 4});  // each once over a connection
  CHECK(farm.other->announced == Slices{1, 2, 3, 4});
}

TEST_CASE("a readout that comes back is told once of a slice that is triggered at that moment") {
  Farm farm;
  farm.offer({1, 2});
  farm.readout->talker->leave();
  farm.turn(20);
  farm.readout->come();
  farm.rig.network().hold_connections = true;
  farm.turn(1);
  farm.rig.network().hold_connections = false;
  farm.offer({3});  // arrives with it
  CHECK(farm.readout->open == Slices{1, 2, 3});
  CHECK(farm.readout->announced == Slices{1, 2, 1, 2, 3});
}

TEST_CASE("DCMs are told which slices a readout has no part in when the journal has it") {
  Farm farm;
  Party watcher(farm.rig, farm.rig.port_of("supervisor"), v1::ROLE_CONTROL, "watcher");
  farm.rig.journal().full = true;
  farm.offer({1});
  v1::Control drain;
  drain.mutable_command()->set_kind(v1::Command::DRAIN);
  drain.mutable_command()->add_nodes("readout-1");
  watcher.talker->say(drain);
  farm.turn(kLongerThanARetry);
  CHECK(farm.dcm->absences == 0);
  farm.rig.journal().full = false;
  farm.turn(kLongerThanARetry);
  CHECK(farm.dcm->absences == 1);
}
