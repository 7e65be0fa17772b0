// Which requests a readout's answers answer, and which of them are reported to a shaper.
#include "../src/pending_requests.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {
namespace {

constexpr std::uint32_t kHeader = wire::kHeaderBytes;

PendingRequests::Question question(std::uint64_t slice, std::uint32_t fragments, std::uint32_t offset = 0,
                                   TimeNs asked_ns = kSecond) {
  return {SliceId(slice), offset, fragments, asked_ns, 7};
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
}

TEST_CASE("a range is answered by its own bytes, and the answers before it are not reported later") {
  PendingRequests pending;
  pending.ask(question(5, 1, 0));
  pending.ask(question(5, 1, 1000));
  pending.answer(answer(5, 1, 1000, 0));
  pending.answer(answer(5, 1, 500, 1000));
  const auto told = pending.take_answered(SliceId(5), 1000);
  REQUIRE(told.has_value());
  CHECK(told->bytes == kHeader + 500);
  pending.answer(answer(5, 1, 1000, 0));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
}

TEST_CASE("the report of a forgotten request leaves the others") {
  PendingRequests pending;
  pending.ask(question(5, 1));
  pending.ask(question(6, 1));
  pending.ask(question(7, 1));
  pending.answer(answer(6, 1, 100));
  REQUIRE(pending.take_answered(SliceId(6), 0).has_value());
  pending.answer(answer(5, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(7, 1, 100));
  CHECK(pending.take_answered(SliceId(7), 0).has_value());
}

TEST_CASE("requests for fragments of one slice are answered one after the other, and share the bytes") {
  PendingRequests pending;
  const bool both_reported = GENERATE(true, false);
  pending.ask(question(5, 33, 0, kSecond));
  pending.ask(question(5, 31, 0, 2 * kSecond));
  pending.ask(question(6, 31, 0, 3 * kSecond));
  pending.answer(answer(5, 32, 32'000 - kHeader));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(5, 1, 1000 - kHeader));
  if (both_reported) {
    const auto first = pending.take_answered(SliceId(5), 0);
    REQUIRE(first.has_value());
    CHECK(first->asked_ns == kSecond);
    CHECK(first->bytes == 33'000);
  }
  pending.answer(answer(5, 31, 31'000 - kHeader));
  const auto second = pending.take_answered(SliceId(5), 0);
  REQUIRE(second.has_value());
  CHECK(second->asked_ns == 2 * kSecond);
  CHECK(second->bytes == 31'000);
  pending.answer(answer(6, 31, 100));
  CHECK(pending.take_answered(SliceId(6), 0).has_value());
}

TEST_CASE("surplus fragments answer no other slice's request") {
  PendingRequests pending;
  pending.ask(question(5, 1));
  pending.ask(question(6, 1));
  pending.answer(answer(5, 4, 400));
  pending.answer(answer(7, 4, 400));
  CHECK_FALSE(pending.take_answered(SliceId(6), 0).has_value());
  pending.answer(answer(5, 4, 400));
  CHECK(pending.take_answered(SliceId(5), 0).has_value());
  pending.answer(answer(6, 1, 100));
  CHECK(pending.take_answered(SliceId(6), 0).has_value());
}

TEST_CASE("unanswered requests hide no other, and their number is limited") {
  PendingRequests pending;
  for (std::uint64_t slice = 1; slice <= PendingRequests::kMax; ++slice) pending.ask(question(slice, 1));
  pending.answer(answer(PendingRequests::kMax, 1, 100));
  CHECK(pending.take_answered(SliceId(PendingRequests::kMax), 0).has_value());
  pending.clear();
  for (std::uint64_t slice = 1; slice <= 3 * PendingRequests::kMax; ++slice) pending.ask(question(slice, 1));
  pending.answer(answer(1, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(1), 0).has_value());  // the oldest are forgotten
  pending.clear();
  pending.ask(question(5, 1));
  pending.clear();
  pending.answer(answer(5, 1, 100));
  CHECK_FALSE(pending.take_answered(SliceId(5), 0).has_value());
}

}  // namespace weir::dcm
