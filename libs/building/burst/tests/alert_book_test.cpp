#include "weir_catch.hpp"
#include <weir/burst/alert_book.hpp>
#include <weir/burst/ring.hpp>

using namespace weir;
using namespace weir::burst;

namespace {

void settle(AlertBook& book, std::uint64_t slice, std::optional<NodeIndex> dcm) {
  book.announced(static_cast<UtcNs>(slice) * kQuantum);
  book.settled(SliceId(slice), static_cast<UtcNs>(slice) * kQuantum, dcm);
}

Alert ask(AlertBook& book, std::int64_t first, std::int64_t last) {
  std::string error;
  const auto alert = book.ask(first * kQuantum + 1, (last + 1) * kQuantum, "test", error);
  REQUIRE(alert);
  return *alert;
}

Account saved(const SliceSum& sum) {
  Account account;
  account.saved = sum;
  return account;
}

}  // namespace

TEST_CASE("an alert ends when its slices are settled and every DCM has saved its part") {
  AlertBook book(2);
  settle(book, 1, NodeIndex(0));
  settle(book, 2, NodeIndex(1));
  book.announced(3 * kQuantum);
  const Alert alert = ask(book, 1, 3);
  CHECK(alert.from == kQuantum);
  CHECK(book.alerts().at(1).asked.count == 2);
  SliceSum one;
  one.add(SliceId(1));
  SliceSum two;
  two.add(SliceId(2));
  book.told(NodeIndex(0), 1, saved(one));
  book.told(NodeIndex(1), 1, saved(two));
  CHECK(book.take_ended(10 * kQuantum, 0, false, false).empty());  // slice 3 is in flight
  book.settled(SliceId(3), 3 * kQuantum, NodeIndex(0));
  CHECK(book.take_ended(10 * kQuantum, 0, false, false).empty());  // and then not saved
  one.add(SliceId(3));
  book.told(NodeIndex(0), 1, saved(one));
  CHECK(book.take_ended(10 * kQuantum, 0, false, false).size() == 1);
  CHECK(book.alerts().at(1).lost == 0);
  CHECK_FALSE(book.is_open());
}

TEST_CASE("slices of a dead DCM are lost for later alerts, and its saved ones count") {
  AlertBook book(2);
  for (std::uint64_t i = 1; i <= 10; ++i) settle(book, i, NodeIndex(static_cast<std::uint16_t>(i % 2)));
  ask(book, 1, 4);
  SliceSum one;
  one.add(SliceId(1));
  book.told(NodeIndex(1), 1, saved(one));
  book.dcm_left(NodeIndex(1), 0);
  ask(book, 5, 10);
  Account even = saved({2, mix64(2) + mix64(4)});
  book.told(NodeIndex(0), 1, even);
  book.told(NodeIndex(0), 2, saved({3, mix64(6) + mix64(8) + mix64(10)}));
  CHECK(book.take_ended(20 * kQuantum, kReturnPatience - 1, false, false).empty());  // it may come back
  CHECK(book.take_ended(20 * kQuantum, kReturnPatience, false, false).size() == 2);
  CHECK(book.alerts().at(1).lost == 1);  // slice 3
  CHECK(book.alerts().at(2).lost == 3);  // slices 5, 7, 9
  CHECK_FALSE(book.is_exact());
}

TEST_CASE("saved slices of a DCM count once after the loss of its connection or its process") {
  const bool same_process = GENERATE(true, false);
  AlertBook book(1);
  for (std::uint64_t i = 1; i <= 4; ++i) settle(book, i, NodeIndex(0));
  ask(book, 1, 5);
  SliceSum sum;
  for (std::uint64_t i = 1; i <= 3; ++i) sum.add(SliceId(i));
  book.told(NodeIndex(0), 1, saved(sum));
  book.dcm_left(NodeIndex(0), 0);
  if (!same_process) book.dcm_replaced(NodeIndex(0));
  book.dcm_joined(NodeIndex(0));
  book.announced(5 * kQuantum);
  if (same_process)
    CHECK(book.take_ended(10 * kQuantum, 0, true, false).empty());  // slice 4 is not saved yet
  if (!same_process) sum = {};
  sum.add(SliceId(same_process ? 4 : 5));
  book.settled(SliceId(5), 5 * kQuantum, NodeIndex(0));
  if (same_process) sum.add(SliceId(5));
  book.told(NodeIndex(0), 1, saved(sum));
  CHECK(book.take_ended(10 * kQuantum, 0, false, false).size() == 1);
  CHECK(book.alerts().at(1).told.saved.count == (same_process ? 5 : 4));
  CHECK(book.alerts().at(1).lost == (same_process ? 0 : 1));
}

// It takes part once its filter has begun the run.
TEST_CASE("slices of a dead DCM are lost when its next process connects, before that takes part") {
  AlertBook book(1);
  for (std::uint64_t i = 1; i <= 4; ++i) settle(book, i, NodeIndex(0));
  ask(book, 1, 3);
  book.dcm_left(NodeIndex(0), 0);
  book.dcm_replaced(NodeIndex(0));
  const AlertBookState replaced = book.state();
  CHECK(replaced.kept.front().empty());
  CHECK(replaced.lost.size() == 4);
  CHECK(book.take_ended(10 * kQuantum, 0, true, false).size() == 1);
  CHECK(book.alerts().at(1).lost == 3);
  book.dcm_joined(NodeIndex(0));
  CHECK(book.state().lost == replaced.lost);
}

TEST_CASE("more alerts than can be saved at a time are no_room") {
  AlertBook book(1);
  for (std::size_t i = 0; i < kOpenAlertsMax; ++i) ask(book, 1, 2);
  std::string error;
  CHECK_FALSE(book.ask(0, kQuantum, "", error));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("no_room"));
  CHECK(book.take_ended(10 * kQuantum, 0, true, false).size() == kOpenAlertsMax);
  error.clear();
  CHECK(book.ask(0, kQuantum, "", error));
}

TEST_CASE("a DCM that returns has room for every open alert, however many ended while it was away") {
  const std::uint32_t missed =
      GENERATE(1U, 3U, static_cast<std::uint32_t>(kOpenAlertsMax));  // ends, and as many begins after them
  CAPTURE(missed);
  AlertBook book(1);
  Ring ring({1000, 500, 1'000'000'000, 1'000'000});
  for (std::uint64_t i = 1; i <= 4; ++i) {
    settle(book, i, NodeIndex(0));
    REQUIRE(ring.add(SliceId(i), Attempt(0), static_cast<UtcNs>(i) * kQuantum, 100));
  }
  const auto tell = [&] {
    ring.for_each_open(
        [&](const Alert& alert, const Account& fates) { book.told(NodeIndex(0), alert.number, fates); });
  };
  for (std::size_t i = 0; i < kOpenAlertsMax; ++i) ring.open(ask(book, 1, 5));
  for (std::uint32_t i = 0; i < missed; ++i) {
    AlertAccount ended = book.alerts().at(i + 1);
    ended.ended = true;
    book.end(i + 1, ended);
  }
  for (std::uint32_t i = 0; i < missed; ++i) ask(book, 1, 5);

  for (const std::uint32_t number : book.ended_first()) {
    const AlertAccount& account = book.alerts().at(number);
    if (account.ended) {
      ring.close(number);
    } else {
      REQUIRE((ring.account(number) != nullptr || ring.can_open()));
      ring.open(account.alert);
    }
  }
  CHECK(ring.broken_invariant().empty());
  tell();
  while (const auto record = ring.next(1000 * kSecond)) {
    ring.saved(record->alert, record->slice);
    tell();
  }
  CHECK(book.take_ended(20 * kQuantum, 0, true, false).size() == kOpenAlertsMax);
  for (const auto& [number, account] : book.alerts()) {
    if (number <= missed) continue;
    CHECK(account.told.saved.count == 4);
    CHECK(account.lost == 0);
  }
}

TEST_CASE("a book that continues another's state has its alerts, and the slices of those to come") {
  AlertBook book(2);
  for (std::uint64_t i = 1; i <= 10; ++i) settle(book, i, NodeIndex(static_cast<std::uint16_t>(i % 2)));
  ask(book, 1, 4);
  SliceSum one;
  one.add(SliceId(1));
  book.told(NodeIndex(1), 1, saved(one));
  book.dcm_replaced(NodeIndex(1));  // another process: slice 3 is lost

  AlertBook next(book.state(), 0);
  CHECK_FALSE(next.is_exact());
  CHECK(ask(next, 5, 10).number == 2);
  CHECK(next.alerts().at(2).asked.count == 6);
  next.dcm_joined(NodeIndex(0));
  next.told(NodeIndex(0), 1, saved({2, mix64(2) + mix64(4)}));
  next.told(NodeIndex(0), 2, saved({3, mix64(6) + mix64(8) + mix64(10)}));
  CHECK(next.take_ended(20 * kQuantum, 0, false, false).size() == 2);
  CHECK(next.alerts().at(1).told.saved.count == 3);
  CHECK(next.alerts().at(1).lost == 1);
  CHECK(next.alerts().at(2).lost == 3);  // slices 5, 7, 9
  AlertBook third(next.state(), 0);
  CHECK_FALSE(third.is_open());
  CHECK(ask(third, 1, 2).number == 3);
  CHECK(third.take_ended(20 * kQuantum, kReturnPatience - 1, false, false).empty());  // DCM 0 may come back
  CHECK(third.take_ended(20 * kQuantum, kReturnPatience, false, false).size() == 1);
}

TEST_CASE("a run has a bounded number of alerts, and accounts of others are ignored") {
  AlertBook book(1);
  std::string error;
  for (std::size_t i = 1; i <= kAlertsMax; ++i) {
    CHECK(ask(book, 1, 2).number == i);
    CHECK(book.take_ended(10 * kQuantum, 0, true, false).size() == 1);
  }
  CHECK_FALSE(book.ask(0, kQuantum, "", error));
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("no_room"));
  for (const std::uint32_t number : {0U, 1001U, UINT32_MAX}) book.told(NodeIndex(0), number, saved({1, 1}));
  book.told(NodeIndex(9), 1, saved({1, 1}));
  CHECK(book.alerts().size() == kAlertsMax);
  CHECK_FALSE(book.is_open());
}
