#include "weir_catch.hpp"
#include <weir/slice_rows/trigger_file.hpp>

using namespace weir;
using namespace weir::slice_rows;

TEST_CASE("a trigger file gives slice, time, type and payload, and comments are ignored") {
  const auto triggers = parse_trigger_file(
      "# a run\n"
      "0 1700000000000000000\n"
      "\n"
      "  7\t-5  3   00ffA5  # the third\r\n"
      "8 1 2",
      "x.txt");
  REQUIRE(triggers);
  REQUIRE(triggers->size() == 3);
  CHECK((*triggers)[0].slice == SliceId(0));
  CHECK((*triggers)[0].time == 1'700'000'000'000'000'000);
  CHECK((*triggers)[0].type == TriggerType(0));
  CHECK((*triggers)[1].slice == SliceId(7));
  CHECK((*triggers)[1].time == -5);
  CHECK((*triggers)[1].payload == std::vector<std::byte>{std::byte{0}, std::byte{0xff}, std::byte{0xa5}});
  CHECK((*triggers)[2].type == TriggerType(2));
}

TEST_CASE("a bad line of a trigger file is reported with file, line and problem") {
  const auto error = [](std::string_view text) {
    const auto triggers = parse_trigger_file(text, "run.trg");
    REQUIRE_FALSE(triggers);
    return triggers.error();
  };
  CHECK(error("0 1\nx 2\n") == "run.trg:2: the slice number 'x' is not a whole number from 0 on");
  CHECK(error("-1 1") == "run.trg:1: the slice number '-1' is not a whole number from 0 on");
  CHECK(error("4611686018427387904 1") ==
        "run.trg:1: the slice number '4611686018427387904' is larger than 2^62 - 2^32 - 1");
  CHECK(error("1\n") == "run.trg:1: the time in ns is missing after the slice number");
  CHECK(error("1 1.5") == "run.trg:1: the time '1.5' is not a whole number of ns");
  CHECK(error("1 1 -2") == "run.trg:1: the type '-2' is not a number from 0 to 2^32 - 1");
  CHECK(error("1 1 2 abc") == "run.trg:1: the payload 'abc' is not an even number of hexadecimal digits");
  CHECK(error("1 1 2 0g") == "run.trg:1: the payload '0g' is not an even number of hexadecimal digits");
  CHECK(error("1 1 2 00 x") == "run.trg:1: nothing may follow the payload, but 'x' does");
  CHECK(error("5 1\n# c\n4 1\n5 2") == "run.trg:4: slice 5 is in the file twice");
  CHECK_THAT(error(std::string(100, '\x01')), Catch::ContainsSubstring("'????"));
}

TEST_CASE("slice numbers of a trigger file may descend, and the first that does is found") {
  const auto triggers = parse_trigger_file("65536 1\n131072 1\n7 1\n6 1\n", "x");
  REQUIRE(triggers);
  CHECK(first_descending(*triggers) == 2);
  CHECK_FALSE(first_descending(parse_trigger_file("1 1\n9 1\n", "x").value()));
  CHECK_FALSE(first_descending({}));
}

TEST_CASE("a byte order mark at the beginning of a trigger file is passed over, and only there") {
  const auto triggers = parse_trigger_file(
      "\xEF\xBB\xBF"
      "3 1\r\n4 2\r\n",
      "run.trg");
  REQUIRE(triggers);
  REQUIRE(triggers->size() == 2);
  CHECK((*triggers)[0].slice == SliceId(3));
  const auto commented = parse_trigger_file("\xEF\xBB\xBF# slice time\n3 1\n", "run.trg");
  REQUIRE(commented);
  CHECK(commented->size() == 1);
  const auto alone = parse_trigger_file("\xEF\xBB\xBF", "run.trg");
  REQUIRE(alone);
  CHECK(alone->empty());
  const auto later = parse_trigger_file(
      "3 1\n\xEF\xBB\xBF"
      "4 2\n",
      "run.trg");
  REQUIRE_FALSE(later);
  CHECK(later.error() == "run.trg:2: the slice number '???4' is not a whole number from 0 on");
}

TEST_CASE("an empty trigger file has no triggers") {
  const auto triggers = parse_trigger_file("\n# nothing\n", "x");
  REQUIRE(triggers);
  CHECK(triggers->empty());
}
