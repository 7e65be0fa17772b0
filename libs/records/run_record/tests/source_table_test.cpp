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
  CHECK(object.at("fairness").to_number<double>() == Approx(0.5));         // one of two sources has all bytes
  CHECK(object.at("delivery_fairness").to_number<double>() == Approx(1));  // of those that were requested
  CHECK(object.at("rows").at(0).at("missing").at("deadline").to_number<int>() == 4000);
}

TEST_CASE("groups with sources that lose fragments are listed, those with most of them first") {
  const auto row = [](std::uint32_t source, std::uint64_t missing) {
    reports::SourceRow one;
    one.source = SourceId(source);
    one.received = 100;
    if (missing > 0) one.missing = {{"deadline", missing}};
    return one;
  };
  v1::SourceCounts counts;
  reports::put_sources(std::vector{row(1, 5), row(2, 0), row(3, 7), row(4, 1), row(5, 0)}, 5, counts);
  const std::vector<config::SourceGroupPlan> groups = {{"line-1", {SourceId(1), SourceId(2)}},
                                                       {"line-2", {SourceId(3), SourceId(4)}},
                                                       {"line-3", {SourceId(5)}}};
  CHECK(boost::json::serialize(run_record::losing_groups(counts, groups)) ==
        R"([{"name":"line-2","sources":2,"losing":2,"missing":8},)"
        R"({"name":"line-1","sources":2,"losing":1,"missing":5}])");
  CHECK(run_record::losing_groups(counts, {}).empty());
}

TEST_CASE("what sources deliver is fair without losses, whatever their sizes, and unfair if one loses") {
  const auto row = [](std::uint32_t source, std::uint64_t received, std::uint64_t bytes) {
    reports::SourceRow one;
    one.source = SourceId(source);
    one.received = received;
    one.bytes = bytes;
    return one;
  };
  std::vector<reports::SourceRow> rows{row(1, 100, 100), row(2, 100, 900)};
  const auto counts = [&rows] {
    v1::SourceCounts made;
    reports::put_sources(rows, rows.size(), made);
    return made;
  };
  CHECK(run_record::byte_fairness(counts()) == Approx(1000.0 * 1000 / (2 * (100.0 * 100 + 900.0 * 900))));
  CHECK(run_record::delivery_fairness(counts()) == Approx(1));
  rows[0].missing = {{"removed", 900}, {"not_produced", 900}};  // never existed
  CHECK(run_record::delivery_fairness(counts()) == Approx(1));
  rows[0].missing = {{"deadline", 300}};  // a quarter arrives
  CHECK(run_record::delivery_fairness(counts()) == Approx(1.25 * 1.25 / (2 * (0.0625 + 1))));
  CHECK(run_record::delivery_fairness({}) == 0);
}
