#include <weir/assignment/supervisor_machine.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// The input is a sequence of events at a supervisor, 12 bytes each: event, node, a verdict or a flag, an
// attempt, a slice, an epoch or a time. The invariants must hold for any input from peers.
namespace {

using namespace weir;
using namespace weir::assignment;

constexpr std::size_t kStepBytes = 12;
constexpr std::uint16_t kNodes = 3;

SupervisorSettings settings(std::uint8_t choice) {
  SupervisorSettings settings;
  settings.readouts = kNodes;
  settings.dcms = kNodes;
  settings.writers = (choice & 1) != 0 ? 0 : kNodes;
  settings.push = (choice & 2) != 0;
  settings.in_flight_max = 8;
  settings.pending_max = 4;
  settings.remembered_slices = 16;
  settings.credits_max = 5;
  settings.lease_ns = 10;
  settings.writer_ack_ns = (choice & 4) != 0 ? 10 : 0;
  settings.drain_ns = 50;
  settings.attempts_max = 4;
  settings.payload_max = 64;
  settings.payload_bytes_max = 128;
  return settings;
}

std::unique_ptr<TriggerSource> source(std::uint8_t choice) {
  TriggerSettings triggers;
  triggers.mode = (choice & 8) != 0 ? "max" : "network";
  return make_trigger_source(triggers).value();
}

struct Step {
  std::uint8_t what;
  NodeIndex who;
  std::uint8_t choice;
  std::uint8_t attempt;
  SliceId slice;  // 6 bytes
  std::uint16_t number;
};

Step step_at(const std::byte* bytes) {
  const std::uint64_t slice =
      load_le<std::uint32_t>(bytes + 4) | std::uint64_t{load_le<std::uint16_t>(bytes + 8)} << 48U;
  return {std::to_integer<std::uint8_t>(bytes[0]),
          NodeIndex(static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[1]) % kNodes)),
          std::to_integer<std::uint8_t>(bytes[2]),
          std::to_integer<std::uint8_t>(bytes[3]),
          SliceId(slice),
          load_le<std::uint16_t>(bytes + 10)};
}

class Player {
 public:
  explicit Player(std::uint8_t choice)
      : settings_(settings(choice)), machine_(settings_, source(choice), make_policy("credits").value()) {
    machine_.start({now_, 1});
  }

  void play(const Step& step) {
    constexpr std::uint8_t kKinds = 12;
    const std::uint8_t kind = step.what % kKinds;
    if (kind < 6) {
      play_message(kind, step);
    } else {
      play_event(kind, step);
    }
    machine_.tick({now_, 1}, actions_);
    actions_.clear();
    const auto broken = machine_.broken_invariant();
    WEIR_ASSERT(broken.empty());
  }

  void end() {
    machine_.request_stop(now_);
    // The drain lasts while slices are settled: each once, some by expired leases.
    for (std::uint32_t i = 0; i < 2 * settings_.in_flight_max + 4; ++i) {
      now_ += settings_.drain_ns;
      machine_.tick({now_, 1}, actions_);
      actions_.clear();
    }
    WEIR_ASSERT(machine_.drained() && machine_.broken_invariant().empty());
  }

 private:
  void play_message(std::uint8_t kind, const Step& step) {
    const Attempt attempt(step.attempt);
    if (kind < 2) {
      const std::vector<std::byte> payload(step.number % 100);
      const auto slice = (step.choice & 1) != 0 ? std::optional(step.slice) : std::nullopt;
      (void)machine_.offer({slice, {}, payload}, {now_, 1}, actions_);
    } else if (kind < 4) {
      const AttemptDecision decision{step.slice, attempt, static_cast<Verdict>(step.choice % 3),
                                     static_cast<DiscardReason>(step.number % 256), (step.choice & 8) != 0};
      machine_.decisions(step.who, {&decision, 1}, now_, actions_);
    } else if (settings_.writers > 0) {
      const CopyId ack{step.slice, attempt, StoreEpoch(step.number)};
      machine_.stored(step.who, {&ack, 1}, actions_);
    }
  }

  void play_event(std::uint8_t kind, const Step& step) {
    switch (kind) {
      case 6:
        return machine_.dcm_joined(step.who, Incarnation(step.number), step.number, now_, actions_);
      case 7:
        return machine_.dcm_left(step.who, now_, actions_);
      case 8:
        if (settings_.writers > 0) machine_.writer_joined(step.who, Incarnation(step.number), now_, actions_);
        return;
      case 9:
        if (settings_.writers > 0) machine_.writer_left(step.who, now_, actions_);
        return;
      case 10:
        return machine_.throttle(kNodeRoles[step.choice % 3], step.who, (step.number & 1) != 0, "fuzz");
      default:
        now_ += step.number % 20;
        return;
    }
  }

  SupervisorSettings settings_;
  SupervisorMachine machine_;
  Actions actions_;
  TimeNs now_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Player player(data[0]);
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  for (std::size_t at = 1; at + kStepBytes <= size; at += kStepBytes) player.play(step_at(bytes + at));
  player.end();
  return 0;
}
