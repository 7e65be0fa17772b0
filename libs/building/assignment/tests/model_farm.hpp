#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/assignment/supervisor_machine.hpp>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

// A farm that follows the supervisor's actions, for tests: every reaction is a call of the test.
namespace weir::assignment::test {

inline NodeIndex node(std::uint16_t value) { return NodeIndex(value); }

class Farm {
 public:
  explicit Farm(SupervisorSettings settings, TriggerSettings triggers = {},
                std::string_view policy = "credits")
      : machine(settings, make_trigger_source(std::move(triggers)).value(), make_policy(policy).value()) {
    machine.start(now);
  }
  // With groups, each with a policy.
  Farm(SupervisorSettings settings, const std::vector<std::string_view>& policies,
       TriggerSettings triggers = {})
      : machine(settings, make_trigger_source(std::move(triggers)).value(), made(policies)) {
    machine.start(now);
  }

  void join_dcm(std::uint16_t dcm, std::uint32_t credits) {
    machine.dcm_joined(node(dcm), Incarnation(1), credits, now.mono, actions);
  }
  void join_writer(std::uint16_t writer) {
    machine.writer_joined(node(writer), Incarnation(1), now.mono, actions);
  }
  // A pass: the machine's tick, and the actions of all inputs since the last pass.
  Actions pass() {
    machine.tick(now, actions);
    Actions taken = std::move(actions);
    actions = Actions{};
    return taken;
  }
  void advance(DurationNs ns) {
    now.mono += ns;
    now.utc += ns;
  }
  void decide(std::uint16_t dcm, std::uint64_t slice, std::uint16_t attempt, Verdict verdict,
              DiscardReason reason = DiscardReason::none, bool incomplete = false) {
    const AttemptDecision decision{SliceId(slice), Attempt(attempt), verdict, reason, incomplete, {}, {}};
    machine.decisions(node(dcm), {&decision, 1}, now.mono, actions);
  }
  void forward(std::uint16_t dcm, std::uint64_t slice, std::uint16_t attempt, std::uint8_t group,
               std::string_view bytes = {}, bool kept = false) {
    AttemptDecision decision{
        SliceId(slice), Attempt(attempt), Verdict::forward, {}, false, GroupIndex(group), {}};
    decision.bytes = {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
    decision.kept = kept;
    machine.decisions(node(dcm), {&decision, 1}, now.mono, actions);
  }
  void store(std::uint16_t writer, std::uint64_t slice, std::uint16_t attempt, std::uint16_t epoch) {
    const CopyId ack{SliceId(slice), Attempt(attempt), StoreEpoch(epoch)};
    machine.stored(node(writer), {&ack, 1}, actions);
  }
  OfferResult offer(std::optional<SliceId> slice, ConstBytes payload = {}) {
    return machine.offer({slice, {0, 0, TriggerType(7)}, payload}, now, actions);
  }
  std::uint64_t vetoed(VetoReason reason) {
    return machine.ledger().vetoed[static_cast<std::size_t>(reason)];
  }
  std::uint64_t discarded(DiscardReason reason) {
    return machine.ledger().discarded[static_cast<std::size_t>(reason)].count;
  }

  static DcmGroups::Policies made(const std::vector<std::string_view>& policies) {
    DcmGroups::Policies made;
    for (const std::string_view policy : policies) made.push_back(make_policy(policy).value());
    return made;
  }

  Now now{1'000'000, 1'700'000'000'000'000'000};
  SupervisorMachine machine;
  Actions actions;
};

// The bytes that came with an assignment.
inline std::string forwarded_with(const Actions& actions, const Assignment& assignment) {
  const auto* begin = reinterpret_cast<const char*>(actions.payload.data()) + assignment.forwarded_offset;
  return {begin, assignment.forwarded_length};
}

inline SupervisorSettings small_farm() {
  SupervisorSettings settings;
  settings.readouts = 2;
  settings.dcms = 3;
  settings.writers = 2;
  settings.in_flight_max = 16;
  settings.pending_max = 4;
  settings.remembered_slices = 64;
  settings.lease_ns = kSecond;
  settings.drain_ns = 5 * kSecond;
  return settings;
}

}  // namespace weir::assignment::test
