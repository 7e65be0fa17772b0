#include "../src/run_end.hpp"

#include "weir_catch.hpp"

namespace weir::writer {
namespace {

constexpr TimeNs kStart = 100 * kSecond;
constexpr DurationNs kDrain = 30 * kSecond;

}  // namespace

TEST_CASE("a writer's end goes one way only, one phase after the other") {
  for (std::size_t from = 0; from < kEndPhases; ++from) {
    for (std::size_t to = 0; to < kEndPhases; ++to)
      CHECK(kEndTransitions.allow(static_cast<EndPhase>(from), static_cast<EndPhase>(to)) ==
            (to == from + 1));
  }
}

TEST_CASE("a writer that is told to end waits for the word on its copies, and not for ever") {
  RunEnd end;
  CHECK_FALSE(end.may_close(false, kStart));
  end.tell(kStart);
  CHECK(end.may_close(false, kStart));
  CHECK_FALSE(end.may_close(true, kStart + RunEnd::kPatience - 1));
  CHECK(end.may_close(true, kStart + RunEnd::kPatience));
  end.close(kStart, kDrain);
  CHECK_FALSE(end.may_close(false, kStart + kDrain));  // once
}

TEST_CASE("closing is given up where the disk takes nothing for too long, once, and nowhere else") {
  RunEnd end;
  CHECK_FALSE(end.is_in_vain(true, 2 * kStart));
  end.tell(kStart);
  CHECK_FALSE(end.is_in_vain(true, 2 * kStart));
  end.close(kStart, kDrain);
  CHECK_FALSE(end.is_in_vain(true, kStart + kDrain - 1));
  CHECK_FALSE(end.is_in_vain(false, kStart + kDrain));  // slow, and on its way
  REQUIRE(end.is_in_vain(true, kStart + kDrain));
  end.give_up();
  CHECK(end.phase() == EndPhase::given_up);
  CHECK_FALSE(end.is_in_vain(true, kStart + kDrain));
}

}  // namespace weir::writer
