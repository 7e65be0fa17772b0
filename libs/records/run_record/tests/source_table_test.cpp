#include "weir_catch.hpp"
#include <weir/reports/source_counts.hpp>
#include <weir/run_record/source_table.hpp>

#include <boost/json.hpp>

using namespace weir;
using Catch::ContainsSubstring;

TEST_CASE("the table of sources has the missing fragments by reason, and the time of the last one") {
  reports::SourceRow bad;
  bad.source = SourceId(17);
  bad.readout = "readout-3";
  bad.received = 1200;
  bad.bytes = 64'000;
  bad.seen_utc_ms = 3'661'000;
  bad.missing = {{"deadline", 4000}, {"gap", 2}};
  bad.dropped = {{"late", 3}};
  reports::SourceRow never;
  never.source = SourceId(18);
  never.readout = "readout-3";
  v1::SourceCounts counts;
  reports::put_sources(std::vector{bad, never}, 5, counts);
  counts.add_incomplete("dcm-1");
  const std::string text = run_record::sources_text(counts);
  CHECK_THAT(text, ContainsSubstring("17  readout-3"));
  CHECK_THAT(text, ContainsSubstring("01:01:01 UTC"));
  CHECK_THAT(text, ContainsSubstring("deadline 4 000, gap 2, dropped late 3"));
  CHECK_THAT(text, ContainsSubstring("never"));
  CHECK_THAT(text, ContainsSubstring("3 further sources"));
  CHECK_THAT(text, ContainsSubstring("dcm-1 ended before its final report"));
  const boost::json::object object = run_record::sources_json(counts);
  CHECK(object.at("left_out").to_number<int>() == 3);
  CHECK(object.at("fairness").to_number<double>() == Approx(0.5));  // one of two sources has all bytes
  CHECK(object.at("rows").at(0).at("missing").at("deadline").to_number<int>() == 4000);
}

TEST_CASE("fairness is 1 for equal bytes, the share of those that have any, and 0 without bytes") {
  using run_record::fairness_of;
  CHECK(fairness_of(std::vector<std::uint64_t>{7, 7, 7, 7}) == Approx(1));
  CHECK(fairness_of(std::vector<std::uint64_t>{9, 0, 0, 0}) == Approx(0.25));
  CHECK(fairness_of(std::vector<std::uint64_t>{5, 5, 0, 0}) == Approx(0.5));
  // Four sources with 48 and two with 96 (mixed traffic, figure 11).
  CHECK(fairness_of(std::vector<std::uint64_t>{48, 48, 48, 48, 96, 96}) == Approx(8.0 / 9));
  CHECK(fairness_of(std::vector<std::uint64_t>{0, 0}) == 0);
  CHECK(fairness_of({}) == 0);
}
