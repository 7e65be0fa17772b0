#include "rig.hpp"
#include "talker.hpp"
#include "weir_catch.hpp"
#include <weir/wire/batch.hpp>

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <deque>
#include <functional>

using namespace weir;
using namespace weir::session_test;

namespace {

constexpr std::uint16_t kImpostorPort = 30'000;
constexpr std::size_t kGrowthMax = 64U << 20;  // of the process, beyond what is stored

constexpr char kSettings[] =
    "trigger: {mode: rate, rate_hz: 100}\n"
    "source: {kind: dummy, size_bytes: 100}\n"
    "supervisor: {lease_ms: 100, status_interval_ms: 20}\n"
    "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
    "filter: {plugin: accept-all}\n";

std::string with_nodes(int readouts, int dcms, int writers) {
  return std::string(kSettings) + "readout: {count: " + std::to_string(readouts) +
         ", sources_per_readout: 2}\n" + "dcm: {count: " + std::to_string(dcms) +
         ", credits: 4, deadline_ms: 20, grace_ms: 10}\n" + "writer: {count: " + std::to_string(writers) +
         ", sync_interval_ms: 5}\n";
}

std::size_t allocated() { return mallinfo2().uordblks; }

// Watches a farm as `weir run` does.
class Watcher {
 public:
  explicit Watcher(Rig& rig) : rig_(rig) {
    talker_.connect(rig.network(), rig.port_of("supervisor"));
    v1::Hello hello;
    hello.set_version(wire::kVersion);
    hello.set_role(v1::ROLE_CONTROL);
    hello.set_name("watcher");
    hello.set_farm("session");
    talker_.say(wire::FrameType::hello, hello);
  }
  void listen() {
    for (const Talker::Heard& heard : talker_.take_heard()) {
      if (heard.header.type != wire::FrameType::control) continue;
      v1::Control message;
      REQUIRE(message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size())));
      if (message.has_summary()) summary = message.summary();
      if (message.has_status()) status = message.status();
    }
  }
  void stop_run() {
    v1::Control message;
    message.mutable_command()->set_kind(v1::Command::STOP);
    talker_.say(message);
  }
  // As the last status said; 0 where it said nothing.
  [[nodiscard]] std::uint64_t counter(const std::string& node, const std::string& name) const {
    for (const v1::Report& report : status.nodes()) {
      if (report.name() != node) continue;
      const auto found = report.counters().find(name);
      if (found != report.counters().end()) return found->second;
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t counters(const std::string& node, const std::string& prefix) const {
    std::uint64_t sum = 0;
    for (const v1::Report& report : status.nodes()) {
      if (report.name() != node) continue;
      for (const auto& [name, value] : report.counters()) sum += name.starts_with(prefix) ? value : 0;
    }
    return sum;
  }

  v1::FarmStatus status;
  v1::RunSummary summary;

 private:
  Rig& rig_;
  Talker talker_;
};

Surroundings around(const Rig& rig, std::uint64_t newest) {
  Surroundings surroundings;
  surroundings.farm = "session";
  surroundings.run = rig.farm().run().number();
  surroundings.newest_slice = newest;
  return surroundings;
}

// The run ends; what must hold whoever talked.
void end_run(Rig& rig, Watcher& watcher) {
  watcher.stop_run();
  for (int i = 0; i < 40'000 && watcher.summary.duration_ns() == 0; ++i) {
    rig.turn();
    watcher.listen();
  }
  INFO(watcher.summary.ledger_text());
  REQUIRE(watcher.summary.equations_size() > 0);
  for (const v1::RunSummary::Equation& equation : watcher.summary.equations()) {
    const bool own = equation.name().starts_with("triggers:") ||
                     equation.name().starts_with("slices: triggered") ||
                     equation.name().starts_with("slices: none left open");
    if (own) CHECK(equation.good());
  }
}

// It is served while others talk: slices are stored.
void check_progress(Rig& rig, const std::function<void()>& besides = {}) {
  const std::uint64_t before = rig.bytes_stored();
  for (int i = 0; i < 3000 && rig.bytes_stored() == before; ++i) {
    rig.turn();
    if (besides) besides();
  }
  REQUIRE(rig.bytes_stored() > before);
}

struct Quiet {
  Quiet() { spdlog::set_level(spdlog::level::off); }
};

}  // namespace

TEST_CASE("strangers at every door change nothing but counters, whatever they say") {
  const Quiet quiet;
  constexpr std::uint64_t kSequences = 2500;
  Rig rig(with_nodes(2, 1, 1));
  const std::vector<std::string> doors{"supervisor", "readout-0", "readout-1", "writer-0"};
  for (const char* name : {"supervisor", "readout-0", "readout-1", "dcm-0", "writer-0"}) rig.start(name);
  Watcher watcher(rig);
  check_progress(rig, [&] { watcher.listen(); });
  const std::size_t allocated_before = allocated();
  const std::uint64_t stored_before = rig.bytes_stored();
  for (std::uint64_t seed = 0; seed < kSequences; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    Surroundings surroundings = around(rig, watcher.counter("supervisor", "triggered"));
    Talker stranger;
    stranger.connect(rig.network(), rig.port_of(doors[dice.below(doors.size())]));
    // Whoever has the name, the place and the number of a node's life is that node, and a trigger is taken
    // from anyone: those who are none of the farm say hello as they like, but for that.
    if (!dice.one_in(4)) stranger.say(wire::FrameType::hello, hello(dice, surroundings));
    std::vector<std::byte> earlier;
    for (std::uint64_t n = dice.below(12); n > 0 && !stranger.closed(); --n) {
      std::vector<std::byte> frames;
      append_saying(dice, surroundings, {}, frames);
      if (dice.one_in(6)) frames = earlier;
      stranger.say(frames);
      earlier = std::move(frames);
      if (dice.one_in(2)) rig.turn();
    }
    if (dice.one_in(3)) rig.turn(static_cast<int>(dice.below(10)));
    (void)stranger.take_heard();
    stranger.leave();
    rig.turn();
    watcher.listen();
    if (seed % 50 == 0) check_progress(rig, [&] { watcher.listen(); });
  }
  check_progress(rig, [&] { watcher.listen(); });
  rig.turn(50);
  watcher.listen();
  for (const std::string& door : doors) {
    INFO(door);
    CHECK(watcher.counter(door, "peers.refused_hello") > 100);
    CHECK(watcher.counters(door, "peers.protocol_errors.") > 100);
  }
  CHECK(allocated() < allocated_before + kGrowthMax + 2 * (rig.bytes_stored() - stored_before));
  end_run(rig, watcher);
  CHECK(watcher.summary.balanced());
  CHECK(!watcher.summary.faults());
  CHECK(watcher.summary.counters().at("stored") == watcher.summary.counters().at("triggered"));
}

namespace {

// What fits into a conversation: who speaks, and to whom.
std::span<const Saying> fitting(messages::Role from, messages::Role to) {
  using messages::Role;
  static constexpr Saying kOfDcm[] = {Saying::decide, Saying::decide, Saying::report, Saying::throttle};
  static constexpr Saying kOfWriter[] = {Saying::stored, Saying::report, Saying::throttle};
  static constexpr Saying kOfReadout[] = {Saying::report, Saying::throttle};
  static constexpr Saying kDcmToReadout[] = {Saying::request, Saying::request, Saying::cancel};
  static constexpr Saying kDcmToWriter[] = {Saying::space, Saying::data};
  static constexpr Saying kReadoutToDcm[] = {Saying::fragment};
  static constexpr Saying kWriterToDcm[] = {Saying::grant, Saying::stored};
  static constexpr Saying kToReadout[] = {Saying::announce, Saying::clear, Saying::begin_run};
  static constexpr Saying kToDcm[] = {Saying::assign,    Saying::assign,     Saying::confirm,
                                      Saying::directory, Saying::port_share, Saying::begin_run};
  static constexpr Saying kToWriter[] = {Saying::settled, Saying::begin_run};
  if (to == Role::supervisor) {
    if (from == Role::dcm) return kOfDcm;
    return from == Role::writer ? std::span<const Saying>(kOfWriter) : kOfReadout;
  }
  if (from == Role::supervisor) {
    if (to == Role::dcm) return kToDcm;
    return to == Role::writer ? std::span<const Saying>(kToWriter) : kToReadout;
  }
  if (from == Role::dcm) return to == Role::writer ? std::span<const Saying>(kDcmToWriter) : kDcmToReadout;
  return from == Role::writer ? std::span<const Saying>(kWriterToDcm) : kReadoutToDcm;
}

// Somebody in the place of a node, who says its hello and then what he likes, to all that the node talks to.
class Impostor {
 public:
  Impostor(Rig& rig, messages::Role role, std::uint16_t index) : rig_(rig), role_(role) {
    hello_.set_version(wire::kVersion);
    hello_.set_role(static_cast<v1::Role>(role));
    hello_.set_name(std::string(messages::name(role)) + "-" + std::to_string(index));
    hello_.set_index(index);
    hello_.set_farm("session");
    hello_.set_run(rig.farm().run().number());
    hello_.set_credits(4);
    hello_.set_listen_host("memory");
    hello_.set_listen_port(kImpostorPort);
    if (role != messages::Role::dcm) door_.emplace(rig.network(), kImpostorPort);
    if (role == messages::Role::dcm) others_ = {"readout-0", "readout-1", "writer-0"};
  }
  void come() {
    if (supervisor_ && !supervisor_->closed()) return;
    hello_.set_incarnation(++incarnation_);
    supervisor_ = connect("supervisor");
  }
  void leave() {
    if (supervisor_) supervisor_->leave();
    for (auto& other : to_others_) other.talker->leave();
    to_others_.clear();
    if (!door_) return;
    for (auto& talker : door_->talkers()) talker->leave();
  }
  void talk(Dice& dice) {
    come();
    if (!others_.empty() && dice.one_in(3)) {
      const std::string& node = others_[dice.below(others_.size())];
      to_others_.push_back(
          {connect(node), node == "writer-0" ? messages::Role::writer : messages::Role::readout});
      if (to_others_.size() > 6) to_others_.erase(to_others_.begin());
    }
    listen(*supervisor_);
    const Surroundings surroundings = around(rig_, newest_);
    for (std::uint64_t n = dice.below(4); n > 0; --n)
      say(*supervisor_, dice, surroundings, messages::Role::supervisor);
    for (auto& [talker, role] : to_others_) {
      listen(*talker);
      say(*talker, dice, surroundings, role);
    }
    if (!door_) return;
    for (auto& talker : door_->talkers()) {
      if (listen(*talker)) talker->say(wire::FrameType::hello, hello_);
      for (std::uint64_t n = dice.below(4); n > 0; --n) {
        say(*talker, dice, surroundings, messages::Role::dcm);
      }
    }
    door_->forget_closed();
  }

 private:
  std::unique_ptr<Talker> connect(const std::string& node) {
    auto talker = std::make_unique<Talker>();
    talker->connect(rig_.network(), rig_.port_of(node));
    talker->say(wire::FrameType::hello, hello_);
    return talker;
  }
  // True when a hello was heard.
  bool listen(Talker& talker) {
    bool greeted = false;
    for (const Talker::Heard& heard : talker.take_heard()) {
      greeted = greeted || heard.header.type == wire::FrameType::hello;
      v1::Control message;
      if (heard.header.type != wire::FrameType::control) continue;
      if (!message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size()))) continue;
      for (const std::uint64_t slice : message.assign().slice()) newest_ = std::max(newest_, slice);
      for (const std::uint64_t slice : message.announce().slice()) newest_ = std::max(newest_, slice);
    }
    return greeted;
  }
  void say(Talker& talker, Dice& dice, const Surroundings& surroundings, messages::Role to) {
    std::vector<std::byte> frames;
    append_saying(dice, surroundings, fitting(role_, to), frames);
    talker.say(frames);
    if (dice.one_in(40)) talker.leave();
  }

  Rig& rig_;
  messages::Role role_;
  v1::Hello hello_;
  std::optional<TalkerDoor> door_;
  std::vector<std::string> others_;
  std::unique_ptr<Talker> supervisor_;
  struct Other {
    std::unique_ptr<Talker> talker;
    messages::Role role;
  };
  std::vector<Other> to_others_;
  std::uint64_t incarnation_ = 1;
  std::uint64_t newest_ = 0;
};

void talk_beside(messages::Role role, int readouts, int dcms, int writers) {
  constexpr std::uint64_t kSequences = 1500;
  Rig rig(with_nodes(readouts, dcms, writers));
  Impostor impostor(rig, role, 1);
  rig.start("supervisor");
  for (const config::NodePlan& node : rig.plan().nodes) {
    const bool taken = node.name == std::string(messages::name(role)) + "-1";
    if (!taken && node.name != "supervisor") rig.start(node.name);
  }
  Watcher watcher(rig);
  impostor.come();
  rig.turn(20);
  impostor.leave();
  check_progress(rig, [&] { watcher.listen(); });
  const std::size_t allocated_before = allocated();
  const std::uint64_t stored_before = rig.bytes_stored();
  for (std::uint64_t seed = 0; seed < kSequences; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 1'000'000);
    for (std::uint64_t n = dice.below(6); n > 0; --n) {
      impostor.talk(dice);
      rig.turn(1 + static_cast<int>(dice.below(3)));
      watcher.listen();
    }
    if (dice.one_in(5)) impostor.leave();
    if (seed % 50 != 0) continue;
    impostor.leave();
    check_progress(rig, [&] { watcher.listen(); });
  }
  impostor.leave();
  rig.turn(50);
  watcher.listen();
  CHECK(watcher.counters("supervisor", "peers.protocol_errors.") > 100);
  CHECK(allocated() < allocated_before + kGrowthMax + 2 * (rig.bytes_stored() - stored_before));
  end_run(rig, watcher);
  CHECK(watcher.summary.counters().at("triggered") > 100);
}

}  // namespace

TEST_CASE(
    "a DCM that says what it likes costs no slice: the others are served, and all that it held comes to an "
    "end") {
  const Quiet quiet;
  talk_beside(messages::Role::dcm, 2, 2, 1);
}

TEST_CASE("a readout that says what it likes stops nobody") {
  const Quiet quiet;
  talk_beside(messages::Role::readout, 2, 2, 1);
}

TEST_CASE("a writer that says what it likes stops nobody") {
  const Quiet quiet;
  talk_beside(messages::Role::writer, 2, 2, 2);
}

TEST_CASE("nodes survive a supervisor that says what it likes, and go on taking connections") {
  const Quiet quiet;
  constexpr std::uint64_t kSequences = 1500;
  Rig rig(with_nodes(2, 1, 1));
  TalkerDoor door(rig.network(), 19'000);
  const std::vector<std::string> nodes{"readout-0", "readout-1", "dcm-0", "writer-0"};
  for (const std::string& name : nodes) rig.start(name);
  v1::Hello greeting;
  greeting.set_version(wire::kVersion);
  greeting.set_role(v1::ROLE_SUPERVISOR);
  greeting.set_name("supervisor");
  greeting.set_farm("session");
  std::map<std::string, v1::Report> reports;
  std::map<const Talker*, messages::Role> roles;
  std::deque<Surroundings::Decided> decided;
  const std::size_t allocated_before = allocated();
  for (std::uint64_t seed = 0; seed < kSequences; ++seed) {
    CAPTURE(seed);
    Dice dice(seed + 2'000'000);
    Surroundings surroundings = around(rig, 10 + seed / 4);
    surroundings.decided.assign(decided.begin(), decided.end());
    for (const std::string& name : nodes) {
      if (name != "dcm-0") surroundings.ports.push_back(rig.port_of(name));
    }
    for (std::uint64_t n = 1 + dice.below(4); n > 0; --n) {
      for (auto& talker : door.talkers()) {
        for (const Talker::Heard& heard : talker->take_heard()) {
          v1::Hello theirs;
          if (heard.header.type == wire::FrameType::hello) {
            (void)theirs.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size()));
            roles[talker.get()] = static_cast<messages::Role>(theirs.role());
            talker->say(wire::FrameType::hello, greeting);
          }
          v1::Control message;
          if (heard.header.type != wire::FrameType::control ||
              !message.ParseFromArray(heard.payload.data(), static_cast<int>(heard.payload.size()))) {
            continue;
          }
          if (message.has_report()) reports[message.report().name()] = message.report();
          for (int row = 0; row < message.decide().slice_size(); ++row) {
            decided.push_back({message.decide().slice(row), message.decide().attempt(row)});
            if (decided.size() > 20) decided.pop_front();
          }
        }
        std::vector<std::byte> frames;
        append_saying(dice, surroundings, fitting(messages::Role::supervisor, roles[talker.get()]), frames);
        talker->say(frames);
        if (dice.one_in(100)) talker->leave();
      }
      rig.turn(1 + static_cast<int>(dice.below(12)));
      door.forget_closed();
    }
  }
  for (const std::string& name : nodes) {
    INFO(name);
    CHECK(rig.node(name).failure() == "");
    if (name == "dcm-0") continue;
    Talker client;
    client.connect(rig.network(), rig.port_of(name));
    v1::Hello hello = greeting;
    hello.set_role(v1::ROLE_DCM);
    hello.set_name("dcm-0");
    client.say(wire::FrameType::hello, hello);
    rig.turn(5);
    CHECK(!client.take_heard().empty());
    CHECK(!client.closed());
    client.leave();
    rig.turn();
  }
  CHECK(allocated() < allocated_before + kGrowthMax);
  // They did listen.
  CHECK(reports["dcm-0"].counters().at("dcm.assigned") > 1000);
  CHECK(reports["writer-0"].counters().at("writer.records") > 5);
  CHECK(reports["readout-0"].counters().at("fragments.produced") > 0);
}

TEST_CASE(
    "who repeats a node's hello is refused for as long as that node speaks, and let in when it is silent") {
  const Quiet quiet;
  Rig rig(with_nodes(1, 1, 1));
  for (const char* name : {"supervisor", "readout-0", "dcm-0", "writer-0"}) rig.start(name);
  Watcher watcher(rig);
  check_progress(rig, [&] { watcher.listen(); });
  rig.turn(50);
  watcher.listen();
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-0");
  hello.set_farm("session");
  hello.set_credits(4);
  for (const v1::Report& report : watcher.status.nodes()) {
    if (report.name() == "dcm-0") hello.set_incarnation(report.incarnation());
  }
  REQUIRE(hello.incarnation() != 0);
  for (int i = 0; i < 20; ++i) {
    Talker again;
    again.connect(rig.network(), rig.port_of("supervisor"));
    again.say(wire::FrameType::hello, hello);
    rig.turn(7);
    CHECK(again.closed());
  }
  check_progress(rig, [&] { watcher.listen(); });
  CHECK(watcher.counter("supervisor", "peers.refused_hello") >= 15);
  CHECK(watcher.counter("supervisor", "supervisor.reopened") == 0);
  rig.halt("dcm-0");
  rig.turn(60);
  Talker again;
  again.connect(rig.network(), rig.port_of("supervisor"));
  again.say(wire::FrameType::hello, hello);
  rig.turn(5);
  CHECK(!again.closed());
  again.leave();
  rig.go_on("dcm-0");
  end_run(rig, watcher);
  CHECK(watcher.summary.balanced());
}

TEST_CASE("a readout refuses a frame that asks for more sources than there are") {
  const Quiet quiet;
  Rig rig(with_nodes(1, 1, 1));
  rig.start("readout-0");
  Talker client;
  client.connect(rig.network(), rig.port_of("readout-0"));
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-0");
  hello.set_farm("session");
  client.say(wire::FrameType::hello, hello);
  wire::RequestWriter writer;
  const std::uint16_t set = writer.add_set(std::vector<SourceId>(60'000, SourceId(7)));
  for (std::uint64_t slice = 0; slice < wire::kBatchEntriesMax; ++slice) {
    writer.add({SliceId(slice), Attempt(0), set, 0, 0});
  }
  std::vector<std::byte> frame;
  writer.take_frame(frame);
  client.say(frame);
  rig.turn(3);
  CHECK(client.closed());
}
