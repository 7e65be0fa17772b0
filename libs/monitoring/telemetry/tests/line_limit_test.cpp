#include "weir_catch.hpp"
#include <weir/telemetry/line_limit.hpp>

using namespace weir;
using weir::telemetry::LineLimit;

TEST_CASE("a few lines in ten seconds are written, and the next one says how many were left out") {
  LineLimit limit;
  for (std::uint64_t i = 0; i < LineLimit::kLinesMax; ++i) CHECK(limit.ask(kSecond) == 0U);
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(limit.ask(2 * kSecond).has_value());
  CHECK(limit.ask(kSecond + LineLimit::kInterval) == 1000U);
  CHECK(limit.ask(kSecond + LineLimit::kInterval) == 0U);
}
