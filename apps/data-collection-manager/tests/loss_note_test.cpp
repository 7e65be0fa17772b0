#include "../src/loss_note.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {

using Due = LossNote::Due;

TEST_CASE("a loss is logged once, after the time in which the end of a run arrives") {
  LossNote note;
  CHECK(note.look(false, false, 0) == Due::nothing);
  CHECK(note.look(true, true, 0) == Due::nothing);
  note.lost("readout lost", kSecond);
  CHECK(note.look(false, false, kSecond + 100 * kMillisecond) == Due::nothing);
  CHECK(note.look(false, false, 2 * kSecond) == Due::loss);
  CHECK(note.what() == "readout lost");
  CHECK(note.look(false, false, 3 * kSecond) == Due::nothing);
}

TEST_CASE("a peer that ends first at a run's end is not lost") {
  LossNote note;
  note.lost("writer lost", kSecond);
  CHECK(note.look(false, false, kSecond + kMillisecond) == Due::nothing);
  CHECK(note.look(true, false, kSecond + 2 * kMillisecond) == Due::end_of_run);
  CHECK(note.look(true, false, 2 * kSecond) == Due::nothing);
}

TEST_CASE("a peer that reconnects immediately was lost nevertheless") {
  LossNote note;
  note.lost("writer lost", kSecond);
  CHECK(note.look(false, true, kSecond + kMillisecond) == Due::loss);
}

}  // namespace weir::dcm
