#include "../src/slip_board.hpp"

#include "weir_catch.hpp"

#include <string>
#include <vector>

namespace weir::supervisor {
namespace {

using Settings = v1::BuildSettings;
using Lines = std::vector<std::string>;

// Sources 1 and 2 at readout 0, 3 and 4 at readout 1.
SlipBoard board(Settings::OnOutOfStep policy = Settings::ON_OUT_OF_STEP_MARK) {
  const NodeIndex first(0);
  const NodeIndex second(1);
  return SlipBoard({policy, {{1, first}, {2, first}, {3, second}, {4, second}}});
}

v1::OutOfStep list(const std::vector<std::pair<std::uint32_t, std::int64_t>>& slips) {
  v1::OutOfStep message;
  for (const auto& [source, slip] : slips) {
    v1::OutOfStep::Source& one = *message.add_sources();
    one.set_source(source);
    one.set_slip(slip);
    if (slip != 0) one.set_since_slice(4711);
  }
  return message;
}

// "3:-1" with "m" where it is masked, "r" where it is realigned.
std::string shown(const SlipBoard& board) {
  std::string text;
  for (const auto& one : board.verdict().step_verdict().sources()) {
    text += (text.empty() ? "" : " ") + std::to_string(one.source()) + ":" + std::to_string(one.slip()) +
            (one.masked() ? "m" : "") + (one.realigned() ? "r" : "");
  }
  return text;
}

}  // namespace

TEST_CASE("by number, a counter that began again is named so") {
  SlipBoard steps({Settings::ON_OUT_OF_STEP_MARK, {{3, NodeIndex(1)}, {4, NodeIndex(1)}}, SliceId(1)});
  REQUIRE(steps.take(NodeIndex(1), list({{3, 4710}, {4, 0}})));
  CHECK(steps.take_news() == Lines{"source 3 out of step by 4710 since slice 4711: its counter began again"});
  REQUIRE(steps.take(NodeIndex(1), list({{3, 4000}, {4, 0}})));
  CHECK(steps.take_news() == Lines{"source 3 out of step by 4000 since slice 4711"});
}

TEST_CASE("a slipped source is named once, and not any more when it is in step again") {
  SlipBoard steps = board();
  REQUIRE(steps.take(NodeIndex(0), list({{1, 0}, {2, 0}})));
  CHECK_FALSE(steps.take_change());
  REQUIRE(steps.take(NodeIndex(1), list({{4, 0}, {3, -1}})));
  CHECK(steps.take_change());
  CHECK(shown(steps) == "3:-1");
  CHECK(steps.take_news() == Lines{"source 3 out of step by -1 since slice 4711"});
  REQUIRE(steps.take(NodeIndex(1), list({{4, 0}, {3, -1}})));  // after a reconnect
  CHECK_FALSE(steps.take_change());
  REQUIRE(steps.take(NodeIndex(1), list({{3, 0}, {4, 0}})));
  CHECK(steps.take_change());
  CHECK(shown(steps).empty());
  CHECK_FALSE(steps.names_any());
  REQUIRE(steps.take(NodeIndex(1), list({{3, -1}, {4, 0}})));
  CHECK(steps.take_change());
  CHECK(steps.take_news().empty());
}

TEST_CASE("sources of several readouts that slip alike show that another one has") {
  SlipBoard steps = board(Settings::ON_OUT_OF_STEP_MASK);
  REQUIRE(steps.take(NodeIndex(1), list({{3, 1}, {4, 1}})));
  CHECK(shown(steps) == "3:1 4:1");  // no others are known to be compared: the triggers have slipped
  REQUIRE(steps.take(NodeIndex(0), list({{1, 0}, {2, 1}})));
  CHECK(shown(steps) == "1:-1m");
  REQUIRE(steps.take(NodeIndex(0), list({{1, 1}, {2, 1}})));
  CHECK(shown(steps) == "1:1 2:1 3:1 4:1");
}

TEST_CASE("the policy masks, realigns or stops") {
  CHECK(board().why_stop().empty());
  const auto with = [](Settings::OnOutOfStep policy) {
    SlipBoard steps = board(policy);
    REQUIRE(steps.take(NodeIndex(0), list({{1, 0}, {2, 3}})));
    return steps;
  };
  CHECK(shown(with(Settings::ON_OUT_OF_STEP_MASK)) == "2:3m");
  CHECK(shown(with(Settings::ON_OUT_OF_STEP_REALIGN)) == "2:3r");
  CHECK(with(Settings::ON_OUT_OF_STEP_MASK).why_stop().empty());
  CHECK(with(Settings::ON_OUT_OF_STEP_STOP).why_stop() ==
        "source 2 out of step by 3 since slice 4711 (build.on_out_of_step: stop)");
  SlipBoard drift = board(Settings::ON_OUT_OF_STEP_REALIGN);
  v1::OutOfStep unknown = list({{1, 0}, {2, 0}});
  unknown.mutable_sources(1)->set_by_time(true);
  REQUIRE(drift.take(NodeIndex(0), unknown));
  CHECK(shown(drift) == "2:0");
  CHECK(drift.take_news() == Lines{"source 2 out of step in time since slice 0"});
}

TEST_CASE("a readout reports on its own sources, each once") {
  SlipBoard steps = board();
  for (const auto& wrong : {list({{1, 0}, {3, 1}}), list({{2, 0}, {2, 1}}), list({{9, 1}})}) {
    const auto taken = steps.take(NodeIndex(0), wrong);
    REQUIRE_FALSE(taken);
    CHECK(taken.error().row == static_cast<std::size_t>(wrong.sources_size() - 1));
  }
  CHECK_FALSE(steps.take_change());
}

}  // namespace weir::supervisor
