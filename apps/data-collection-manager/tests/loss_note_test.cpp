#include "../src/loss_note.hpp"

#include "weir_catch.hpp"

namespace weir::dcm {

using Say = LossNote::Say;

TEST_CASE("a loss is told of once, after the time in which a run's end is heard") {
  LossNote note;
  CHECK(note.look(false, false, 0) == Say::nothing);
  CHECK(note.look(true, true, 0) == Say::nothing);
  note.lost("readout lost", kSecond);
  CHECK(note.look(false, false, kSecond + 100 * kMillisecond) == Say::nothing);
  CHECK(note.look(false, false, 2 * kSecond) == Say::loss);
  CHECK(note.what() == "readout lost");
  CHECK(note.look(false, false, 3 * kSecond) == Say::nothing);
}

TEST_CASE("who ends first at a run's end is not lost") {
  LossNote note;
  note.lost("writer lost", kSecond);
  CHECK(note.look(false, false, kSecond + kMillisecond) == Say::nothing);
  CHECK(note.look(true, false, kSecond + 2 * kMillisecond) == Say::in_order);
  CHECK(note.look(true, false, 2 * kSecond) == Say::nothing);
}

TEST_CASE("who is back at once was lost all the same") {
  LossNote note;
  note.lost("writer lost", kSecond);
  CHECK(note.look(false, true, kSecond + kMillisecond) == Say::loss);
}

}  // namespace weir::dcm
