#include "weir_catch.hpp"
#include <weir/telemetry/cause_limit.hpp>

#include <string>

using namespace weir;
using weir::telemetry::CauseLimit;

TEST_CASE("each cause has one line per interval, with the number of events since its last line") {
  CauseLimit limit;
  CHECK(limit.ask("signal 11", kSecond) == 1U);
  for (int i = 0; i < 400; ++i) CHECK_FALSE(limit.ask("signal 11", 2 * kSecond).has_value());
  CHECK(limit.ask("KeyError: 'x'", 2 * kSecond) == 1U);
  CHECK(limit.ask("signal 11", kSecond + CauseLimit::kInterval) == 401U);
}

TEST_CASE("numbers do not make causes, and the number of causes is limited") {
  CauseLimit limit;
  std::uint64_t lines = 0;
  for (int i = 0; i < 1000; ++i)
    lines += limit.ask("no slice " + std::to_string(i), kSecond).has_value() ? 1U : 0U;
  CHECK(lines == 1);
  for (int i = 0; i < 1000; ++i)
    lines +=
        limit.ask("cause " + std::string(static_cast<std::size_t>(i), 'x'), kSecond).has_value() ? 1U : 0U;
  CHECK(lines == CauseLimit::kCausesMax + 1);
}
