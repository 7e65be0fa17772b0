#include "weir_catch.hpp"
#include <weir/assignment/confirmations.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

using Result = Confirmations::Result;

constexpr SliceId kSlice{7};
constexpr NodeIndex kOne{0};
constexpr NodeIndex kOther{1};

struct Setup {
  Confirmations confirmations{2};
  SliceEntry entry;

  Setup() {
    confirmations.writers().join(kOne, Incarnation(1));
    confirmations.writers().join(kOther, Incarnation(1));
    entry.slice = kSlice;
    entry.state = SliceState::assigned;
  }
  Result confirm(TimeNs now = 0, NodeIndex silent = kNoNode) {
    return confirmations.confirm(entry, now, silent, {});
  }
  void give_up_and_reopen() {
    confirmations.give_up(entry);
    entry.state = SliceState::pending;
    entry.attempt = entry.attempt.next();
    entry.writer = kNoNode;
  }
  // The copy confirmed last.
  [[nodiscard]] CopyId last() const { return {kSlice, entry.copy_attempt, entry.epoch}; }
  [[nodiscard]] Copy judge(NodeIndex writer, const CopyId& ack) const {
    return confirmations.judge(&entry, writer, ack);
  }
};

}  // namespace

TEST_CASE("each confirmation of a slice goes to the next writer, under the next epoch") {
  Setup setup;
  CHECK(setup.confirm(5) == Result::confirmed);
  CHECK(setup.entry.state == SliceState::confirmed);
  CHECK(setup.entry.epoch == StoreEpoch(0));
  CHECK(setup.entry.since == 5);
  const NodeIndex first = setup.entry.writer;
  setup.confirmations.give_up(setup.entry);
  CHECK(setup.confirm(6, first) == Result::confirmed);
  CHECK(setup.entry.writer != first);
  CHECK(setup.entry.copy_writer == setup.entry.writer);
  CHECK(setup.entry.epoch == StoreEpoch(1));
  CHECK(setup.confirmations.given_up().has(kSlice, first, StoreEpoch(0)));
}

TEST_CASE("without a writer an accepted slice waits for one, and costs no epoch") {
  Setup setup;
  setup.confirmations.writers().leave(kOne);
  setup.confirmations.writers().leave(kOther);
  CHECK(setup.confirm() == Result::no_writer);
  CHECK(setup.entry.state == SliceState::waiting_writer);
  CHECK(setup.entry.confirmations == 0);
  setup.confirmations.give_up(setup.entry);  // no copy to give up
  CHECK(setup.confirmations.given_up().of(kOne).all == 0);
  setup.confirmations.writers().join(kOther, Incarnation(2));
  CHECK(setup.confirm() == Result::confirmed);
  CHECK(setup.entry.writer == kOther);
}

TEST_CASE("a slice without epochs left is not confirmed again") {
  Setup setup;
  setup.entry.confirmations = UINT16_MAX;
  CHECK(setup.confirm() == Result::exhausted);
  CHECK(setup.entry.state == SliceState::assigned);
}

TEST_CASE("only the copy of the last confirmation is live, and after it is stored the same one is repeated") {
  Setup setup;
  REQUIRE(setup.confirm() == Result::confirmed);
  const NodeIndex writer = setup.entry.writer;
  const NodeIndex other = writer == kOne ? kOther : kOne;
  CHECK(setup.judge(writer, setup.last()) == Copy::live);
  CHECK(setup.judge(other, setup.last()) == Copy::dead);
  CHECK(setup.judge(writer, {kSlice, Attempt(1), StoreEpoch(0)}) == Copy::dead);
  CHECK(setup.judge(writer, {kSlice, Attempt(0), StoreEpoch(1)}) == Copy::dead);
  setup.entry.state = SliceState::settled;
  setup.entry.outcome = Outcome::stored;
  CHECK(setup.judge(writer, setup.last()) == Copy::repeated);
  CHECK(setup.judge(other, setup.last()) == Copy::dead);
  setup.entry.outcome = Outcome::discarded;
  CHECK(setup.judge(writer, setup.last()) == Copy::dead);
}

TEST_CASE("a copy that was given up counts after all while no other was confirmed, and is dead afterwards") {
  Setup setup;
  REQUIRE(setup.confirm() == Result::confirmed);
  const NodeIndex writer = setup.entry.writer;
  const CopyId first = setup.last();
  setup.give_up_and_reopen();
  CHECK(setup.judge(writer, first) == Copy::late_live);
  setup.entry.state = SliceState::assigned;
  CHECK(setup.judge(writer, first) == Copy::late_live);
  Setup taken = setup;
  taken.confirmations.take(taken.entry, writer, first);
  CHECK(taken.entry.attempt == Attempt(0));
  CHECK(taken.entry.writer == writer);
  CHECK(taken.confirmations.given_up().of(writer).all == 0);
  REQUIRE(setup.confirm() == Result::confirmed);
  CHECK(setup.judge(writer, first) == Copy::dead);
}

TEST_CASE("of a slice that waits for a writer only this attempt's copy counts after all") {
  Setup setup;
  REQUIRE(setup.confirm() == Result::confirmed);
  const NodeIndex writer = setup.entry.writer;
  const CopyId first = setup.last();
  setup.confirmations.give_up(setup.entry);
  setup.entry.state = SliceState::waiting_writer;
  setup.confirmations.give_up(setup.entry);  // it is not confirmed any more
  CHECK(setup.confirmations.given_up().of(writer).all == 1);
  CHECK(setup.judge(writer, first) == Copy::late_live);
  setup.entry.attempt = Attempt(1);
  CHECK(setup.judge(writer, first) == Copy::dead);
}

TEST_CASE("a copy of a forgotten slice is live, unless it was given up") {
  Setup setup;
  REQUIRE(setup.confirm() == Result::confirmed);
  const NodeIndex writer = setup.entry.writer;
  setup.confirmations.give_up(setup.entry);
  CHECK(setup.confirmations.judge(nullptr, writer, setup.last()) == Copy::old_dead);
  CHECK(setup.confirmations.judge(nullptr, writer, {kSlice, Attempt(1), StoreEpoch(1)}) == Copy::old_live);
}

TEST_CASE("copies of a slice that ends without being stored are orphans") {
  Setup setup;
  REQUIRE(setup.confirm() == Result::confirmed);
  const NodeIndex writer = setup.entry.writer;
  setup.give_up_and_reopen();
  CHECK(setup.confirmations.given_up().of(writer).orphans == 0);
  setup.confirmations.not_stored(setup.entry);
  CHECK(setup.confirmations.given_up().of(writer).orphans == 1);
}
