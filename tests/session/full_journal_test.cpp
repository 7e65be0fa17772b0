// Tests of a supervisor whose journal is full: it reports only facts that survive its process. Nodes and
// trigger client are scripted.
#include "memory_farm.hpp"
#include "raw_peer.hpp"
#include "weir_catch.hpp"

#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <vector>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr char kJournalSettings[] =
    "trigger: {mode: network}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {status_interval_ms: 20, lease_ms: 60000}\n"
    "network: {reconnect_ms: 10}\n"
    "filter: {plugin: accept-all}\n"
    "readout: {count: 2}\n"
    "dcm: {count: 1}\n"
    "writer: {count: 1}\n";

constexpr int kLongerThanARetry = 1500;  // turns: longer than the journal waits between two attempts

using Slices = std::vector<std::uint64_t>;

// A client of the supervisor, with the messages that it has received.
struct Party {
  Party(MemoryFarm& farm, std::uint16_t port, v1::Role role, const char* name) : farm_(farm), port_(port) {
    hello_.set_version(wire::kVersion);
    hello_.set_role(role);
    hello_.set_name(name);
    hello_.set_index(name[std::char_traits<char>::length(name) - 1] == '1' ? 1 : 0);
    hello_.set_farm("session");
    hello_.set_incarnation(77);
    hello_.set_credits(16);
    come();
  }
  void come_as_next() {
    hello_.set_incarnation(hello_.incarnation() + 1);
    come();
  }
  void come() {
    peer = std::make_unique<RawPeer>();
    peer->connect(farm_.network(), port_);
    peer->send(wire::FrameType::hello, hello_);
  }
  void answer_begin(const std::string& refusal = {}) {
    v1::Control message;
    message.mutable_begun()->set_refusal(refusal);
    peer->send(message);
  }
  void listen() {
    for (const RawPeer::Frame& frame : peer->take_frames()) {
      v1::Control message;
      if (frame.header.type != wire::FrameType::control) continue;
      REQUIRE(message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
      const auto& rows = message.announce().slice();
      announced.insert(announced.end(), rows.begin(), rows.end());
      if (message.has_open_slices())
        open = Slices(message.open_slices().slice().begin(), message.open_slices().slice().end());
      for (const v1::TriggerAnswer::One& answer : message.trigger_answer().answers()) {
        if (answer.taken()) taken.push_back(answer.slice());
        if (!answer.taken()) busy.push_back(answer.busy());
      }
      begins += message.has_begin_run() ? 1 : 0;
      assigned += message.assign().slice_size();
      ends += message.has_end_run() ? 1 : 0;
      absences += message.has_absences() ? 1 : 0;
    }
  }

  std::unique_ptr<RawPeer> peer;
  int begins = 0;
  int assigned = 0;
  int ends = 0;
  int absences = 0;
  Slices announced;
  std::optional<Slices> open;
  Slices taken;
  std::vector<std::string> busy;

 private:
  MemoryFarm& farm_;
  std::uint16_t port_;
  v1::Hello hello_;
};

struct Farm {
  Farm() : farm(kJournalSettings) {
    spdlog::set_level(spdlog::level::off);
    farm.start("supervisor");
    const std::uint16_t port = farm.port_of("supervisor");
    readout.emplace(farm, port, v1::ROLE_READOUT, "readout-0");
    other.emplace(farm, port, v1::ROLE_READOUT, "readout-1");
    dcm.emplace(farm, port, v1::ROLE_DCM, "dcm-0");
    writer.emplace(farm, port, v1::ROLE_WRITER, "writer-0");
    client.emplace(farm, farm.trigger_port(), v1::ROLE_TRIGGER, "client");
    control.emplace(farm, port, v1::ROLE_CONTROL, "control");
    turn(20);
    REQUIRE(readout->begins == 1);
    for (auto* party : {&readout, &other, &dcm}) (*party)->answer_begin();
    turn(20);
  }
  void turn(int times) {
    farm.turn(times);
    for (auto* party : {&readout, &other, &dcm, &writer, &client}) (*party)->listen();
  }
  void offer(const Slices& slices) {
    v1::Control message;
    for (const std::uint64_t slice : slices) message.mutable_trigger()->add_triggers()->set_slice(slice);
    client->peer->send(message);
    turn(20);
  }

  void command(v1::Command::Kind kind, const char* node) {
    v1::Control message;
    message.mutable_command()->set_kind(kind);
    message.mutable_command()->add_nodes(node);
    control->peer->send(message);
    turn(200);
  }

  MemoryFarm farm;
  std::optional<Party> readout, other, dcm, writer, client, control;
};

}  // namespace

TEST_CASE("a trigger client is told that a slice is accepted when the journal contains it, and not before") {
  Farm farm;
  farm.offer({1, 2});
  CHECK(farm.client->taken == Slices{1, 2});
  farm.farm.journal().full = true;
  farm.offer({3, 4});
  farm.offer({4, 5});
  farm.turn(kLongerThanARetry);
  CHECK(farm.client->taken == Slices{1, 2});
  CHECK(farm.client->busy.empty());
  CHECK(farm.readout->announced == Slices{1, 2});
  SECTION("there is room") {
    farm.farm.journal().full = false;
    farm.turn(kLongerThanARetry);
    CHECK(farm.client->taken == Slices{1, 2, 3, 4, 5});
    CHECK(farm.client->busy == std::vector<std::string>{"duplicate_id"});
    CHECK(farm.readout->announced == Slices{1, 2, 3, 4, 5});
  }
  SECTION("the client has gone meanwhile") {
    farm.client->peer->leave();
    farm.turn(20);
    farm.farm.journal().full = false;
    farm.turn(kLongerThanARetry);
    CHECK(farm.readout->announced == Slices{1, 2, 3, 4, 5});
  }
  SECTION("the supervisor dies: its successor knows every promise that was sent") {
    farm.farm.stop("supervisor");
    farm.turn(20);
    farm.farm.journal().full = false;
    farm.farm.start("supervisor");
    farm.turn(20);
    CHECK(farm.client->taken == Slices{1, 2});
    farm.readout->come();
    farm.turn(kLongerThanARetry);  // the other nodes are waited for
    CHECK(farm.readout->open == Slices{1, 2});
  }
}

TEST_CASE(
    "a readout that reconnects while the journal has no room receives the open slices when it has them") {
  Farm farm;
  farm.offer({1, 2});
  farm.farm.journal().full = true;
  farm.offer({3, 4});
  farm.readout->peer->leave();
  farm.turn(20);
  farm.readout->come();
  farm.turn(kLongerThanARetry);
  CHECK(farm.readout->announced == Slices{1, 2});
  CHECK_FALSE(farm.readout->open);
  farm.farm.journal().full = false;
  farm.turn(kLongerThanARetry);
  CHECK(farm.readout->begins == 2);
  CHECK(farm.readout->open == Slices{1, 2, 3, 4});
  CHECK(farm.readout->announced == Slices{1, 2, 1, 2, 3, 4});  // each once over a connection
  CHECK(farm.other->announced == Slices{1, 2, 3, 4});
}

TEST_CASE("a readout that reconnects receives a slice that is triggered at that moment once") {
  Farm farm;
  farm.offer({1, 2});
  farm.readout->peer->leave();
  farm.turn(20);
  farm.readout->come();
  farm.farm.network().hold_connections = true;
  farm.turn(1);
  farm.farm.network().hold_connections = false;
  farm.offer({3});  // arrives with it
  CHECK(farm.readout->open == Slices{1, 2, 3});
  CHECK(farm.readout->announced == Slices{1, 2, 1, 2, 3});
}

TEST_CASE("DCMs receive a readout's absences when the journal contains them") {
  Farm farm;
  Party watcher(farm.farm, farm.farm.port_of("supervisor"), v1::ROLE_CONTROL, "watcher");
  farm.farm.journal().full = true;
  farm.offer({1});
  v1::Control drain;
  drain.mutable_command()->set_kind(v1::Command::DRAIN);
  drain.mutable_command()->add_nodes("readout-1");
  watcher.peer->send(drain);
  farm.turn(kLongerThanARetry);
  CHECK(farm.dcm->absences == 0);
  farm.farm.journal().full = false;
  farm.turn(kLongerThanARetry);
  CHECK(farm.dcm->absences == 1);
}

// The same process over a new connection, then its successor, with the same supervisor and with a restarted
// one.
TEST_CASE("a process that was told to end is told again when it reconnects, and its successor takes part") {
  const bool another_supervisor = GENERATE(false, true);
  CAPTURE(another_supervisor);
  Farm farm;
  farm.command(v1::Command::DRAIN, "readout-0");
  REQUIRE(farm.readout->ends == 1);
  farm.readout->peer->leave();
  farm.turn(20);
  if (another_supervisor) {
    farm.farm.stop("supervisor");
    farm.turn(20);
    farm.farm.start("supervisor");
    for (auto* party : {&farm.other, &farm.dcm, &farm.writer, &farm.client, &farm.control}) (*party)->come();
    farm.turn(200);
  }
  farm.command(v1::Command::ADD, "readout-0");
  farm.readout->come();
  farm.turn(200);
  CHECK(farm.readout->ends == 2);
  farm.offer({1});
  CHECK(farm.other->announced == Slices{1});
  CHECK(farm.readout->announced.empty());
  farm.readout->peer->leave();
  farm.turn(20);
  farm.readout->come_as_next();
  farm.turn(200);
  CHECK(farm.readout->ends == 2);
  farm.offer({2});
  CHECK(farm.readout->announced == Slices{2});
}

TEST_CASE("an order to end that waits for room in the journal is not sent to the process's successor") {
  Farm farm;
  farm.farm.journal().full = true;
  farm.command(v1::Command::DRAIN, "readout-0");
  farm.command(v1::Command::ADD, "readout-0");
  CHECK(farm.readout->ends == 0);
  farm.readout->peer->leave();
  farm.turn(20);
  farm.readout->come_as_next();
  farm.turn(200);
  farm.farm.journal().full = false;
  farm.turn(kLongerThanARetry);
  CHECK(farm.readout->ends == 0);
  farm.offer({1});
  CHECK(farm.readout->announced == Slices{1});
}

TEST_CASE("a DCM that comes during the run is assigned no slice before it has begun") {
  Farm farm;
  farm.offer({1, 2});
  CHECK(farm.dcm->assigned == 2);
  farm.dcm->peer->leave();
  farm.turn(20);
  farm.dcm->come_as_next();
  farm.turn(20);
  REQUIRE(farm.dcm->begins == 2);
  CHECK(farm.dcm->assigned == 2);
  SECTION("it begins") {
    farm.dcm->answer_begin();
    farm.turn(20);
    CHECK(farm.dcm->assigned == 4);
  }
  SECTION("it refuses, and the next one begins: no slice has lost an attempt to it") {
    for (int i = 0; i < 10; ++i) {
      farm.dcm->answer_begin("no high voltage");
      farm.turn(5);
      farm.dcm->peer->leave();
      farm.turn(20);
      farm.dcm->come_as_next();
      farm.turn(20);
    }
    CHECK(farm.dcm->assigned == 2);
    farm.dcm->answer_begin();
    farm.turn(20);
    CHECK(farm.dcm->assigned == 4);
  }
}
