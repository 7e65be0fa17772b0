#include "records.hpp"
#include "weir_catch.hpp"
#include <weir/tap_client/slice_line.hpp>

using namespace weir;
using namespace weir::tap_client;

TEST_CASE("a sample's line of JSON gives ids and times of 64 bits as text, to the last digit") {
  constexpr std::uint64_t kHighestId = 4611686014132420607;  // not exactly representable as a double
  auto bytes = tap_client::test::make_record(kHighestId, 4, 5);
  const auto view = storage::parse_slice_record(bytes);
  REQUIRE(view);
  SampledSlice slice{"raw", "dcm-0", {}, *view, nullptr};
  slice.head.sequence = 9007199254740993;  // 2^53 + 1
  const std::string line = json_line(slice);
  CHECK_THAT(line, Catch::ContainsSubstring(R"("slice":"4611686014132420607")"));
  CHECK_THAT(line, Catch::ContainsSubstring(R"("time_utc_ns":"0")"));
  CHECK_THAT(line, Catch::ContainsSubstring(R"("sequence":"9007199254740993")"));
  CHECK_THAT(line, Catch::ContainsSubstring(R"("run":4,)"));
  CHECK_THAT(line, Catch::ContainsSubstring(R"("fragments":2,"missing":0,"bytes":"10")"));
  CHECK(line.find('\n') == std::string::npos);
}
