#include "../src/quality_watch.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/histograms/contents.hpp>
#include <weir/run_record/annotations.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

// A histogram "sizes" with `count` entries of `value`.
reports::FilterHistogramList sizes(double value, int count) {
  histograms::Layout layout;
  (void)*layout.book({"sizes", histograms::Kind::one_dimension, {10, 0, 10}, {}});
  histograms::Contents contents(layout);
  histograms::Fills fills;
  std::vector<histograms::Addition> added;
  for (int i = 0; i < count; ++i) {
    fills.fill(layout.all()[0], value, 0, 1);
    fills.take(added);
    contents.add(added);
  }
  reports::FilterHistogramList list;
  reports::put(layout.all()[0].booking, contents.cells(0), *list.Add());
  return list;
}

control::QualityCheck a_check() {
  control::QualityCheck one;
  one.name = "size";
  one.histogram = "sizes";
  one.entries_min = 100;
  one.mean_min = 4;
  one.mean_max = 6;
  return one;
}

}  // namespace

TEST_CASE("a quality is set only where the checks give one, and never over an operator's") {
  const std::vector<control::QualityCheck> checks{a_check()};
  using control::QualityResult;
  const auto fields = [&](QualityResult result, bool judged) {
    return quality_fields(checks, {{result, "mean 9"}}, judged);
  };
  CHECK(fields(QualityResult::good, false) ==
        run_record::RunFields{{"quality", "good"}, {"checks", "all good"}});
  CHECK(fields(QualityResult::failed, false) ==
        run_record::RunFields{{"quality", "questionable"}, {"checks", "size failed: mean 9"}});
  CHECK(fields(QualityResult::not_judged, false) ==
        run_record::RunFields{{"checks", "size not judged: mean 9"}});
  CHECK(fields(QualityResult::failed, true) == run_record::RunFields{{"checks", "size failed: mean 9"}});
}

namespace {

// A run of the small farm that ends with these histograms, and its line of annotations.
std::string annotated(double value, int count, const run_record::RunFields& fields = {}) {
  test::SmallFarm farm;
  QualityWatch watch({a_check()}, farm.folder.path());
  const RunNumber run(5);
  REQUIRE(farm.book.begin(run, farm.setup.of_run(run), {}, fields).empty());
  v1::RunOver over;
  over.set_run(5);
  over.mutable_summary()->set_run(5);
  over.mutable_summary()->set_balanced(true);
  over.mutable_summary()->set_running_ns(kSecond);
  *over.mutable_summary()->mutable_histograms() = sizes(value, count);
  (void)farm.book.end(over, "small");
  watch.look(farm.parts, kSecond);
  watch.look(farm.parts, 2 * kSecond);  // once
  std::ifstream file(run_record::annotations_path(farm.folder.path()));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the account of a run sets its quality in the records, once") {
  const std::string good = annotated(5.5, 100);
  CHECK_THAT(good, ContainsSubstring("\"quality\": \"good\"") && ContainsSubstring("quality checks"));
  CHECK(std::ranges::count(good, '\n') == 1);
  CHECK_THAT(annotated(9.5, 100), ContainsSubstring("\"quality\": \"questionable\"") &&
                                      ContainsSubstring("size failed: mean 9.5, at most 6 is expected"));
  const std::string few = annotated(5.5, 99);
  CHECK_THAT(few, ContainsSubstring("size not judged: fewer than 100 entries"));
  CHECK_THAT(few, !ContainsSubstring("quality\": \"good"));
  const std::string judged = annotated(9.5, 100, {{"quality", "good"}});
  CHECK_THAT(judged, ContainsSubstring("size failed") && !ContainsSubstring("\"quality\":"));
}

TEST_CASE("a failed check is a finding, and the view names every check") {
  test::SmallFarm farm;
  control::QualityCheck grave = a_check();
  grave.name = "grave";
  grave.gravity = control::Gravity::error;
  QualityWatch watch({a_check(), grave}, farm.folder.path());
  v1::FarmView view;
  watch.add_to(view);
  REQUIRE(view.checks_size() == 2);
  CHECK(view.checks(0).verdict() == "not judged");
  CHECK(watch.findings().empty());
  v1::RunOver over;
  over.set_run(7);
  over.mutable_summary()->set_run(7);
  *over.mutable_summary()->mutable_histograms() = sizes(1.5, 200);
  (void)farm.book.end(over, "small");
  watch.look(farm.parts, kSecond);
  const auto findings = watch.findings();
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].word == "check grave");
  CHECK(findings[0].gravity == control::Gravity::error);
  CHECK(findings[1].reason == "histogram 'sizes' of run 7: mean 1.5, at least 4 is expected");
  watch.take(RunNumber(8), {});  // the next run begins without a verdict
  CHECK(watch.findings().empty());
}
