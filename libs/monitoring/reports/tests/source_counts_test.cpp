#include "weir_catch.hpp"
#include <weir/reports/source_counts.hpp>

using namespace weir;
using namespace weir::reports;

namespace {

SourceRow row(std::uint32_t source, std::uint64_t received, std::map<std::string, std::uint64_t> missing,
              std::int64_t seen_utc_ms = 1000) {
  SourceRow row;
  row.source = SourceId(source);
  row.received = received;
  row.bytes = 10 * received;
  row.seen_utc_ms = seen_utc_ms;
  row.missing = std::move(missing);
  return row;
}

v1::Report report(v1::Role role, const std::string& name, const std::vector<SourceRow>& rows,
                  std::size_t sources) {
  v1::Report report;
  report.set_role(role);
  report.set_name(name);
  put_sources(rows, sources, *report.mutable_sources());
  return report;
}

std::unordered_map<std::uint32_t, std::string> farm(std::uint32_t sources) {
  std::unordered_map<std::uint32_t, std::string> readouts;
  for (std::uint32_t i = 0; i < sources; ++i) readouts[i] = "readout-" + std::to_string(i / 2);
  return readouts;
}

}  // namespace

TEST_CASE("the counts of a source are those of all processes, those with the highest loss first") {
  const auto readouts = farm(4);
  SourceSums sums(readouts);
  sums.add(report(v1::ROLE_DCM, "dcm-0", {row(3, 10, {{"deadline", 2}}), row(1, 12, {}), row(0, 12, {})}, 3),
           false);
  v1::Report other =
      report(v1::ROLE_DCM, "dcm-1", {row(3, 5, {{"gap", 1}}, 2000), row(0, 1, {{"not_produced", 90}})}, 2);
  sums.add(other, true);
  SourceRow made;
  made.source = SourceId(3);
  made.produced = 15;
  made.dropped = {{"late", 2}};
  sums.add(report(v1::ROLE_READOUT, "readout-1", {made}, 1), false);
  sums.add(report(v1::ROLE_WRITER, "writer-0", {row(2, 1, {})}, 1), false);
  v1::SourceCounts out;
  sums.write(out);
  const std::vector<SourceRow> rows = source_rows(out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].source == SourceId(3));
  CHECK(rows[0].readout == "readout-1");
  CHECK(rows[0].received == 15);
  CHECK(rows[0].bytes == 150);
  CHECK(rows[0].produced == 15);
  CHECK(rows[0].lost() == 3);
  CHECK(rows[0].missing == std::map<std::string, std::uint64_t>{{"deadline", 2}, {"gap", 1}});
  CHECK(rows[0].dropped == std::map<std::string, std::uint64_t>{{"late", 2}});
  CHECK(rows[0].seen_utc_ms == 2000);
  CHECK(rows[1].source == SourceId(0));  // 90 that were never produced are no loss
  CHECK(rows[1].lost() == 0);
  CHECK(out.losing() == 2);
  CHECK(out.left_out() == 1);
  CHECK(out.incomplete_size() == 1);
  CHECK(out.incomplete(0) == "dcm-1");
  CHECK_FALSE(out.partial());
}

TEST_CASE("a report has the worst sources of a hundred thousand, and says how many it leaves out") {
  constexpr std::size_t kSources = 100'000;
  std::vector<SourceRank> ranks;
  for (std::size_t place = 0; place < kSources; ++place)
    ranks.push_back({place % 1000 == 7 ? place : 0, place % 2, place});
  const std::vector<std::size_t> worst = worst_sources(ranks);
  REQUIRE(worst.size() == kSourceRowsMax);
  CHECK(worst.front() == kSources - 1000 + 7);
  CHECK(worst[99] == 7);
  CHECK(worst[100] == 1);  // then those without a loss that lack fragments, in their order
  CHECK(worst[101] == 3);
  std::vector<SourceRow> rows;
  for (const std::size_t place : worst)
    rows.push_back(row(static_cast<std::uint32_t>(place), 1, {{"gap", place}}));
  v1::Report first = report(v1::ROLE_DCM, "dcm-0", rows, kSources);
  first.mutable_sources()->set_losing(60'000);
  CHECK(first.sources().left_out() == kSources - kSourceRowsMax);
  CHECK(first.ByteSizeLong() < 32'000);
  const auto readouts = farm(kSources);
  SourceSums sums(readouts);
  sums.add(first, false);
  v1::SourceCounts out;
  sums.write(out);
  CHECK(out.partial());
  CHECK(out.losing() == 60'000);
  CHECK(worst_source(out) == "source 99007 at readout-49503");
  const std::vector<std::string> lines = worst_lines(out, 2);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] ==
        "source 99007 at readout-49503: 99 007 of 99 008 fragments missing (gap 99 007), last seen 00:00:01 "
        "UTC");
  CHECK(lines[2] == "and 59 998 other sources with missing fragments");
}

TEST_CASE("columns and places that are too short or out of range cost their own numbers only") {
  v1::SourceCounts counts;
  counts.add_source(1);
  counts.add_source(2);
  counts.add_received(5);
  counts.add_readout(7);
  counts.add_readout(UINT32_MAX);
  v1::SourceCounts::Reason& reason = *counts.add_missing();
  reason.set_name("gap");
  reason.add_row(9);
  reason.add_row(1);
  reason.add_row(0);
  reason.add_count(1);
  reason.add_count(2);
  v1::SourceCounts::Reason& strange = *counts.add_missing();
  strange.set_name("\x1b[31mred");
  strange.add_row(0);
  strange.add_count(3);
  const std::vector<SourceRow> rows = source_rows(counts);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].received == 5);
  CHECK(rows[1].received == 0);
  CHECK(rows[1].missing_in_all() == 2);
  CHECK(rows[0].missing_in_all() == 0);
  CHECK(rows[0].readout.empty());
  CHECK(time_of_day(0) == "never");
}

TEST_CASE("a source's missing fragments are judged over all DCMs, without fragments that never existed") {
  const auto readouts = farm(4);
  LossWatch losses(0.05);
  const auto judged = [&](const std::map<std::string, std::uint64_t>& each, bool on_purpose = false) {
    SourceSums sums(readouts);
    for (int dcm = 0; dcm < 12; ++dcm)
      sums.add(report(v1::ROLE_DCM, "dcm-" + std::to_string(dcm), {row(2, 3, each)}, 4), false);
    v1::SourceCounts out;
    sums.write(out);
    for (const SourceRow& one : source_rows(out)) note_missing(one, on_purpose, losses);
    return losses.faults();
  };
  using Faults = std::vector<std::string>;
  CHECK(judged({{"not_produced", 9}, {"masked", 2}, {"removed", 2}}).empty());
  CHECK(judged({{"deadline", 1}}) ==
        Faults{"source 2: 12 of 48 requested fragments are missing (deadline 12)"});  // one in each DCM
  CHECK(judged({{"deadline", 1}, {"gap", 1}}, true).empty());
  CHECK(judged({{"source_down", 1}, {"gap", 1}}, true) ==
        Faults{"source 2: 12 of 48 requested fragments are missing (source_down 12)"});
  CHECK(judged({}).empty());  // taken back
}

TEST_CASE("a source's corrupt fragments are judged over all DCMs, and rank it without being missing") {
  const auto readouts = farm(4);
  LossWatch losses(0.05);
  const auto sum_of = [&](std::uint64_t corrupt) {
    SourceSums sums(readouts);
    for (int dcm = 0; dcm < 12; ++dcm) {
      SourceRow damaged = row(2, 3, {});
      damaged.corrupt = corrupt;
      sums.add(report(v1::ROLE_DCM, "dcm-" + std::to_string(dcm), {row(1, 3, {}), damaged}, 4), dcm == 0);
    }
    v1::SourceCounts out;
    sums.write(out);
    return out;
  };
  const v1::SourceCounts sums = sum_of(1);
  const std::vector<SourceRow> rows = source_rows(sums);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].source == SourceId(2));
  CHECK(rows[0].corrupt == 12);
  CHECK(rows[0].dropped.empty());
  CHECK(worst_source(sums).empty());
  CHECK(worst_lines(sums, 5).empty());
  for (const SourceRow& one : rows) note_corrupt(one, true, losses);
  CHECK(losses.faults().empty());  // source.faults damages it
  for (const SourceRow& one : rows) note_corrupt(one, false, losses);
  CHECK(losses.faults() ==
        std::vector<std::string>{"source 2: 12 of 36 fragments that reached it are damaged (corrupt 12)"});
  for (const SourceRow& one : source_rows(sum_of(0))) note_corrupt(one, false, losses);
  CHECK(losses.faults().empty());  // taken back
}
