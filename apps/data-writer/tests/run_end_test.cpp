#include "../src/run_end.hpp"

#include "broken_invariant.hpp"
#include "weir_catch.hpp"

namespace weir::writer {
namespace {

constexpr TimeNs kStart = 100 * kSecond;
constexpr DurationNs kDrain = 30 * kSecond;

}  // namespace

TEST_CASE("a writer's end passes through its phases in one order only") {
  const auto follows = [](EndPhase from, EndPhase to) {
    if (from == EndPhase::closing) return to == EndPhase::closed || to == EndPhase::given_up;
    return from < EndPhase::closing && static_cast<std::size_t>(to) == static_cast<std::size_t>(from) + 1;
  };
  for (std::size_t i = 0; i < kEndPhases; ++i) {
    for (std::size_t j = 0; j < kEndPhases; ++j) {
      const auto from = static_cast<EndPhase>(i);
      const auto to = static_cast<EndPhase>(j);
      CHECK(kEndTransitions.allow(from, to) == follows(from, to));
    }
  }
}

TEST_CASE("a writer that is told to end waits for reports on its copies, but not forever") {
  WriterRunEnd end;
  CHECK_FALSE(end.may_close(false, kStart));
  end.tell(kStart);
  CHECK(end.may_close(false, kStart));
  CHECK_FALSE(end.may_close(true, kStart + WriterRunEnd::kPatience - 1));
  CHECK(end.may_close(true, kStart + WriterRunEnd::kPatience));
  end.close(kStart, kDrain);
  CHECK_FALSE(end.may_close(false, kStart + kDrain));  // once
}

TEST_CASE("closing is given up once if the disk blocks for too long, and only then") {
  WriterRunEnd end;
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

TEST_CASE("a writer with closed files waits for their commands, within their limit") {
  constexpr DurationNs kCommands = 3600 * kSecond;
  WriterRunEnd end;
  end.tell(kStart);
  end.close(kStart, kDrain);
  CHECK_FALSE(end.is_over(false, kStart + kDrain));
  end.closed(kStart, kCommands);
  CHECK(end.is_over(false, kStart));
  CHECK_FALSE(end.is_over(true, kStart + kCommands - 1));
  CHECK(end.is_over(true, kStart + kCommands));
}

TEST_CASE("a writer does not close its files before it is told to end") {
  const auto broken = [] {
    WriterRunEnd end;
    end.close(kStart, kDrain);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: kEndTransitions.allow(phase_, to)"));
}

}  // namespace weir::writer
