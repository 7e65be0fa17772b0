#include "../src/loss_log.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {

using Due = LossLog::Due;

TEST_CASE("a loss is logged once, after the time in which the end of a run arrives") {
  LossLog log;
  CHECK(log.look(false, false, 0) == Due::nothing);
  CHECK(log.look(true, true, 0) == Due::nothing);
  log.lost("readout lost", kSecond);
  CHECK(log.look(false, false, kSecond + 100 * kMillisecond) == Due::nothing);
  CHECK(log.look(false, false, 2 * kSecond) == Due::loss);
  CHECK(log.what() == "readout lost");
  CHECK(log.look(false, false, 3 * kSecond) == Due::nothing);
}

TEST_CASE("a peer that ends first at a run's end is not lost") {
  LossLog log;
  log.lost("writer lost", kSecond);
  CHECK(log.look(false, false, kSecond + kMillisecond) == Due::nothing);
  CHECK(log.look(true, false, kSecond + 2 * kMillisecond) == Due::end_of_run);
  CHECK(log.look(true, false, 2 * kSecond) == Due::nothing);
}

TEST_CASE("a peer that reconnects immediately was lost nevertheless") {
  LossLog log;
  log.lost("writer lost", kSecond);
  CHECK(log.look(false, true, kSecond + kMillisecond) == Due::loss);
}

}  // namespace weir::dcm
