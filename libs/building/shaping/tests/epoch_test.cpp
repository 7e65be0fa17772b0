#include "../src/epoch.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {

TEST_CASE("an epoch without time has no rate, and one without answers no quantile") {
  Epoch epoch;
  CHECK(epoch.rate() == 0);
  CHECK(epoch.quantile(0.5) == 0);
  epoch.limited_ns = 2000;
  epoch.bytes = 500;
  CHECK(epoch.rate() == 0.25);
  epoch = {};
  CHECK(epoch.rate() == 0);
}

TEST_CASE("quantiles are of the answers that were noted, the latest ones where there are too many") {
  Epoch epoch;
  for (std::uint32_t i = 0; i < 101; ++i) epoch.times_us10[epoch.responses++] = 100 - i;
  CHECK(epoch.quantile(0) == 0);
  CHECK(epoch.quantile(0.5) == 50 * 100);
  CHECK(epoch.quantile(1) == 100 * 100);
  epoch.times_us10.fill(7);
  epoch.responses = 10'000;
  CHECK(epoch.quantile(0.05) == 700);
}

TEST_CASE("the full rate is a high one of late, not the highest") {
  RecentRates rates;
  CHECK(rates.full() == 0);
  rates.note(0.5);
  CHECK(rates.full() == 0.5);
  for (int i = 0; i < 30; ++i) rates.note(0.1);
  rates.note(0.9);  // after an idle moment
  CHECK(rates.full() == 0.1);
  for (int i = 0; i < 8; ++i) rates.note(0.2);  // a quarter of them
  CHECK(rates.full() == 0.2);
}

TEST_CASE("the best rate is of so many epochs, the latest ones") {
  RecentRates rates;
  CHECK(rates.best_of(4) == 0);
  for (std::size_t i = 0; i < 2 * tuning::kMany; ++i) rates.note(static_cast<double>(i));
  rates.note(3);
  rates.note(2);
  CHECK(rates.best_of(1) == 2);
  CHECK(rates.best_of(2) == 3);
  CHECK(rates.best_of(3) == 2 * tuning::kMany - 1);
  CHECK(rates.best() == 2 * tuning::kMany - 1);
  for (std::size_t i = 0; i < tuning::kMany; ++i) rates.note(1);
  CHECK(rates.best() == 1);
}

TEST_CASE("forgotten rates no longer count") {
  RecentRates rates;
  rates.note(5);
  rates.forget();
  CHECK(rates.seen() == 0);
  CHECK(rates.full() == 0);
  CHECK(rates.best_of(4) == 0);
  CHECK(rates.best() == 0);
  rates.note(1);
  CHECK(rates.full() == 1);
}

}  // namespace weir::shaping
