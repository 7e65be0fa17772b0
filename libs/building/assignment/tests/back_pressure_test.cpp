#include "weir_catch.hpp"
#include <weir/assignment/back_pressure.hpp>

#include <limits>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeRef kReadout{Role::readout, NodeIndex(0)};
constexpr NodeRef kDcm{Role::dcm, NodeIndex(0)};
constexpr NodeRef kWriter{Role::writer, NodeIndex(0)};
constexpr NodeRef kOtherWriter{Role::writer, NodeIndex(1)};
constexpr GateMarks kMarks{0.5, 1};

// Two connected writers; every node takes part.
struct Setup {
  BackPressure pressure{kMarks};
  PartTable parts{1, 1, 2};
  NodeTable writers{2};

  Setup() {
    writers.join(kWriter.node, Incarnation(1));
    writers.join(kOtherWriter.node, Incarnation(1));
  }
  void say(NodeRef node, bool on, double level, std::string_view reason = "FULL") {
    pressure.say(node, on, level, reason);
    if (node.role == Role::writer) writers.set_full(node.node, on);
    pressure.renew(parts, writers);
  }
  void take_out(NodeRef node) {
    (void)parts.remove(node, true, SliceOrder(0), 0);
    if (node.role == Role::writer) writers.close(node.node, true);
    pressure.renew(parts, writers);
  }
  [[nodiscard]] bool stops() const { return pressure.stops(parts, writers); }
  [[nodiscard]] double lost(double pending = 0) const {
    const auto slowed = pressure.slowed_by(pending);
    return slowed ? slowed->share : 0;
  }
};

std::vector<std::uint64_t> state(const Setup& setup, TimeNs now) {
  std::vector<std::uint64_t> row;
  setup.pressure.append_state(now, row);
  return row;
}

}  // namespace

TEST_CASE("a node that can take no more data stops triggers until it reports otherwise, or is forgotten") {
  Setup setup;
  CHECK_FALSE(setup.stops());
  setup.say(kReadout, true, 1, "READOUT_BUFFER_BYTES");
  CHECK(setup.stops());
  const auto by = setup.pressure.stopped_by(setup.parts, setup.writers);
  REQUIRE(by.size() == 1);
  CHECK(by[0].reason == "READOUT_BUFFER_BYTES");
  CHECK(by[0].node == kReadout);
  setup.say(kReadout, false, 0.9);
  CHECK_FALSE(setup.stops());
  setup.say(kReadout, true, 1);
  setup.pressure.forget(kReadout);
  CHECK_FALSE(setup.stops());
}

TEST_CASE("a node that was taken out of the run neither stops triggers nor lowers their rate") {
  Setup setup;
  setup.say(kDcm, true, 1);
  setup.take_out(kDcm);
  CHECK_FALSE(setup.stops());
  CHECK(setup.lost() == 0);
}

TEST_CASE("a full writer stops triggers only when no other has room") {
  Setup setup;
  setup.say(kWriter, true, 1);
  CHECK_FALSE(setup.stops());
  setup.say(kOtherWriter, true, 1);
  CHECK(setup.stops());
  CHECK(setup.pressure.stopped_by(setup.parts, setup.writers).size() == 2);
  setup.say(kOtherWriter, false, 0);
  CHECK_FALSE(setup.stops());
  setup.take_out(kOtherWriter);
  CHECK(setup.stops());
}

TEST_CASE("the fullest of readouts and DCMs and the emptiest writer lower the rate") {
  Setup setup;
  setup.say(kReadout, false, 0.625, "READOUT_BUFFER_BYTES");
  setup.say(kDcm, false, 0.75, "DCM_MEMORY");
  CHECK(setup.lost() == 0.5);
  CHECK(setup.pressure.slowed_by(0)->reason == "DCM_MEMORY");
  setup.say(kWriter, false, 0.9, "WRITER_BUFFER");
  CHECK(setup.lost() == 0.5);  // the other writer has reported no level: it is empty
  setup.say(kOtherWriter, false, 0.875, "WRITER_BUFFER");
  CHECK(setup.lost() == 0.75);
  CHECK(setup.pressure.slowed_by(0)->node == kOtherWriter);
}

TEST_CASE("slices that wait for a DCM lower the rate if they exceed any buffer's level") {
  Setup setup;
  setup.say(kReadout, false, 0.625, "READOUT_BUFFER_BYTES");
  CHECK(setup.pressure.slowed_by(0.625)->reason == "READOUT_BUFFER_BYTES");
  const auto slowed = setup.pressure.slowed_by(0.875);
  REQUIRE(slowed);
  CHECK(slowed->reason == "SLICES_PENDING");
  CHECK_FALSE(slowed->node);
  CHECK(slowed->share == 0.75);
  CHECK_FALSE(setup.pressure.is_open(1, 1));
  CHECK(setup.pressure.is_open(0.1, 1));
  CHECK(setup.pressure.opens_at(1, 1) == TriggerGate::kPeriodNs);
}

TEST_CASE("an invalid level is clamped to its bounds") {
  Setup setup;
  const double level =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), -3.0, 7.0, std::numeric_limits<double>::infinity());
  CAPTURE(level);
  setup.say(kReadout, false, level);
  CHECK(setup.lost() == (level > 1 ? 1 : 0));
  Setup bounded;
  bounded.say(kReadout, false, level > 1 ? 1 : 0);
  CHECK(state(setup, 0) == state(bounded, 0));
}

TEST_CASE("the state for searches has each node's message and level, but not their order") {
  Setup one;
  Setup other;
  one.say(kReadout, true, 1);
  CHECK(state(one, 0) != state(other, 0));
  one.say(kDcm, false, 0.5);
  other.say(kDcm, false, 0.5);
  other.say(kReadout, true, 1);
  CHECK(state(one, 0) == state(other, 0));
  CHECK(state(one, 0) != state(one, 1));  // within the gate's period
  CHECK(state(one, 0) == state(one, TriggerGate::kPeriodNs));
  other.say(kDcm, false, 0.25);
  CHECK(state(one, 0) != state(other, 0));
}
