#include "model_farm.hpp"
#include "weir_catch.hpp"
#include <weir/assignment/trigger_gate.hpp>
#include <weir/slice_rows/reasons.hpp>

#include <set>

using namespace weir;
using namespace weir::assignment;
using weir::assignment::test::Farm;
using weir::assignment::test::node;
using weir::assignment::test::small_farm;

namespace {

constexpr GateMarks kMarks{0.5, 0.9};

// Returns the open share of the moments of a second, 10 us apart.
double open_share(const TriggerGate& gate, double level) {
  int open = 0;
  constexpr int kMoments = 100'000;
  for (int i = 0; i < kMoments; ++i) open += gate.is_open(level, i * 10 * kMicrosecond) ? 1 : 0;
  return static_cast<double>(open) / kMoments;
}

}  // namespace

TEST_CASE("between the watermarks the share of the time in which triggers are accepted falls from 1 to 0") {
  const TriggerGate gate(kMarks);
  CHECK(gate.share(0) == 1);
  CHECK(gate.share(0.49) == 1);
  CHECK(gate.share(0.7) == Approx(0.5));
  CHECK(gate.share(0.9) == 0);
  CHECK(gate.share(1) == 0);
  for (const double level : {0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.95})
    CHECK(open_share(gate, level) == Approx(gate.share(level)).margin(0.01));
}

TEST_CASE("without watermarks the gate is always open, and with one of them it shuts immediately") {
  CHECK(open_share(TriggerGate(GateMarks{}), 1) == 1);
  CHECK(open_share(TriggerGate({0.8, 0.8}), 0.79) == 1);
  CHECK(open_share(TriggerGate({0.8, 0.8}), 0.8) == 0);
}

TEST_CASE("triggers by the clock meet the gate in all parts of its period") {
  const TriggerGate gate(kMarks);
  for (const DurationNs period : {kMillisecond, 10 * kMillisecond, 100 * kMillisecond}) {
    int open = 0;
    for (int i = 0; i < 1000; ++i) open += gate.is_open(0.7, i * period) ? 1 : 0;
    CHECK(open > 450);
    CHECK(open < 550);
  }
}

TEST_CASE("a gate says when it opens") {
  const TriggerGate gate(kMarks);
  const TimeNs shut = TriggerGate::kPeriodNs - 1000;
  CHECK(gate.opens_at(0.2, shut) == shut);
  CHECK(gate.opens_at(0.7, shut) == TriggerGate::kPeriodNs);
}

TEST_CASE("the fuller a readout is, the fewer triggers are accepted, with the reason in the account") {
  SupervisorSettings settings = small_farm();
  settings.in_flight_max = 100'000;
  settings.pending_max = 100'000;
  settings.gate = kMarks;
  TriggerSettings triggers;
  triggers.mode = "rate";
  triggers.rate_hz = 10'000;
  Farm farm(settings, triggers);
  farm.machine.readout_joined(node(0), Incarnation(1), 0);
  const auto accepted = [&](double level) {
    farm.machine.throttle(Role::readout, node(0), false, "READOUT_BUFFER_BYTES", level);
    const std::uint64_t before = farm.machine.ledger().triggered.count;
    for (int i = 0; i < 5000; ++i) {
      farm.advance(100 * kMicrosecond);
      farm.pass();
    }
    return static_cast<double>(farm.machine.ledger().triggered.count - before) / 5000;
  };
  CHECK(accepted(0.4) == Approx(1).margin(0.001));
  CHECK(accepted(0.6) == Approx(0.75).margin(0.02));
  CHECK(accepted(0.8) == Approx(0.25).margin(0.02));
  const auto held_up = farm.machine.throttled_by();
  REQUIRE(held_up.size() == 1);
  CHECK(held_up[0].reason == "READOUT_BUFFER_BYTES");
  CHECK(held_up[0].node == NodeRef{Role::readout, node(0)});
  CHECK(held_up[0].share == Approx(0.75));
  CHECK(accepted(0.95) == 0);
  CHECK(farm.machine.broken_invariant() == "");
}

TEST_CASE("slices that wait for a DCM shut the gate, too, and one writer with room keeps it open") {
  SupervisorSettings settings = small_farm();
  settings.pending_max = 10;
  settings.gate = kMarks;
  TriggerSettings triggers;
  triggers.mode = "network";
  Farm farm(settings, triggers);
  for (int i = 0; i < 100; ++i) {
    farm.offer(std::nullopt);
    farm.advance(kMillisecond);
    farm.pass();
  }
  CHECK(farm.machine.pending() == 9);
  CHECK(farm.vetoed(VetoReason::throttled) > 0);
  CHECK(farm.machine.throttled_by().front().reason == "SLICES_PENDING");
  farm.join_dcm(0, 100);
  farm.pass();
  CHECK(farm.machine.throttled_by().empty());
  farm.join_writer(0);
  farm.join_writer(1);
  farm.machine.throttle(Role::writer, node(0), false, "WRITER_BUFFER", 1);
  CHECK(farm.offer(std::nullopt).taken);
  farm.machine.throttle(Role::writer, node(1), false, "WRITER_BUFFER", 0.95);
  CHECK(farm.offer(std::nullopt).reason == VetoReason::throttled);
}

TEST_CASE("every reason has a unique word for machines, and a sentence for people") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kReasons; ++i) {
    names.insert(name(static_cast<HoldReason>(i)));
    CHECK_FALSE(sentence(static_cast<HoldReason>(i)).empty());
  }
  CHECK(names.size() == kReasons);
}
