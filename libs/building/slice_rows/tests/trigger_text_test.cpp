#include "weir_catch.hpp"
#include <weir/slice_rows/trigger_text.hpp>

using namespace weir;
using namespace weir::slice_rows;

namespace {

std::string error(std::string_view line) {
  const auto request = parse_trigger_text(line);
  REQUIRE_FALSE(request);
  return request.error();
}

}  // namespace

TEST_CASE("a line of text gives a trigger with every word, in any order") {
  constexpr std::string_view line =
      "trigger  n=17 data=00fFa5 client=tlu-1 type=3 time=-5 session=18446744073709551615 slice=7 mac=ab12\r";
  const auto request = parse_trigger_text(line);
  REQUIRE(request);
  CHECK(request->kind == TextRequest::Kind::trigger);
  CHECK(request->slice == SliceId(7));
  CHECK(request->time == -5);
  CHECK(request->type == TriggerType(3));
  CHECK(request->payload == std::vector<std::byte>{std::byte{0}, std::byte{0xff}, std::byte{0xa5}});
  CHECK(request->number.client == "tlu-1");
  CHECK(request->number.session == UINT64_MAX);
  CHECK(request->number.number == 17);
  CHECK(request->mac == "ab12");
  CHECK(request->signed_part == line.substr(0, line.size() - 10));
}

TEST_CASE("a trigger without words takes the next id now, and comments have no answer") {
  const auto plain = parse_trigger_text("trigger");
  REQUIRE(plain);
  CHECK(plain->kind == TextRequest::Kind::trigger);
  CHECK_FALSE(plain->slice);
  CHECK(plain->number.number == 0);
  CHECK(plain->signed_part == "trigger");
  for (const std::string_view line : {"", "  ", "\r", "# a remark"})
    CHECK(parse_trigger_text(line)->kind == TextRequest::Kind::nothing);
  CHECK(parse_trigger_text("hello")->kind == TextRequest::Kind::hello);
}

TEST_CASE("a wrong line is refused with the word and its proper value") {
  CHECK(error("triger") == "request 'triger' is unknown: send `trigger` or `hello`");
  CHECK(error("hello you") == "request 'hello' is unknown: send `trigger` or `hello`");
  CHECK(error("trigger slice=4611686014132420609") ==
        "'slice=4611686014132420609' is not slice= and a whole number from 0 to 2^62 - 2^32 - 1");
  CHECK(parse_trigger_text("trigger slice=4611686014132420607"));
  CHECK(error("trigger time=now") == "'time=now' is not time= and a whole number of ns since 1970");
  CHECK(error("trigger time=") == "'time=' is not time= and a whole number of ns since 1970");
  CHECK(error("trigger type=-1") == "'type=-1' is not type= and a whole number from 0 to 2^32 - 1");
  CHECK(error("trigger data=0") == "'data=0' is not data= and pairs of hexadecimal digits, up to 4000 bytes");
  CHECK(error("trigger data=" + std::string(8002, '0')).find("up to 4000 bytes") != std::string::npos);
  CHECK(error("trigger client=a session=1 n=0") == "'n=0' is not n= and a whole number from 1 on");
  CHECK(error("trigger client=a/b session=1 n=1") ==
        "'client=a/b' is not client= and up to 64 letters, digits, '.', '_', '-'");
  CHECK(error("trigger n=1 n=1 client=a session=1") == "word n= occurs twice: send it once");
  CHECK(error("trigger slices=1").find("'slices=1' is unknown") != std::string::npos);
  CHECK(error("trigger 17").find("'17' is unknown") != std::string::npos);
  CHECK(error("trigger mac=00 slice=1") == "'slice=1' follows mac=, which must be the last word");
  CHECK(error("trigger \tslice=1").find("printable ASCII") != std::string::npos);
  CHECK(error("trigger " + std::string(8192, ' ')) == "line longer than 8192 bytes: send less `data`");
  for (const std::string_view part : {"client=a", "session=1", "n=1", "client=a n=1", "session=1 n=2"})
    CHECK(error("trigger " + std::string(part)) ==
          "client=, session= and n= come together: one of them is missing");
}

TEST_CASE("an answer is one line that repeats the trigger's number") {
  const TriggerNumber number{"tlu", 5, 17};
  CHECK(to_text({true, SliceId(3)}, {}) == "taken 3\n");
  CHECK(to_text({true, SliceId(3)}, number) == "taken 3 n=17 session=5\n");
  CHECK(to_text({false, {}, VetoReason::throttled}, number) == "busy throttled n=17 session=5\n");
  CHECK(to_text({}, {}) == "busy not_running\n");
  CHECK(error_text("mac", number) == "error mac n=17 session=5\n");
}
