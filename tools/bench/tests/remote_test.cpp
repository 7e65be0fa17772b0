#include "weir_catch.hpp"
#include <weir/bench/remote.hpp>

#include <boost/json.hpp>

using namespace weir::bench;
using Catch::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

Line line(RemoteMode mode, double local_hz, double line_share) {
  return {{"mode", name(mode)}, {"local_hz", local_hz},   {"line_share", line_share}, {"arrived", 10},
          {"decided", 10},      {"fragments_missing", 0}, {"balanced", true}};
}

}  // namespace

TEST_CASE("a line of 100 Mb/s carries 11.77 MB/s of payload in full frames") {
  CHECK_THAT(line_bytes_per_s(100) / 1e6, WithinAbs(11.768, 0.001));
}

TEST_CASE("modes are summed up by medians, with the spread of the local rate") {
  const Lines lines{line(RemoteMode::idle, 100, 0), line(RemoteMode::busy, 99, 0.95),
                    line(RemoteMode::idle, 104, 0), line(RemoteMode::busy, 97, 0.91),
                    line(RemoteMode::idle, 101, 0), line(RemoteMode::busy, 98, 0.93)};
  const Lines medians = medians_by_mode(lines);
  REQUIRE(medians.size() == 2);
  CHECK(number_of(medians[0], "local_hz") == 101);
  CHECK_THAT(number_of(medians[0], "_local_spread"), WithinAbs(4.0 / 101, 1e-9));
  CHECK(number_of(medians[1], "local_hz") == 98);
  CHECK(number_of(medians[1], "line_share") == 0.93);
  const std::string page = remote_page(lines, {}, "a machine");
  CHECK_THAT(page, ContainsSubstring("| busy | 98.0 | 2.0 | -3.0 | 93.0 |"));
  CHECK_THAT(page, ContainsSubstring("60 of 60 forwarded slices were decided"));
  CHECK_THAT(page,
             ContainsSubstring("- met: the busy line carries at least 90 % of theory; measured 93.0 %"));
  CHECK_THAT(page, ContainsSubstring("- met: the local group's medians are within 3 %; measured 3.0 %"));
  const std::string worse =
      remote_page({line(RemoteMode::idle, 100, 0), line(RemoteMode::busy, 96, 0.89)}, {}, "a machine");
  CHECK_THAT(worse, ContainsSubstring("- not met: the busy line"));
  CHECK_THAT(worse, ContainsSubstring("- not met: the local group's medians"));
  RemoteOptions fetching;
  fetching.fetch = true;
  CHECK_THAT(remote_page(lines, fetching, "a machine"),
             ContainsSubstring("fetches whole from the local DCM"));
}
