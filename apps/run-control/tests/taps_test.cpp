#include "../src/taps.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::TapWish wish(const std::string& id = "0123456789abcdef") {
  v1::TapWish wish;
  wish.set_id(id);
  wish.add_streams("accepted");
  return wish;
}

}  // namespace

TEST_CASE("a tap request goes to the DCMs in the run, and its answer names the address of the samples") {
  test::SmallFarm farm;
  farm.join_all();
  Taps taps(farm.parts, 71, farm.outbox());
  v1::TapPlace place;
  CHECK(taps.take(wish(), place).empty());
  CHECK(place.dcms() == 0);
  farm.runs("dcm-0", 1);
  farm.runs("writer-0", 1);
  place.Clear();
  CHECK(taps.take(wish(), place).empty());
  CHECK(place.dcms() == 1);
  CHECK(place.subscribe_port() == 71);
  CHECK(place.tags_size() == 1);
  CHECK(farm.sent.back().first == "of dcm-0");
  CHECK(farm.sent.back().second.tap().lease_ms() == place.lease_ms());
}

TEST_CASE("an invalid tap request is refused with a remedy, and so is one too many") {
  test::SmallFarm farm(RunBook::Keeper::self, "tap: {taps_max: 1}\n");
  Taps taps(farm.parts, 71, farm.outbox());
  v1::TapPlace place;
  CHECK_THAT(taps.take(wish("me"), place), ContainsSubstring("16 hex digits"));
  v1::TapWish none = wish();
  none.clear_streams();
  CHECK_THAT(taps.take(none, place), ContainsSubstring("no stream given"));
  none.add_streams("rare");
  CHECK_THAT(taps.take(none, place), ContainsSubstring("'rare'"));
  CHECK(taps.take(wish(), place).empty());
  CHECK_THAT(taps.take(wish("fedcba9876543210"), place), ContainsSubstring("tap.taps_max"));
  v1::TapWish end = wish();
  end.set_ends(true);
  CHECK(taps.take(end, place).empty());
  CHECK(taps.take(wish("fedcba9876543210"), place).empty());
}
