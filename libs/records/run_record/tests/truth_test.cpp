#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/run_record/truth.hpp>

#include <sstream>

namespace weir::run_record {
namespace {

std::string track(int run, int slice, int modules) {
  return "{\"run\":" + std::to_string(run) + ",\"slice\":" + std::to_string(slice) +
         ",\"track\":0,\"modules\":" + std::to_string(modules) + "}\n";
}

TEST_CASE("tracks are counted by the modules that saw them, and those in stored slices apart") {
  std::istringstream truth(track(1, 10, 0) + track(1, 11, 6) + track(1, 12, 9) + track(1, 13, 1000));
  const TruthComparison result = compare_with_truth(truth, RunNumber(1), {11, 13, 20});
  CHECK(result.tracks == 4);
  REQUIRE(result.bins.size() == 3);
  CHECK(result.bins[0].modules_max == 0);
  CHECK(result.bins[0].stored == 0);
  CHECK(result.bins[1].modules_min == 5);
  CHECK(result.bins[1].modules_max == 9);
  CHECK(result.bins[1].tracks == 2);
  CHECK(result.bins[1].stored == 1);
  CHECK(result.bins[2].modules_max == UINT64_MAX);
  CHECK(result.bins[2].stored == 1);
  CHECK(result.stored_without_track == 1);
}

TEST_CASE("two tracks in one stored slice make one slice with a track") {
  std::istringstream truth(track(1, 5, 4) + track(1, 5, 4));
  const TruthComparison result = compare_with_truth(truth, RunNumber(1), {5});
  CHECK(result.stored_without_track == 0);
  CHECK(result.bins.at(0).stored == 2);
}

TEST_CASE("a slice stored with a track that no module saw counts as stored without a track") {
  std::istringstream truth(track(1, 5, 0));
  CHECK(compare_with_truth(truth, RunNumber(1), {5}).stored_without_track == 1);
}

TEST_CASE("lines of other runs and lines without tracks are skipped") {
  std::istringstream truth(track(2, 5, 4) +
                           "nonsense\n[1]\n{\"run\":1}\n{\"run\":1,\"slice\":-1,\"modules\":3}\n" +
                           track(1, 5, 4).substr(0, 20));
  const TruthComparison result = compare_with_truth(truth, RunNumber(1), {});
  CHECK(result.tracks == 0);
  CHECK(result.bins.empty());
}

TEST_CASE("stored slices are given in ascending order") {
  const auto broken = [] {
    std::istringstream truth(track(1, 5, 4));
    (void)compare_with_truth(truth, RunNumber(1), {7, 5});
  };
  CHECK_THAT(
      weir::test::broken_invariant(broken),
      Catch::Matchers::ContainsSubstring("broken invariant: std::is_sorted(stored.begin(), stored.end())"));
}

}  // namespace
}  // namespace weir::run_record
