#include "weir_catch.hpp"
#include <weir/assignment/answered_triggers.hpp>

using namespace weir;
using namespace weir::assignment;
using Found = AnsweredTriggers::Found;

namespace {

Found find(const AnsweredTriggers& answered, const TriggerNumber& number) {
  OfferResult answer;
  return answered.find(number, answer);
}

}  // namespace

TEST_CASE("a repeated number has the answer that it was given") {
  AnsweredTriggers answered;
  CHECK(find(answered, {"a", 1, 5}) == Found::fresh);
  answered.add({"a", 1, 5}, {true, SliceId(9)});
  answered.add({"a", 1, 3}, {false, {}, VetoReason::in_flight});
  OfferResult answer;
  CHECK(answered.find({"a", 1, 5}, answer) == Found::answered);
  CHECK(answer == OfferResult{true, SliceId(9)});
  CHECK(answered.find({"a", 1, 3}, answer) == Found::answered);
  CHECK(answer == OfferResult{false, {}, VetoReason::in_flight});
  CHECK(find(answered, {"a", 1, 4}) == Found::fresh);
  CHECK(find(answered, {"b", 1, 5}) == Found::fresh);
}

TEST_CASE("a higher session begins anew, and nothing of a lower one is fresh") {
  AnsweredTriggers answered;
  answered.add({"a", 7, 1}, {true, SliceId(1)});
  CHECK(find(answered, {"a", 6, 2}) == Found::old);
  answered.add({"a", 8, 1}, {true, SliceId(2)});
  CHECK(find(answered, {"a", 7, 1}) == Found::old);
  OfferResult answer;
  CHECK(answered.find({"a", 8, 1}, answer) == Found::answered);
  CHECK(answer.slice == SliceId(2));
}

TEST_CASE("a number that left the memory is old, never fresh") {
  AnsweredTriggers answered;
  constexpr std::uint64_t kMax = AnsweredTriggers::kNumbersMax;
  for (std::uint64_t n = 1; n <= 2 * kMax; n += 3) answered.add({"a", 1, n}, {true, SliceId(n)});
  const std::uint64_t highest = 2 * kMax - (2 * kMax - 1) % 3;
  std::uint64_t wrong = 0;
  for (std::uint64_t n = 1; n <= 2 * kMax + 3; ++n) {
    const bool old = n <= highest - kMax;
    const bool given = n <= 2 * kMax && (n - 1) % 3 == 0;
    const Found should = old ? Found::old : given ? Found::answered : Found::fresh;
    wrong += find(answered, {"a", 1, n}) == should ? 0U : 1U;
  }
  CHECK(wrong == 0);
  // The largest number leaves no smaller one to be offered, and is itself remembered.
  answered.add({"a", 1, UINT64_MAX}, {false, {}, VetoReason::busy_pending});
  CHECK(find(answered, {"a", 1, 2 * kMax + 1}) == Found::old);
  CHECK(find(answered, {"a", 1, UINT64_MAX}) == Found::answered);
}

TEST_CASE("a client beyond the limit is refused, and the others keep their answers") {
  AnsweredTriggers answered;
  for (std::size_t i = 0; i < AnsweredTriggers::kClientsMax; ++i)
    answered.add({std::to_string(i), 1, 1}, {true, SliceId(i)});
  CHECK(find(answered, {"further", 1, 1}) == Found::full);
  CHECK(find(answered, {"17", 1, 1}) == Found::answered);
  CHECK(find(answered, {"17", 1, 2}) == Found::fresh);
}

TEST_CASE("the state restores every answer that is remembered") {
  AnsweredTriggers answered;
  for (std::uint64_t n = 5000; n > 1000; --n)
    answered.add({"down", 3, n},
                 {n % 3 == 0, SliceId(n), n % 3 == 0 ? VetoReason::none : VetoReason::paused});
  for (std::uint64_t n = 1; n <= 9000; ++n)
    answered.add({"up", 4, n}, {n % 3 == 0, SliceId(n), n % 3 == 0 ? VetoReason::none : VetoReason::paused});
  AnsweredTriggers restored;
  for (const NumberedAnswer& one : answered.state())
    restored.add({one.client, one.session, one.number}, one.answer);
  std::uint64_t differ = 0;
  for (std::uint64_t n = 1; n <= 9100; ++n) {
    for (const TriggerNumber& number : {TriggerNumber{"down", 3, n}, TriggerNumber{"up", 4, n}}) {
      OfferResult one;
      OfferResult other;
      differ += answered.find(number, one) == restored.find(number, other) && one == other ? 0U : 1U;
    }
  }
  CHECK(differ == 0);
}
