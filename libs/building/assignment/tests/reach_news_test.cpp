#include "weir_catch.hpp"
#include <weir/assignment/fault_list.hpp>
#include <weir/assignment/reach_news.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr ReachSettings kSettings{400 * kMillisecond, 2 * kSecond, kSecond};
constexpr NodeIndex kDcm{0};
constexpr NodeIndex kOther{1};

using Nodes = std::vector<NodeIndex>;

// Two DCMs and three readouts. Time advances past the settling time, so that reports take effect immediately.
struct Setup {
  ReachBoard board{2, 3, kSettings};
  ReachNews news{2, 3};
  TimeNs now = 100 * kSecond;

  Setup() {
    say(kDcm, {});
    say(kOther, {});
  }
  void say(NodeIndex dcm, const Nodes& readouts, const Nodes& writers = {}) {
    board.report(dcm, readouts, writers, now);
    for (int i = 0; i < 100; ++i) {
      now += kSettings.settle_ns / 4;
      board.judge(now);
    }
  }
};

}  // namespace

TEST_CASE("a DCM that is cut off is reported once with its losses, and once when it is restored") {
  Setup setup;
  CHECK_FALSE(setup.news.changed(kDcm, setup.board));
  setup.say(kDcm, {NodeIndex(0), NodeIndex(2)});
  CHECK(setup.news.changed(kDcm, setup.board));
  auto news = setup.news.take(kDcm, setup.board);
  REQUIRE(news.size() == 1);
  CHECK(news[0].kind == FaultKind::cut_off);
  CHECK(news[0].readouts == Nodes{NodeIndex(0), NodeIndex(2)});
  CHECK_FALSE(setup.news.changed(kDcm, setup.board));
  CHECK(setup.news.take(kDcm, setup.board).empty());
  const auto moved = setup.news.handed_back(kDcm);
  REQUIRE(moved);
  CHECK(moved->kind == FaultKind::cut_off);
  CHECK(moved->readouts == Nodes{NodeIndex(0), NodeIndex(2)});
  CHECK_FALSE(setup.news.handed_back(kDcm));
  setup.say(kDcm, {});
  news = setup.news.take(kDcm, setup.board);
  REQUIRE(news.size() == 1);
  CHECK(news[0].kind == FaultKind::restored);
  CHECK(news[0].slices == 2);
  CHECK(setup.news.take(kDcm, setup.board).empty());
  CHECK(setup.news.take(kOther, setup.board).empty());
}

TEST_CASE("slices that a DCM gave back at an earlier cut are not reported again") {
  Setup setup;
  setup.say(kDcm, {NodeIndex(0)});
  (void)setup.news.take(kDcm, setup.board);
  CHECK(setup.news.handed_back(kDcm));
  setup.say(kDcm, {});
  (void)setup.news.take(kDcm, setup.board);
  setup.say(kDcm, {NodeIndex(0)});
  (void)setup.news.take(kDcm, setup.board);
  setup.say(kDcm, {});
  CHECK(setup.news.take(kDcm, setup.board).at(0).slices == 0);
}

TEST_CASE(
    "the readouts that the best connected DCM marks are reported when they increase, not when they "
    "decrease") {
  Setup setup;
  setup.say(kDcm, {NodeIndex(0)});
  setup.say(kOther, {NodeIndex(1)});
  setup.say(kDcm, {NodeIndex(0)});
  auto news = setup.news.take(kDcm, setup.board);
  REQUIRE_FALSE(news.empty());
  CHECK(news.back().kind == FaultKind::marked);
  CHECK(news.back().readouts == Nodes{NodeIndex(0)});
  CHECK(setup.news.take(kDcm, setup.board).empty());
  setup.say(kDcm, {});
  for (const ReachNews::News& one : setup.news.take(kDcm, setup.board)) CHECK(one.kind != FaultKind::marked);
}

TEST_CASE("a readout that no DCM reaches is reported once as down, and not as a single DCM's loss") {
  Setup setup;
  setup.say(kDcm, {NodeIndex(1)});
  (void)setup.news.take(kDcm, setup.board);
  CHECK(setup.news.take_outages(setup.board).empty());
  setup.say(kOther, {NodeIndex(1)});
  auto outages = setup.news.take_outages(setup.board);
  REQUIRE(outages.size() == 1);
  CHECK(outages[0].readout == NodeIndex(1));
  CHECK_FALSE(outages[0].lasted);
  const TimeNs since = outages[0].since;
  CHECK(setup.news.take_outages(setup.board).empty());
  for (const ReachNews::News& one : setup.news.take(kOther, setup.board))
    CHECK(one.kind != FaultKind::marked);
  setup.say(kOther, {});
  outages = setup.news.take_outages(setup.board);
  REQUIRE(outages.size() == 1);
  CHECK(outages[0] == ReachNews::Outage{NodeIndex(1), since, setup.board.changed_at(NodeIndex(1)) - since});
  CHECK(setup.news.take_outages(setup.board).empty());
  setup.say(kOther, {NodeIndex(1)});
  CHECK(setup.news.take_outages(setup.board).size() == 1);
  // Without any DCM the outage neither ends nor begins again.
  setup.board.forget(kDcm);
  setup.board.forget(kOther);
  setup.board.judge(setup.now);
  CHECK(setup.news.take_outages(setup.board).empty());
  setup.say(kDcm, {NodeIndex(1)});
  setup.say(kOther, {NodeIndex(1)});
  CHECK(setup.news.take_outages(setup.board).empty());
  setup.news.withdraw(NodeIndex(1));
  setup.say(kOther, {});
  CHECK(setup.news.take_outages(setup.board).empty());
}

TEST_CASE("a writer that a DCM lost is reported once, and again if it was back meanwhile") {
  Setup setup;
  setup.say(kDcm, {}, {NodeIndex(1)});
  CHECK(setup.news.take_writers_lost(kDcm, setup.board) == Nodes{NodeIndex(1)});
  setup.say(kDcm, {}, {NodeIndex(0), NodeIndex(1)});
  CHECK(setup.news.take_writers_lost(kDcm, setup.board) == Nodes{NodeIndex(0)});
  setup.say(kDcm, {}, {NodeIndex(0)});
  CHECK(setup.news.take_writers_lost(kDcm, setup.board).empty());
  setup.say(kDcm, {}, {NodeIndex(0), NodeIndex(1)});
  CHECK(setup.news.take_writers_lost(kDcm, setup.board) == Nodes{NodeIndex(1)});
}

TEST_CASE("nothing counts as reported for a new process of a DCM") {
  Setup setup;
  setup.say(kDcm, {NodeIndex(0)}, {NodeIndex(1)});
  (void)setup.news.take(kDcm, setup.board);
  (void)setup.news.take_writers_lost(kDcm, setup.board);
  setup.news.forget(kDcm);
  CHECK(setup.news.take(kDcm, setup.board).size() == 1);
  CHECK(setup.news.take_writers_lost(kDcm, setup.board).size() == 1);
}

TEST_CASE("faults are kept in order, up to a limit") {
  FaultList faults;
  for (std::size_t i = 0; i < kFaultsMax + 5; ++i)
    faults.note({FaultKind::left, Role::dcm, kDcm, Incarnation(i), 0, 0});
  REQUIRE(faults.all().size() == kFaultsMax);
  CHECK(faults.all().front().incarnation == Incarnation(0));
  CHECK(faults.all().back().incarnation == Incarnation(kFaultsMax - 1));
}
