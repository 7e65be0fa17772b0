#include "conversation.hpp"

#include "impostor.hpp"
#include <weir/wire/batch.hpp>

#include <malloc.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>

namespace weir::session_test {
namespace {

constexpr std::string_view kNames[] = {"stranger", "dcm", "readout", "writer", "supervisor", "control"};
constexpr std::uint16_t kSupervisorPort = 19'000;
constexpr std::uint64_t kSequencesMin = 8;
constexpr std::uint64_t kSequencesMore = 40;
constexpr std::size_t kDecidedMax = 20;

struct Shape {
  std::uint64_t readouts = 2;
  std::uint64_t dcms = 1;
  std::uint64_t writers = 1;
  std::string shaper = "adaptive";
  std::string filter = "accept-all";
};

// Beside somebody in a node's place there is another one that does as it should.
Shape shape_of(Talks who, Dice& dice, bool from_dice) {
  Shape shape;
  if (from_dice) {
    constexpr const char* kShapers[] = {"adaptive", "none", "byte-credits", "fragment-credits", "diatcp"};
    shape.readouts = 1 + dice.below(3);
    shape.dcms = 1 + dice.below(2);
    shape.writers = 1 + dice.below(2);
    shape.shaper = kShapers[dice.below(std::size(kShapers))];
    if (dice.one_in(4)) shape.filter = "two-step";
  }
  if (who == Talks::dcm) shape.dcms = std::max<std::uint64_t>(2, shape.dcms);
  if (who == Talks::readout || who == Talks::writer) shape.dcms = std::max<std::uint64_t>(2, shape.dcms);
  if (who == Talks::readout) shape.readouts = std::max<std::uint64_t>(2, shape.readouts);
  if (who == Talks::writer) shape.writers = std::max<std::uint64_t>(2, shape.writers);
  if (who == Talks::supervisor) shape.dcms = shape.writers = 1;
  return shape;
}

std::string farm_of(const Shape& shape) {
  return "trigger: {mode: rate, rate_hz: 100}\n"
         "source: {kind: dummy, size_bytes: 100}\n"
         "supervisor: {lease_ms: 100, status_interval_ms: 20}\n"
         "network: {reconnect_ms: 10, hello_timeout_ms: 100}\n"
         "filter: {plugin: " +
         shape.filter + "}\n" + "readout: {count: " + std::to_string(shape.readouts) +
         ", sources_per_readout: 2}\n" + "dcm: {count: " + std::to_string(shape.dcms) +
         ", shaper: " + shape.shaper +
         ", credits: 4, deadline_ms: 20, grace_ms: 10, buffer_bytes: 4194304}\n" +
         "writer: {count: " + std::to_string(shape.writers) + ", sync_interval_ms: 5}\n";
}

std::size_t allocated() { return mallinfo2().uordblks; }

class Growth {
 public:
  explicit Growth(Rig& rig) : rig_(rig) {}
  [[nodiscard]] std::size_t bytes() const {
    const std::size_t allowed = allocated_ + 2 * (rig_.bytes_stored() - stored_);
    return std::max(allowed, allocated()) - allowed;
  }

 private:
  Rig& rig_;
  std::size_t allocated_ = allocated();
  std::uint64_t stored_ = rig_.bytes_stored();
};

// The supervisor's account is of what nodes tell it: beside one that lies it need not balance.
void demand_sound_nodes(Rig& rig, bool all_honest = true) {
  for (const config::NodePlan& node : rig.plan().nodes) {
    if (!rig.runs(node.name) || (!all_honest && node.role == Role::supervisor)) continue;
    demand(rig.node(node.name).failure().empty(), node.name + ": " + rig.node(node.name).failure());
    const std::string broken = rig.node(node.name).broken_invariant();
    demand(broken.empty(), node.name + ": " + broken);
  }
}

// ---- strangers

class Strangers {
 public:
  Strangers(Rig& rig, Watcher& watcher) : rig_(rig), watcher_(watcher) {
    for (const config::NodePlan& node : rig.plan().nodes) {
      if (node.role != Role::dcm) doors_.push_back(node.name);
    }
  }
  void talk(Dice& dice) {
    const Surroundings surroundings = around(rig_, watcher_.counter("supervisor", "triggered"));
    Talker stranger;
    stranger.connect(rig_.network(), rig_.port_of(doors_[dice.below(doors_.size())]));
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
      if (dice.one_in(2)) rig_.turn();
    }
    if (dice.one_in(3)) rig_.turn(static_cast<int>(dice.below(10)));
    (void)stranger.take_heard();
    stranger.leave();
    rig_.turn();
    watcher_.listen();
  }
  void note(Outcome& outcome) const {
    outcome.refused = outcome.protocol_errors = UINT64_MAX;
    for (const std::string& door : doors_) {
      outcome.refused = std::min(outcome.refused, watcher_.counter(door, "peers.refused_hello"));
      outcome.protocol_errors =
          std::min(outcome.protocol_errors, watcher_.counters(door, "peers.protocol_errors."));
    }
  }

 private:
  Rig& rig_;
  Watcher& watcher_;
  std::vector<std::string> doors_;
};

void with_strangers(Rig& rig, Dice& dice, std::uint64_t sequences, Outcome& outcome) {
  for (const config::NodePlan& node : rig.plan().nodes) rig.start(node.name);
  Watcher watcher(rig);
  demand_progress(rig, watcher);
  const Growth growth(rig);
  Strangers strangers(rig, watcher);
  for (; outcome.sequences < sequences; ++outcome.sequences) {
    strangers.talk(dice);
    if (outcome.sequences % 50 == 0) demand_progress(rig, watcher);
  }
  demand_progress(rig, watcher);
  rig.turn(50);
  watcher.listen();
  strangers.note(outcome);
  outcome.growth_bytes = growth.bytes();
  end_run(rig, watcher);
  const auto& counters = watcher.summary.counters();
  demand(watcher.summary.balanced(), "the ledger does not balance: " + watcher.summary.ledger_text());
  demand(!watcher.summary.faults(), "strangers made a fault");
  demand(counters.at("stored") == counters.at("triggered"), "not every slice is stored");
  outcome.triggered = counters.at("triggered");
  demand_sound_nodes(rig);
}

// ---- somebody in the place of a DCM, readout or writer

void beside_impostor(Rig& rig, Role role, Dice& dice, std::uint64_t sequences, Outcome& outcome) {
  Impostor impostor(rig, role, 1);
  rig.start("supervisor");
  for (const config::NodePlan& node : rig.plan().nodes) {
    const bool taken = node.name == std::string(name(role)) + "-1";
    if (!taken && node.name != "supervisor") rig.start(node.name);
  }
  Watcher watcher(rig);
  impostor.come();
  rig.turn(20);
  impostor.leave();
  demand_progress(rig, watcher);
  const Growth growth(rig);
  for (; outcome.sequences < sequences; ++outcome.sequences) {
    for (std::uint64_t n = dice.below(6); n > 0; --n) {
      impostor.talk(dice);
      rig.turn(1 + static_cast<int>(dice.below(3)));
      watcher.listen();
    }
    if (dice.one_in(5)) impostor.leave();
    if (outcome.sequences % 50 != 0) continue;
    impostor.leave();
    demand_progress(rig, watcher);
  }
  impostor.leave();
  rig.turn(50);
  watcher.listen();
  outcome.protocol_errors = watcher.counters("supervisor", "peers.protocol_errors.");
  outcome.growth_bytes = growth.bytes();
  end_run(rig, watcher);
  outcome.triggered = watcher.summary.counters().at("triggered");
  demand_sound_nodes(rig, false);
}

// ---- somebody who commands

void under_commands(Rig& rig, Dice& dice, std::uint64_t sequences, Outcome& outcome) {
  for (const config::NodePlan& node : rig.plan().nodes) rig.start(node.name);
  Watcher watcher(rig);
  Impostor commander(rig, Role::control, 1);
  demand_progress(rig, watcher);
  const Growth growth(rig);
  node::Node& supervisor = rig.node("supervisor");
  for (; outcome.sequences < sequences && !supervisor.finished(); ++outcome.sequences) {
    commander.talk(dice);
    rig.turn(1 + static_cast<int>(dice.below(12)));
    watcher.listen();
    if (dice.one_in(20)) commander.leave();
  }
  commander.leave();
  outcome.protocol_errors = watcher.counters("supervisor", "peers.protocol_errors.");
  outcome.growth_bytes = growth.bytes();
  if (!supervisor.finished()) {
    end_run(rig, watcher);
    outcome.triggered = watcher.summary.counters().at("triggered");
    demand(watcher.summary.balanced(), "the ledger does not balance: " + watcher.summary.ledger_text());
  }
  demand_sound_nodes(rig);
}

// ---- somebody in the supervisor's place

class FalseSupervisor {
 public:
  explicit FalseSupervisor(Rig& rig) : rig_(rig), door_(rig.network(), kSupervisorPort) {
    for (const config::NodePlan& node : rig.plan().nodes) {
      if (node.role != Role::supervisor) nodes_.push_back(node.name);
    }
    for (const std::string& node : nodes_) rig.start(node);
    greeting_.set_version(wire::kVersion);
    greeting_.set_role(v1::ROLE_SUPERVISOR);
    greeting_.set_name("supervisor");
    greeting_.set_farm("session");
  }
  void talk(Dice& dice, std::uint64_t newest_slice) {
    Surroundings surroundings = around(rig_, newest_slice);
    surroundings.decided.assign(decided_.begin(), decided_.end());
    for (const std::string& node : nodes_) {
      if (!node.starts_with("dcm")) surroundings.ports.push_back(rig_.port_of(node));
    }
    for (std::uint64_t n = 1 + dice.below(4); n > 0; --n) {
      for (auto& talker : door_.talkers()) {
        listen(*talker);
        std::vector<std::byte> frames;
        append_saying(dice, surroundings, fitting(Role::supervisor, roles_[talker.get()]), frames);
        talker->say(frames);
        if (dice.one_in(100)) talker->leave();
      }
      rig_.turn(1 + static_cast<int>(dice.below(12)));
      forget_closed();
    }
  }
  // They live, take connections, and hold nothing once nobody leads them.
  void demand_sound() {
    for (auto& talker : door_.talkers()) talker->leave();
    rig_.turn(50);
    forget_closed();
    demand_sound_nodes(rig_);
    for (const std::string& node : nodes_) {
      if (node.starts_with("dcm")) continue;
      Talker client;
      client.connect(rig_.network(), rig_.port_of(node));
      v1::Hello hello = greeting_;
      hello.set_role(v1::ROLE_DCM);
      hello.set_name("dcm-0");
      client.say(wire::FrameType::hello, hello);
      rig_.turn(5);
      demand(!client.take_heard().empty() && !client.closed(), node + " takes no connection any more");
      client.leave();
      rig_.turn();
    }
  }
  std::uint64_t counter(const std::string& node, const std::string& name) const {
    const auto report = reports_.find(node);
    if (report == reports_.end()) return 0;
    const auto found = report->second.counters().find(name);
    return found == report->second.counters().end() ? 0 : found->second;
  }

 private:
  void listen(Talker& talker) {
    for (const Talker::Heard& heard : talker.take_heard()) {
      const int size = static_cast<int>(heard.payload.size());
      if (heard.header.type == wire::FrameType::hello) {
        v1::Hello theirs;
        (void)theirs.ParseFromArray(heard.payload.data(), size);
        roles_[&talker] = static_cast<Role>(theirs.role());
        talker.say(wire::FrameType::hello, greeting_);
      }
      v1::Control message;
      if (heard.header.type != wire::FrameType::control ||
          !message.ParseFromArray(heard.payload.data(), size))
        continue;
      if (message.has_report()) reports_[message.report().name()] = message.report();
      for (int row = 0; row < message.decide().slice_size(); ++row) {
        decided_.push_back({message.decide().slice(row), message.decide().attempt(row)});
        if (decided_.size() > kDecidedMax) decided_.pop_front();
      }
    }
  }
  void forget_closed() {
    for (const auto& talker : door_.talkers()) {
      if (talker->closed()) roles_.erase(talker.get());
    }
    door_.forget_closed();
  }

  Rig& rig_;
  TalkerDoor door_;
  std::vector<std::string> nodes_;
  v1::Hello greeting_;
  std::map<std::string, v1::Report> reports_;
  std::map<const Talker*, Role> roles_;
  std::deque<Surroundings::Decided> decided_;
};

void under_false_supervisor(Rig& rig, Dice& dice, std::uint64_t sequences, Outcome& outcome) {
  FalseSupervisor supervisor(rig);
  const Growth growth(rig);
  for (; outcome.sequences < sequences; ++outcome.sequences)
    supervisor.talk(dice, 10 + outcome.sequences / 4);
  outcome.growth_bytes = growth.bytes();
  outcome.assigned = supervisor.counter("dcm-0", "dcm.assigned");
  outcome.records = supervisor.counter("writer-0", "writer.records");
  outcome.produced = supervisor.counter("readout-0", "fragments.produced");
  supervisor.demand_sound();
}

}  // namespace

std::string_view name(Talks who) { return kNames[static_cast<std::size_t>(who)]; }

std::optional<Talks> talks_of(std::string_view name) {
  for (std::size_t i = 0; i < kTalks; ++i) {
    if (kNames[i] == name) return static_cast<Talks>(i);
  }
  return std::nullopt;
}

Outcome converse(Talks who, std::uint64_t seed, std::uint64_t sequences) {
  Outcome outcome;
  Dice dice(seed * kTalks + static_cast<std::uint64_t>(who));
  try {
    Rig rig(farm_of(shape_of(who, dice, sequences == 0)));
    if (sequences == 0) sequences = kSequencesMin + dice.below(kSequencesMore);
    switch (who) {
      case Talks::stranger:
        with_strangers(rig, dice, sequences, outcome);
        break;
      case Talks::dcm:
        beside_impostor(rig, Role::dcm, dice, sequences, outcome);
        break;
      case Talks::readout:
        beside_impostor(rig, Role::readout, dice, sequences, outcome);
        break;
      case Talks::writer:
        beside_impostor(rig, Role::writer, dice, sequences, outcome);
        break;
      case Talks::supervisor:
        under_false_supervisor(rig, dice, sequences, outcome);
        break;
      case Talks::control:
        under_commands(rig, dice, sequences, outcome);
        break;
    }
  } catch (const std::exception& error) {
    outcome.problem = error.what();
  }
  return outcome;
}

}  // namespace weir::session_test
