#include "../src/lost_readouts.hpp"

#include "weir_catch.hpp"

using weir::dcm::LostReadouts;

namespace {

constexpr std::uint32_t kReadouts = 3;

}  // namespace

TEST_CASE("a lost readout is waited for until the farm declares it missing") {
  LostReadouts lost(kReadouts);
  CHECK_FALSE(lost.is_waited_for(1));
  lost.set_lost(1, true);
  lost.set_lost(1, true);
  CHECK(lost.all() == std::vector<std::uint32_t>{1});
  CHECK(lost.is_waited_for(1));
  CHECK_FALSE(lost.is_to_be_given_up(1));
  lost.set_verdict({true, true, false}, false);
  CHECK(lost.is_to_be_given_up(1));
  CHECK_FALSE(lost.is_to_be_given_up(0));  // missing, and this DCM reaches it
  lost.give_up(1);
  CHECK(lost.any_given_up());
  CHECK_FALSE(lost.is_to_be_given_up(1));
  CHECK_FALSE(lost.is_waited_for(1));
}

TEST_CASE("a readout that was given up returns with its connection, with data, or with another verdict") {
  LostReadouts lost(kReadouts);
  lost.set_lost(2, true);
  lost.set_verdict({true, true, true}, false);
  lost.give_up(2);
  SECTION("connection") { lost.connected(2); }
  SECTION("heard") { lost.set_lost(2, false); }
  SECTION("verdict") { lost.set_verdict({true, true, false}, false); }
  SECTION("part in the run") { lost.forget_verdict(2); }
  CHECK_FALSE(lost.is_given_up(2));
  CHECK_FALSE(lost.any_given_up());
}

TEST_CASE("slices are looked through once for each change, and only by a DCM that is cut off") {
  LostReadouts lost(kReadouts);
  lost.note_work();
  CHECK_FALSE(lost.take_look());
  lost.set_verdict({false, false, false}, true);
  CHECK(lost.take_look());
  CHECK_FALSE(lost.take_look());
  lost.note_work();
  CHECK(lost.take_look());
  lost.set_lost(0, true);
  CHECK(lost.take_look());
}
