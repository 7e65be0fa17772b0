// Tests of external slice ids that are sparse or descend, and of outdated journals, with the real nodes.
#include "impostor.hpp"
#include "memory_farm.hpp"
#include "weir_catch.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr int kIdTurnsToEnd = 30'000;
constexpr int kBackAgain = 1'500;  // turns: longer than a restarted supervisor waits for nodes

const char* const kIdFarm =
    "trigger: {mode: network}\nsource: {kind: dummy, size_bytes: 1000}\n"
    "supervisor: {status_interval_ms: 20}\nfilter: {plugin: accept-all}\n"
    "readout: {count: 2}\ndcm: {count: 2, deadline_ms: 3000}\nwriter: {count: 1, sync_interval_ms: 5}\n"
    "network: {reconnect_ms: 10}\n";

// Offers slices, and reads the answers.
class Client {
 public:
  explicit Client(MemoryFarm& farm) : farm_(farm) { come(); }
  void come() {
    v1::Hello hello;
    hello.set_version(wire::kVersion);
    hello.set_role(v1::ROLE_TRIGGER);
    hello.set_name("client");
    hello.set_farm("session");
    hello.set_incarnation(5);
    peer_ = std::make_unique<RawPeer>();
    peer_->connect(farm_.network(), farm_.trigger_port());
    peer_->send(wire::FrameType::hello, hello);
  }
  // Returns the answer: "taken", or why not.
  std::string offer(std::uint64_t slice) {
    v1::Control message;
    message.mutable_trigger()->add_triggers()->set_slice(slice);
    peer_->send(message);
    for (int i = 0; i < kIdTurnsToEnd; ++i) {
      farm_.turn();
      for (const RawPeer::Frame& frame : peer_->take_frames()) {
        v1::Control answer;
        if (frame.header.type != wire::FrameType::control) continue;
        REQUIRE(answer.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
        if (answer.trigger_answer().answers().empty()) continue;
        const v1::TriggerAnswer::One& one = answer.trigger_answer().answers(0);
        return one.taken() ? "taken" : one.busy();
      }
    }
    return "no answer";
  }

 private:
  MemoryFarm& farm_;
  std::unique_ptr<RawPeer> peer_;
};

struct Run {
  explicit Run(const std::string& settings = kIdFarm) : farm(settings) {
    spdlog::set_level(spdlog::level::off);
    for (const char* name : {"supervisor", "readout-0", "readout-1", "dcm-0", "dcm-1", "writer-0"})
      farm.start(name);
    farm.turn(300);
    client.emplace(farm);
    farm.turn(20);
  }
  std::string offer(std::uint64_t slice) { return client->offer(slice); }
  // Replaces the supervisor by a new process, which reads the journal.
  void restart_supervisor() {
    farm.stop("supervisor");
    farm.turn(20);
    farm.start("supervisor");
    farm.turn(kBackAgain);
    client->come();
    farm.turn(20);
  }
  v1::RunSummary end() {
    Watcher watcher(farm);
    farm.turn(20);
    v1::Command stop;
    stop.set_kind(v1::Command::STOP);
    farm.node("supervisor").on_command(stop);
    return account(watcher);
  }
  v1::RunSummary account(Watcher& watcher) {
    for (int i = 0; i < kIdTurnsToEnd && watcher.summary.ledger_text().empty(); ++i) {
      farm.turn();
      watcher.listen();
    }
    return watcher.summary;
  }

  MemoryFarm farm;
  std::optional<Client> client;
};

std::uint64_t counter(const v1::RunSummary& summary, const std::string& name) {
  const auto found = summary.counters().find(name);
  return found == summary.counters().end() ? 0 : found->second;
}

// Ids that a detector could have: from the highest down, or with a spill in the upper bits.
std::vector<std::uint64_t> ids_of(const std::string& order, std::uint64_t count) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (order == "descending") ids.push_back(100'000 - i);
    if (order == "sparse") ids.push_back((i + 1) << 16U);
    if (order == "sparse and descending") ids.push_back((count - i) << 16U);
  }
  return ids;
}

}  // namespace

TEST_CASE("a readout that reconnects takes part in every slice triggered from then on, whatever its id") {
  const std::string order = GENERATE("descending", "sparse", "sparse and descending");
  CAPTURE(order);
  Run run;
  const std::vector<std::uint64_t> ids = ids_of(order, 60);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 30) {
      run.farm.turn(500);           // all settled
      run.farm.start("readout-1");  // another process
      run.farm.turn(500);
    }
    REQUIRE(run.offer(ids[i]) == "taken");
  }
  const v1::RunSummary summary = run.end();
  CHECK(summary.balanced());
  CHECK(counter(summary, "stored") == ids.size());
  CHECK(counter(summary, "stored_incomplete") == 0);
}

TEST_CASE("a readout that was taken out is missing in the slices triggered meanwhile, and in no other") {
  const std::string order = GENERATE("descending", "sparse", "sparse and descending");
  CAPTURE(order);
  Run run;
  const std::vector<std::uint64_t> ids = ids_of(order, 60);
  const auto command = [&run](v1::Command::Kind kind) {
    v1::Command one;
    one.set_kind(kind);
    one.add_nodes("readout-1");
    run.farm.node("supervisor").on_command(one);
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 20) command(v1::Command::DRAIN);
    if (i == 40) {
      run.farm.turn(500);
      run.farm.start("readout-1");
      command(v1::Command::ADD);
      run.farm.turn(500);
    }
    REQUIRE(run.offer(ids[i]) == "taken");
  }
  const v1::RunSummary summary = run.end();
  CHECK(summary.balanced());
  CHECK(counter(summary, "stored") == ids.size());
  CHECK(counter(summary, "farm.fragments.missing.removed") == 20);
  CHECK(counter(summary, "stored_incomplete") == 0);
}

TEST_CASE("a restarted supervisor accepts ids below the given ones, and none of those") {
  const std::string order = GENERATE("descending", "sparse", "sparse and descending");
  CAPTURE(order);
  Run run;
  const std::vector<std::uint64_t> ids = ids_of(order, 60);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == 30) run.restart_supervisor();
    REQUIRE(run.offer(ids[i]) == "taken");
    if (i % 7 == 0) CHECK(run.offer(ids[i / 2]) == "duplicate_id");
  }
  for (const std::uint64_t id : ids) REQUIRE(run.offer(id) == "duplicate_id");
  CHECK(run.offer(17) == "taken");
  const v1::RunSummary summary = run.end();
  CHECK(summary.balanced());
  CHECK(counter(summary, "stored") == ids.size() + 1);
  CHECK(counter(summary, "stored_incomplete") == 0);
}

TEST_CASE(
    "a journal that ends before passes that nodes have received is not resumed, with the reason in the "
    "account") {
  Run run;
  for (std::uint64_t id = 0; id < 20; ++id) REQUIRE(run.offer(id) == "taken");
  const bool is_stale = GENERATE(true, false);  // or it is the last one, on another machine
  CAPTURE(is_stale);
  std::vector<std::byte> copy = run.farm.journal().read().value();
  for (std::uint64_t id = 20; id < 40; ++id) REQUIRE(run.offer(id) == "taken");
  run.farm.turn(500);
  if (!is_stale) copy = run.farm.journal().read().value();
  run.farm.stop("supervisor");
  run.farm.turn(20);
  REQUIRE(run.farm.journal().replace(copy));
  run.farm.start("supervisor");
  Watcher watcher(run.farm);
  run.farm.turn(kBackAgain);
  if (!is_stale) {
    run.client->come();
    run.farm.turn(20);
    CHECK(run.offer(30) == "duplicate_id");
    CHECK(run.offer(40) == "taken");
    const v1::RunSummary summary = run.end();
    CHECK(summary.balanced());
    CHECK(counter(summary, "stored") == 41);
    return;
  }
  const std::uint64_t on_disk = run.farm.bytes_stored();
  const v1::RunSummary summary = run.account(watcher);
  REQUIRE(summary.faults_text_size() > 0);
  CHECK(std::any_of(summary.faults_text().begin(), summary.faults_text().end(), [](const std::string& fault) {
    return fault.find("the journal is stale") != fault.npos;
  }));
  CHECK(summary.reason().find("the journal is stale") != std::string::npos);
  CHECK(summary.faults());
  CHECK(counter(summary, "triggered") == 20);
  CHECK(run.farm.bytes_stored() >= on_disk);  // stored slices stay stored
}

TEST_CASE("without its journal a run does not begin again with nodes that have taken part in it") {
  Run run;
  for (std::uint64_t id = 0; id < 5; ++id) REQUIRE(run.offer(id) == "taken");
  run.farm.stop("supervisor");
  run.farm.turn(20);
  run.farm.journal().remove();
  run.farm.start("supervisor");
  run.farm.turn(kBackAgain);
  REQUIRE(run.farm.node("supervisor").finished());
  CHECK(run.farm.node("supervisor").failure().find("its journal is gone") != std::string::npos);
}

namespace {

// Collects the log lines of the nodes.
class Logs {
 public:
  Logs() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text_)));
  }
  ~Logs() { spdlog::set_default_logger(before_); }
  Logs(const Logs&) = delete;
  Logs& operator=(const Logs&) = delete;
  // How many lines have this text.
  [[nodiscard]] std::size_t count(const std::string& wanted) const {
    std::size_t found = 0;
    std::istringstream text(text_.str());
    for (std::string line; std::getline(text, line);) found += line.find(wanted) != line.npos ? 1 : 0;
    return found;
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace

TEST_CASE("a full memory of ids is logged when it begins, once, and is a fault of the run's account") {
  std::string settings = kIdFarm;
  settings.replace(settings.find("status_interval_ms"), 0, "id_intervals_max: 2, ");
  Run run(settings);
  const Logs logs;
  CHECK(run.offer(10) == "taken");
  CHECK(run.offer(20) == "taken");
  CHECK(logs.count("id memory full") == 0);
  CHECK(run.offer(30) == "id_memory_full");
  CHECK(logs.count("id memory full intervals=2") == 1);
  CHECK(run.offer(21) == "taken");
  CHECK(run.offer(40) == "id_memory_full");
  CHECK(logs.count("id memory full") == 1);
  const v1::RunSummary summary = run.end();
  CHECK(summary.balanced());
  CHECK(summary.faults());
  REQUIRE(summary.faults_text_size() == 1);
  CHECK_THAT(summary.faults_text(0), Catch::ContainsSubstring("2 triggers vetoed: id_memory_full"));
}
