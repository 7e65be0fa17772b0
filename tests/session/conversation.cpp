#include "conversation.hpp"

#include "false_supervisor.hpp"
#include "impostor.hpp"

#include <algorithm>
#include <exception>

namespace weir::session_test {
namespace {

constexpr std::string_view kNames[] = {"stranger", "dcm", "readout", "writer", "supervisor", "control"};
constexpr std::uint64_t kSequencesMin = 8;
constexpr std::uint64_t kSequencesMore = 40;

struct Shape {
  std::uint64_t readouts = 2;
  std::uint64_t dcms = 1;
  std::uint64_t writers = 1;
  std::string shaper = "adaptive";
  std::string filter = "accept-all";
};

// The impostor's role has a second, honest node.
Shape shape_of(Part who, Random& random, bool at_random) {
  Shape shape;
  if (at_random) {
    constexpr const char* kShapers[] = {"adaptive", "none", "byte-credits", "fragment-credits", "diatcp"};
    shape.readouts = 1 + random.below(3);
    shape.dcms = 1 + random.below(2);
    shape.writers = 1 + random.below(2);
    shape.shaper = kShapers[random.below(std::size(kShapers))];
    if (random.one_in(4)) shape.filter = "two-step";
  }
  if (who == Part::dcm) shape.dcms = std::max<std::uint64_t>(2, shape.dcms);
  if (who == Part::readout || who == Part::writer) shape.dcms = std::max<std::uint64_t>(2, shape.dcms);
  if (who == Part::readout) shape.readouts = std::max<std::uint64_t>(2, shape.readouts);
  if (who == Part::writer) shape.writers = std::max<std::uint64_t>(2, shape.writers);
  if (who == Part::supervisor) shape.dcms = shape.writers = 1;
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

// ---- strangers

class Strangers {
 public:
  Strangers(MemoryFarm& farm, Watcher& watcher) : farm_(farm), watcher_(watcher) {
    for (const config::NodePlan& node : farm.plan().nodes) {
      if (node.role != Role::dcm) listeners_.push_back(node.name);
    }
  }
  void act(Random& random) {
    const Surroundings surroundings = around(farm_, watcher_.counter("supervisor", "triggered"));
    RawPeer stranger;
    stranger.connect(farm_.network(), farm_.port_of(listeners_[random.below(listeners_.size())]));
    // A hello with a node's name, index and incarnation is that node's, and a trigger is taken from any peer:
    // a stranger's hello is anything but those.
    if (!random.one_in(4)) stranger.send(wire::FrameType::hello, hello(random, surroundings));
    std::vector<std::byte> earlier;
    for (std::uint64_t n = random.below(12); n > 0 && !stranger.closed(); --n) {
      std::vector<std::byte> frames;
      append_message(random, surroundings, {}, frames);
      if (random.one_in(6)) frames = earlier;
      stranger.send(frames);
      earlier = std::move(frames);
      if (random.one_in(2)) farm_.turn();
    }
    if (random.one_in(3)) farm_.turn(static_cast<int>(random.below(10)));
    (void)stranger.take_frames();
    stranger.leave();
    farm_.turn();
    watcher_.listen();
  }
  void note(Outcome& outcome) const {
    outcome.refused = outcome.protocol_errors = UINT64_MAX;
    for (const std::string& listener : listeners_) {
      outcome.refused = std::min(outcome.refused, watcher_.counter(listener, "peers.refused_hello"));
      outcome.protocol_errors =
          std::min(outcome.protocol_errors, watcher_.counters(listener, "peers.protocol_errors."));
    }
  }

 private:
  MemoryFarm& farm_;
  Watcher& watcher_;
  std::vector<std::string> listeners_;
};

void with_strangers(MemoryFarm& farm, Random& random, std::uint64_t sequences, Outcome& outcome) {
  for (const config::NodePlan& node : farm.plan().nodes) farm.start(node.name);
  Watcher watcher(farm);
  demand_progress(farm, watcher);
  const Growth growth(farm);
  Strangers strangers(farm, watcher);
  for (; outcome.sequences < sequences; ++outcome.sequences) {
    strangers.act(random);
    if (outcome.sequences % 50 == 0) demand_progress(farm, watcher);
  }
  demand_progress(farm, watcher);
  farm.turn(50);
  watcher.listen();
  strangers.note(outcome);
  outcome.growth_bytes = growth.bytes();
  end_run(farm, watcher);
  const auto& counters = watcher.summary.counters();
  demand(watcher.summary.balanced(), "the ledger does not balance: " + watcher.summary.ledger_text());
  demand(!watcher.summary.faults(), "strangers made a fault");
  demand(counters.at("stored") == counters.at("triggered"), "not every slice is stored");
  outcome.triggered = counters.at("triggered");
  demand_sound_nodes(farm);
}

// ---- an impostor of a DCM, readout or writer

void beside_impostor(MemoryFarm& farm, Role role, Random& random, std::uint64_t sequences, Outcome& outcome) {
  Impostor impostor(farm, role, 1);
  farm.start("supervisor");
  for (const config::NodePlan& node : farm.plan().nodes) {
    const bool taken = node.name == std::string(name(role)) + "-1";
    if (!taken && node.name != "supervisor") farm.start(node.name);
  }
  Watcher watcher(farm);
  impostor.come();
  farm.turn(20);
  impostor.begin();
  farm.turn(20);
  impostor.leave();
  demand_progress(farm, watcher);
  const Growth growth(farm);
  for (; outcome.sequences < sequences; ++outcome.sequences) {
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      impostor.act(random);
      farm.turn(1 + static_cast<int>(random.below(3)));
      watcher.listen();
    }
    if (random.one_in(5)) impostor.leave();
    if (outcome.sequences % 50 != 0) continue;
    impostor.leave();
    demand_progress(farm, watcher);
  }
  impostor.leave();
  farm.turn(50);
  watcher.listen();
  outcome.protocol_errors = watcher.counters("supervisor", "peers.protocol_errors.");
  outcome.growth_bytes = growth.bytes();
  end_run(farm, watcher);
  outcome.triggered = watcher.summary.counters().at("triggered");
  demand_sound_nodes(farm, false);
}

// ---- a client that commands

void under_commands(MemoryFarm& farm, Random& random, std::uint64_t sequences, Outcome& outcome) {
  for (const config::NodePlan& node : farm.plan().nodes) farm.start(node.name);
  Watcher watcher(farm);
  Impostor commander(farm, Role::control, 1);
  demand_progress(farm, watcher);
  const Growth growth(farm);
  node::Node& supervisor = farm.node("supervisor");
  for (; outcome.sequences < sequences && !supervisor.finished(); ++outcome.sequences) {
    commander.act(random);
    farm.turn(1 + static_cast<int>(random.below(12)));
    watcher.listen();
    if (random.one_in(20)) commander.leave();
  }
  commander.leave();
  outcome.protocol_errors = watcher.counters("supervisor", "peers.protocol_errors.");
  outcome.growth_bytes = growth.bytes();
  if (!supervisor.finished()) {
    end_run(farm, watcher);
    outcome.triggered = watcher.summary.counters().at("triggered");
    demand(watcher.summary.balanced(), "the ledger does not balance: " + watcher.summary.ledger_text());
  }
  demand_sound_nodes(farm);
}

// ---- an impostor of the supervisor

void under_false_supervisor(MemoryFarm& farm, Random& random, std::uint64_t sequences, Outcome& outcome) {
  FalseSupervisor supervisor(farm);
  const Growth growth(farm);
  for (; outcome.sequences < sequences; ++outcome.sequences)
    supervisor.act(random, 10 + outcome.sequences / 4);
  outcome.growth_bytes = growth.bytes();
  outcome.assigned = supervisor.counter("dcm-0", "dcm.assigned");
  outcome.records = supervisor.counter("writer-0", "writer.records");
  outcome.produced = supervisor.counter("readout-0", "fragments.produced");
  supervisor.demand_sound();
}

}  // namespace

std::string_view name(Part who) { return kNames[static_cast<std::size_t>(who)]; }

std::optional<Part> part_of(std::string_view name) {
  for (std::size_t i = 0; i < kParts; ++i) {
    if (kNames[i] == name) return static_cast<Part>(i);
  }
  return std::nullopt;
}

Outcome converse(Part who, std::uint64_t seed, std::uint64_t sequences) {
  Outcome outcome;
  Random random(seed * kParts + static_cast<std::uint64_t>(who));
  try {
    MemoryFarm farm(farm_of(shape_of(who, random, sequences == 0)));
    if (sequences == 0) sequences = kSequencesMin + random.below(kSequencesMore);
    switch (who) {
      case Part::stranger:
        with_strangers(farm, random, sequences, outcome);
        break;
      case Part::dcm:
        beside_impostor(farm, Role::dcm, random, sequences, outcome);
        break;
      case Part::readout:
        beside_impostor(farm, Role::readout, random, sequences, outcome);
        break;
      case Part::writer:
        beside_impostor(farm, Role::writer, random, sequences, outcome);
        break;
      case Part::supervisor:
        under_false_supervisor(farm, random, sequences, outcome);
        break;
      case Part::control:
        under_commands(farm, random, sequences, outcome);
        break;
    }
  } catch (const std::exception& error) {
    outcome.problem = error.what();
  }
  return outcome;
}

}  // namespace weir::session_test
