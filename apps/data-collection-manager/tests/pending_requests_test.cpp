// Which requests a readout's answers answer, and which of them are reported to a shaper.
#include "../src/pending_requests.hpp"

#include "weir_catch.hpp"
#include <weir/wire/frame.hpp>

namespace weir::dcm {
namespace {

constexpr std::uint32_t kHeader = wire::kHeaderBytes;

PendingRequests::Question question(std::uint64_t slice, std::uint32_t fragments, std::uint32_t offset = 0) {
  return {SliceId(slice), offset, fragments, kSecond, 7, 0};
}

PendingRequests::Answer answer(std::uint64_t slice, std::uint32_t fragments, std::uint32_t length,
                               std::uint32_t offset = 0) {
  return {SliceId(slice), offset, fragments, length};
}

}  // namespace

TEST_CASE("a request is answered with the last of its fragments, and reported once") {
  PendingRequests pending;
  pending.ask(question(5, 3));
  pending.answer(answer(5, 2, 200));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(5, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(5), 1).has_value());
  CHECK_FALSE(pending.take_answered(SliceId(6), 0).has_value());
  const auto told = pending.take_answered(SliceId(5), 0);
  REQUIRE(told.has_value());
  CHECK(told->bytes == 2 * kHeader + 300);
  CHECK(told->asked_ns == kSecond);
  CHECK(told->owed == 7);
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  CHECK(pending.empty());
}

TEST_CASE("a range is answered by its own bytes, or by the report that none exist") {
  PendingRequests pending;
  pending.ask(question(5, 1, 0));
  pending.ask(question(5, 1, 1000));
  pending.answer(answer(5, 1, 500, 1000));
  CHECK(pending.take_answered(SliceId(5), 1000).has_value());
  pending.answer(answer(5, 1, 0, 9999));
  CHECK(pending.take_answered(SliceId(5), 0).has_value());
}

TEST_CASE("one block answers all requests for its fragments, and shares its bytes among them") {
  PendingRequests pending;
  pending.ask(question(5, 33));
  pending.ask(question(5, 31));
  pending.answer(answer(5, 31, 31'000));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(5, 31, 31'000 - kHeader));
  const auto first = pending.take_answered(SliceId(5), 0);
  REQUIRE(first.has_value());
  CHECK(first->bytes == kHeader + 31'000 + 2000);
  pending.answer(answer(5, 2, 2000));
  const auto second = pending.take_answered(SliceId(5), 0);
  REQUIRE(second.has_value());
  CHECK(second->bytes == 29'000 + kHeader + 2000);
  CHECK(pending.empty());
}

TEST_CASE("surplus fragments answer no other slice's request") {
  PendingRequests pending;
  pending.ask(question(5, 1));
  pending.ask(question(6, 1));
  pending.answer(answer(5, 4, 400));
  pending.answer(answer(7, 4, 400));
  CHECK(pending.take_answered(SliceId(5), 0).has_value());
  CHECK_FALSE(pending.empty());
  pending.answer(answer(6, 1, 100));
  CHECK(pending.empty());
}

TEST_CASE("unanswered requests do not hide the others forever, and their number is limited") {
  PendingRequests pending;
  for (std::uint64_t slice = 1; slice <= 40; ++slice) pending.ask(question(slice, 1));
  pending.ask(question(99, 1));
  bool answered = false;
  for (int tries = 0; tries < 40 && !answered; ++tries) {
    pending.answer(answer(99, 1, 100));
    answered = pending.take_answered(SliceId(99), 0).has_value();
  }
  CHECK(answered);
  pending.clear();
  for (std::uint64_t slice = 1; slice <= PendingRequests::kMax + 1; ++slice) pending.ask(question(slice, 1));
  pending.answer(answer(1, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(1), 0).has_value());  // the oldest is forgotten
  pending.clear();
  CHECK(pending.empty());
}

TEST_CASE("data of a departed slice answers no request") {
  PendingRequests pending;
  pending.ask(question(5, 1));
  pending.ask(question(6, 1));
  pending.forget(SliceId(5));
  pending.answer(answer(5, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(6, 1, 100));
  CHECK(pending.take_answered(SliceId(6), 0).has_value());
}

}  // namespace weir::dcm
