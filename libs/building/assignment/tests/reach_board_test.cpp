#include "weir_catch.hpp"
#include <weir/assignment/reach_board.hpp>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <vector>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr ReachSettings kSettings{400 * kMillisecond, 2 * kSecond, kSecond};

NodeIndex node(std::uint16_t value) { return NodeIndex(value); }

// Three readouts; each DCM reports the readouts that it cannot reach.
class Board {
 public:
  explicit Board(std::size_t dcms) : board(dcms, 3, kSettings) {
    for (std::uint16_t dcm = 0; dcm < dcms; ++dcm) says(dcm, {});
    judge();
  }
  void says(std::uint16_t dcm, std::initializer_list<std::uint16_t> readouts,
            std::initializer_list<std::uint16_t> writers = {}) {
    board.report(node(dcm), unreached(readouts), unreached(writers), now);
  }
  // As the supervisor does: whenever something is due.
  void pass_time(DurationNs ns) {
    const TimeNs until = now + ns;
    judge();
    while (board.next_ns() <= until) {
      now = std::max(now, board.next_ns());
      judge();
    }
    now = until;
    judge();
  }
  void judge() {
    if (board.is_due(now)) board.judge(now);
  }
  [[nodiscard]] bool cut_off(std::uint16_t dcm) const { return board.is_cut_off(node(dcm)); }
  [[nodiscard]] std::vector<std::uint16_t> missing(std::uint16_t dcm) const {
    std::vector<std::uint16_t> numbers;
    for (const NodeIndex each : board.missing(node(dcm))) numbers.push_back(each.value);
    return numbers;
  }

  TimeNs now = 100 * kSecond;
  ReachBoard board;

 private:
  [[nodiscard]] static std::vector<NodeIndex> unreached(std::initializer_list<std::uint16_t> nodes) {
    std::vector<NodeIndex> all;
    for (const std::uint16_t each : nodes) all.push_back(node(each));
    return all;
  }
};

using Readouts = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("a DCM that has lost readouts which another reaches is cut off, and marks nothing") {
  Board farm(2);
  farm.says(1, {0, 2});
  farm.pass_time(kSettings.settle_ns - 1);
  CHECK_FALSE(farm.cut_off(1));
  farm.pass_time(1);
  CHECK(farm.cut_off(1));
  CHECK_FALSE(farm.cut_off(0));
  CHECK(farm.board.lacking(node(1)).size() == 2);
  farm.pass_time(60 * kSecond);
  CHECK(farm.cut_off(1));
  CHECK(farm.missing(0).empty());
  CHECK(farm.missing(1).empty());
  CHECK_FALSE(farm.board.is_down(node(0)));
}

TEST_CASE("a readout that no DCM reaches for the grace time is down for all, and no DCM is cut off") {
  Board farm(2);
  farm.says(0, {1});
  farm.pass_time(300 * kMillisecond);
  farm.says(1, {1});
  farm.pass_time(kSettings.grace_ns - 1);
  CHECK(farm.missing(0).empty());
  CHECK_FALSE(farm.cut_off(0));
  farm.pass_time(1);
  CHECK(farm.board.is_down(node(1)));
  CHECK(farm.missing(0) == Readouts{1});
  CHECK(farm.missing(1) == Readouts{1});
  CHECK_FALSE(farm.cut_off(0));
  CHECK_FALSE(farm.cut_off(1));
}

TEST_CASE("the only DCM continues and marks unreachable readouts after the grace time") {
  Board farm(1);
  farm.says(0, {0, 1, 2});
  farm.pass_time(kSettings.grace_ns - 1);
  CHECK(farm.missing(0).empty());
  farm.pass_time(1);
  CHECK(farm.missing(0) == Readouts{0, 1, 2});
  CHECK_FALSE(farm.cut_off(0));
  farm.says(0, {1});
  farm.judge();
  CHECK(farm.missing(0) == Readouts{1});
}

TEST_CASE(
    "all DCMs of a remote group may be cut off, and mark nothing while another group reaches the readouts") {
  const bool remote = GENERATE(true, false);
  Board farm(3);
  farm.board = ReachBoard(3, 3, kSettings, {GroupIndex(0), GroupIndex(1), GroupIndex(1)}, {false, remote});
  for (std::uint16_t dcm = 0; dcm < 3; ++dcm) farm.says(dcm, {});
  farm.says(1, {0, 1, 2});
  farm.says(2, {0, 1, 2});
  farm.pass_time(60 * kSecond);
  CHECK(farm.cut_off(1) == remote);
  CHECK(farm.cut_off(2) == remote);
  CHECK(farm.missing(1).empty() == remote);
  CHECK(farm.missing(2).empty() == remote);
  farm.says(1, {});
  farm.says(2, {});
  farm.pass_time(2 * kSecond);
  CHECK_FALSE(farm.cut_off(1));
  CHECK_FALSE(farm.cut_off(2));
}

TEST_CASE("what no DCM of any group reaches is missing for a remote group as well") {
  Board farm(2);
  farm.board = ReachBoard(2, 3, kSettings, {GroupIndex(0), GroupIndex(1)}, {false, true});
  farm.says(0, {1});
  farm.says(1, {1});
  farm.pass_time(kSettings.grace_ns);
  CHECK(farm.missing(1) == Readouts{1});
  CHECK_FALSE(farm.cut_off(1));
}

TEST_CASE(
    "if every DCM has lost a different readout the best connected continue and mark, and the others are cut "
    "off") {
  Board farm(3);
  farm.says(0, {0});
  farm.says(1, {1});
  farm.says(2, {0, 1});
  farm.pass_time(kSettings.settle_ns);
  CHECK_FALSE(farm.cut_off(0));
  CHECK_FALSE(farm.cut_off(1));
  CHECK(farm.cut_off(2));
  farm.pass_time(kSettings.grace_ns);
  CHECK(farm.missing(0) == Readouts{0});
  CHECK(farm.missing(1) == Readouts{1});
  CHECK(farm.missing(2).empty());
}

TEST_CASE("a cut-off DCM is released when it has reached its readouts again for a while") {
  Board farm(2);
  farm.says(1, {0});
  farm.pass_time(kSecond);
  REQUIRE(farm.cut_off(1));
  farm.says(1, {});
  farm.pass_time(kSettings.return_ns - 1);
  CHECK(farm.cut_off(1));
  farm.says(1, {0});  // not for long enough
  farm.pass_time(10 * kMillisecond);
  farm.says(1, {});
  farm.pass_time(kSettings.return_ns - 1);
  CHECK(farm.cut_off(1));
  farm.pass_time(1);
  CHECK_FALSE(farm.cut_off(1));
  CHECK(farm.board.lacking(node(1)).empty());
}

TEST_CASE("losses shorter than the settling time cut no DCM off, however many there are") {
  Board farm(2);
  for (int i = 0; i < 100; ++i) {
    farm.says(1, {0, 1, 2});
    farm.pass_time(kSettings.settle_ns - 1);
    CHECK_FALSE(farm.cut_off(1));
    farm.says(1, {});
    farm.pass_time(kMillisecond);
  }
}

TEST_CASE("if the best connected DCM leaves or is removed, the next best continues immediately") {
  for (const bool taken_out : {false, true}) {
    Board farm(2);
    farm.says(1, {0});
    farm.pass_time(kSecond);
    REQUIRE(farm.cut_off(1));
    taken_out ? farm.board.set_part(node(0), false) : farm.board.forget(node(0));
    farm.judge();
    CHECK_FALSE(farm.cut_off(1));
    farm.pass_time(kSettings.grace_ns - 1);
    CHECK(farm.missing(1).empty());  // it may return at any moment
    farm.pass_time(1);
    CHECK(farm.missing(1) == Readouts{0});
  }
}

TEST_CASE("once one DCM reaches a readout again, the others wait for it and none marks it") {
  Board farm(2);
  farm.says(0, {0});
  farm.says(1, {0});
  farm.pass_time(10 * kSecond);
  REQUIRE(farm.missing(1) == Readouts{0});
  farm.says(0, {});
  farm.judge();
  CHECK(farm.missing(1).empty());
  CHECK_FALSE(farm.cut_off(1));  // its own connection is being made
  farm.pass_time(kSettings.settle_ns);
  CHECK(farm.cut_off(1));
}

TEST_CASE("a process without a report neither reaches a readout for the farm nor is cut off") {
  Board farm(2);
  farm.says(0, {0});
  farm.says(1, {0});
  farm.pass_time(10 * kSecond);
  farm.board.forget(node(1));
  farm.judge();
  CHECK(farm.missing(0) == Readouts{0});
  CHECK_FALSE(farm.cut_off(0));
  CHECK_FALSE(farm.cut_off(1));
  CHECK(farm.missing(1).empty());
}

TEST_CASE(
    "a writer that a DCM has not reached for the grace time is reported, and no longer once it has been back "
    "for a while") {
  Board farm(2);
  farm.says(1, {}, {0});
  farm.pass_time(kSettings.grace_ns - 1);
  CHECK(farm.board.writers_lost(node(1)).empty());
  farm.pass_time(1);
  REQUIRE(farm.board.writers_lost(node(1)).size() == 1);
  CHECK(farm.board.writers_lost(node(0)).empty());
  CHECK_FALSE(farm.cut_off(1));
  farm.says(1, {});
  farm.pass_time(kSettings.return_ns - 1);
  CHECK(farm.board.writers_lost(node(1)).size() == 1);
  farm.pass_time(1);
  CHECK(farm.board.writers_lost(node(1)).empty());
}

TEST_CASE("a writer's new process has the grace time to be connected to") {
  Board farm(1);
  farm.says(0, {}, {0});
  farm.pass_time(10 * kSecond);
  REQUIRE(farm.board.writers_lost(node(0)).size() == 1);
  farm.board.writer_joined(node(0), farm.now);
  farm.judge();
  CHECK(farm.board.writers_lost(node(0)).empty());
  farm.pass_time(kSettings.grace_ns);
  CHECK(farm.board.writers_lost(node(0)).size() == 1);
}

TEST_CASE("a readout's new process has a new grace time") {
  Board farm(2);
  farm.says(0, {0});
  farm.says(1, {0});
  farm.pass_time(10 * kSecond);
  REQUIRE(farm.missing(0) == Readouts{0});
  farm.board.readout_joined(node(0), farm.now);
  farm.judge();
  CHECK(farm.missing(0).empty());
  CHECK_FALSE(farm.board.is_down(node(0)));
  farm.pass_time(kSettings.grace_ns);
  CHECK(farm.missing(0) == Readouts{0});
}

TEST_CASE("without losses no DCM has anything to check") {
  Board farm(2);
  farm.says(0, {1});
  farm.says(0, {});
  farm.judge();
  CHECK(farm.board.next_ns() == INT64_MAX);
  CHECK(farm.board.changed().empty());
}

TEST_CASE("after a restart nothing is missing before the earlier DCMs can have reconnected") {
  Board board(0);
  board.board = ReachBoard(2, 3, kSettings);
  board.board.wait_for_dcms(board.now + 10 * kSecond);
  board.says(0, {1});  // the first to reconnect, and the only one
  board.pass_time(9 * kSecond);
  CHECK(board.missing(0).empty());
  CHECK_FALSE(board.board.is_down(node(1)));
  SECTION("another one comes that reaches it") {
    board.says(1, {});
    board.pass_time(5 * kSecond);
    CHECK(board.missing(0).empty());
    CHECK(board.cut_off(0));
  }
  SECTION("nobody comes") {
    board.pass_time(kSecond);
    CHECK(board.missing(0) == Readouts{1});
    CHECK(board.board.is_down(node(1)));
  }
}

TEST_CASE("a report costs no more than its own losses and the previous ones, in any order") {
  constexpr std::uint16_t kDcms = 128;
  constexpr std::uint16_t kReadouts = 4000;
  ReachBoard board(kDcms, kReadouts, kSettings);
  std::vector<NodeIndex> lost;
  for (std::uint16_t i = 0; i < kReadouts; ++i)
    lost.push_back(node(static_cast<std::uint16_t>((i * 1237) % kReadouts)));
  const auto report = [&](std::span<const NodeIndex> readouts, TimeNs now) {
    const std::uint64_t before = board.steps();
    for (std::uint16_t dcm = 0; dcm < kDcms; ++dcm) board.report(node(dcm), readouts, {}, now);
    CHECK(board.steps() - before <= 2ULL * kDcms * kReadouts);
  };
  report({}, kSecond);
  report(lost, 2 * kSecond);
  board.judge(2 * kSecond);
  board.judge(10 * kSecond);
  REQUIRE(board.missing(node(5)).size() == kReadouts);
  REQUIRE(std::is_sorted(board.missing(node(5)).begin(), board.missing(node(5)).end()));
  report(lost, 11 * kSecond);
  report(std::span(lost).first(kReadouts / 2), 12 * kSecond);
  board.judge(12 * kSecond);
  CHECK(board.missing(node(5)).size() == kReadouts / 2);
  const std::uint64_t before = board.steps();
  for (std::uint16_t readout = 0; readout < kReadouts; ++readout)
    board.readout_joined(node(readout), 13 * kSecond);
  CHECK(board.steps() - before <= 2ULL * kDcms * kReadouts);
  report({}, 14 * kSecond);
  board.judge(14 * kSecond);
  board.judge(16 * kSecond);
  CHECK(board.missing(node(5)).empty());
}
