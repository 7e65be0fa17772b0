#include "../src/recent_rates.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {

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
}

TEST_CASE("forgotten rates no longer count") {
  RecentRates rates;
  rates.note(5);
  rates.forget();
  CHECK(rates.seen() == 0);
  CHECK(rates.full() == 0);
  CHECK(rates.best_of(4) == 0);
  rates.note(1);
  CHECK(rates.full() == 1);
}

}  // namespace weir::shaping
