// Which requests a readout's answers answer, and which of them are reported to a shaper.
#include "../src/questions.hpp"

#include "weir_catch.hpp"
#include <weir/wire/frame.hpp>

namespace weir::dcm {
namespace {

constexpr std::uint32_t kHeader = wire::kHeaderBytes;

Questions::Question question(std::uint64_t slice, std::uint32_t fragments, std::uint32_t offset = 0) {
  return {SliceId(slice), offset, fragments, kSecond, 7, 0};
}

Questions::Answer answer(std::uint64_t slice, std::uint32_t fragments, std::uint32_t length,
                         std::uint32_t offset = 0) {
  return {SliceId(slice), offset, fragments, length};
}

}  // namespace

TEST_CASE("a request is answered with the last of its fragments, and reported once") {
  Questions questions;
  questions.ask(question(5, 3));
  questions.answer(answer(5, 2, 200));
  CHECK_FALSE(questions.take_answered(SliceId(5), 0).has_value());
  questions.answer(answer(5, 1, 100));
  CHECK_FALSE(questions.take_answered(SliceId(5), 1).has_value());
  CHECK_FALSE(questions.take_answered(SliceId(6), 0).has_value());
  const auto told = questions.take_answered(SliceId(5), 0);
  REQUIRE(told.has_value());
  CHECK(told->bytes == 2 * kHeader + 300);
  CHECK(told->asked_ns == kSecond);
  CHECK(told->owed == 7);
  CHECK_FALSE(questions.take_answered(SliceId(5), 0).has_value());
  CHECK(questions.empty());
}

TEST_CASE("a range is answered by its own bytes, or by the report that none exist") {
  Questions questions;
  questions.ask(question(5, 1, 0));
  questions.ask(question(5, 1, 1000));
  questions.answer(answer(5, 1, 500, 1000));
  CHECK(questions.take_answered(SliceId(5), 1000).has_value());
  questions.answer(answer(5, 1, 0, 9999));
  CHECK(questions.take_answered(SliceId(5), 0).has_value());
}

TEST_CASE("one block answers all requests for its fragments, and shares its bytes among them") {
  Questions questions;
  questions.ask(question(5, 33));
  questions.ask(question(5, 31));
  questions.answer(answer(5, 31, 31'000));
  CHECK_FALSE(questions.take_answered(SliceId(5), 0).has_value());
  questions.answer(answer(5, 31, 31'000 - kHeader));
  const auto first = questions.take_answered(SliceId(5), 0);
  REQUIRE(first.has_value());
  CHECK(first->bytes == kHeader + 31'000 + 2000);
  questions.answer(answer(5, 2, 2000));
  const auto second = questions.take_answered(SliceId(5), 0);
  REQUIRE(second.has_value());
  CHECK(second->bytes == 29'000 + kHeader + 2000);
  CHECK(questions.empty());
}

TEST_CASE("surplus fragments answer no other slice's request") {
  Questions questions;
  questions.ask(question(5, 1));
  questions.ask(question(6, 1));
  questions.answer(answer(5, 4, 400));
  questions.answer(answer(7, 4, 400));
  CHECK(questions.take_answered(SliceId(5), 0).has_value());
  CHECK_FALSE(questions.empty());
  questions.answer(answer(6, 1, 100));
  CHECK(questions.empty());
}

TEST_CASE("unanswered requests do not hide the others forever, and their number is limited") {
  Questions questions;
  for (std::uint64_t slice = 1; slice <= 40; ++slice) questions.ask(question(slice, 1));
  questions.ask(question(99, 1));
  bool answered = false;
  for (int tries = 0; tries < 40 && !answered; ++tries) {
    questions.answer(answer(99, 1, 100));
    answered = questions.take_answered(SliceId(99), 0).has_value();
  }
  CHECK(answered);
  questions.clear();
  for (std::uint64_t slice = 1; slice <= Questions::kMax + 1; ++slice) questions.ask(question(slice, 1));
  questions.answer(answer(1, 1, 100));
  CHECK_FALSE(questions.take_answered(SliceId(1), 0).has_value());  // the oldest is forgotten
  questions.clear();
  CHECK(questions.empty());
}

TEST_CASE("data of a departed slice answers no request") {
  Questions questions;
  questions.ask(question(5, 1));
  questions.ask(question(6, 1));
  questions.forget(SliceId(5));
  questions.answer(answer(5, 1, 100));
  CHECK_FALSE(questions.take_answered(SliceId(5), 0).has_value());
  questions.answer(answer(6, 1, 100));
  CHECK(questions.take_answered(SliceId(6), 0).has_value());
}

}  // namespace weir::dcm
