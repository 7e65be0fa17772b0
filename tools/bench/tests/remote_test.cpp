#include "weir_catch.hpp"
#include <weir/bench/remote.hpp>

using namespace weir::bench;
using Catch::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

RemoteResult result(RemoteMode mode, double local_hz, double line_share) {
  RemoteResult one;
  one.mode = mode;
  one.local_hz = local_hz;
  one.line_share = line_share;
  one.arrived = one.decided = 10;
  one.balanced = true;
  return one;
}

}  // namespace

TEST_CASE("a line of 100 Mb/s carries 11.77 MB/s of payload in full frames") {
  CHECK_THAT(line_bytes_per_s(100) / 1e6, WithinAbs(11.768, 0.001));
}

TEST_CASE("modes are summed up by medians, with the spread of the local rate") {
  const std::vector<RemoteResult> results{
      result(RemoteMode::idle, 100, 0), result(RemoteMode::busy, 99, 0.95),
      result(RemoteMode::idle, 104, 0), result(RemoteMode::busy, 97, 0.91),
      result(RemoteMode::idle, 101, 0), result(RemoteMode::busy, 98, 0.93)};
  const std::vector<RemoteSummary> summaries = summaries_of(results);
  REQUIRE(summaries.size() == 2);
  CHECK(summaries[0].local_hz == 101);
  CHECK_THAT(summaries[0].local_spread, WithinAbs(4.0 / 101, 1e-9));
  CHECK(summaries[1].local_hz == 98);
  CHECK(summaries[1].line_share == 0.93);
  const std::string table = remote_table(results, {}, "a machine");
  CHECK_THAT(table, ContainsSubstring("| busy | 98.0 | 2.0 % | -3.0 % | 93.0 %"));
  CHECK_THAT(table, ContainsSubstring("60 of 60 forwarded slices were decided"));
  CHECK_THAT(table,
             ContainsSubstring("- met: the busy line carries at least 90 % of theory; measured 93.0 %"));
  CHECK_THAT(table, ContainsSubstring("- met: the local group's medians are within 3 %; measured 3.0 %"));
  const std::string worse =
      remote_table({result(RemoteMode::idle, 100, 0), result(RemoteMode::busy, 96, 0.89)}, {}, "a machine");
  CHECK_THAT(worse, ContainsSubstring("- NOT met: the busy line"));
  CHECK_THAT(worse, ContainsSubstring("- NOT met: the local group's medians"));
  RemoteOptions fetching;
  fetching.fetch = true;
  CHECK_THAT(remote_table(results, fetching, "a machine"),
             ContainsSubstring("fetches whole from the local DCM"));
}
