// Parts of the filter's stage: long steps and failures.
#include "../src/filter_errors.hpp"
#include "../src/long_steps.hpp"
#include "building.hpp"
#include <weir/reports/filter_failures.hpp>

#include <optional>
#include <vector>

using namespace weir;
using namespace weir::dcm;
using assembly::BuildState;
using filter_host::OldestJob;

namespace {

struct Steps {
  assembly::BuiltSlice& filtering(std::uint64_t id) {
    assembly::BuiltSlice& slice = dcm.complete(id);
    dcm.slices().change(slice, BuildState::filtering);
    return slice;
  }
  Building dcm;
  LongSteps steps{{2 * kSecond, 10 * kSecond}, dcm.slices()};
};

}  // namespace

TEST_CASE("slices that a filter has had for long are named once, until others have it") {
  Steps of;
  const std::vector<OldestJob> jobs{{of.filtering(1).slot, kSecond}, {of.filtering(2).slot, 3 * kSecond}};
  CHECK_FALSE(of.steps.find_long(jobs, 2 * kSecond));
  CHECK(of.steps.find_long(jobs, 3 * kSecond));
  REQUIRE(of.steps.long_ones().size() == 1);
  CHECK(of.steps.long_ones().front().slice == SliceId(1));
  CHECK_FALSE(of.steps.find_long(jobs, 4 * kSecond));
  CHECK(of.steps.find_long(jobs, 5 * kSecond));
  CHECK(of.steps.long_ones().size() == 2);
  CHECK(of.steps.find_long({}, 6 * kSecond));
  CHECK(of.steps.long_ones().empty());
}

TEST_CASE("a stalled step is counted once, and its slice is held until it returns") {
  Steps of;
  assembly::BuiltSlice& slice = of.filtering(7);
  const OldestJob job{slice.slot, kSecond};
  CHECK_FALSE(of.steps.find_stalled(job, 10 * kSecond));
  CHECK(of.steps.find_stalled(job, 11 * kSecond) == SliceId(7));
  CHECK_FALSE(of.steps.find_stalled(job, 12 * kSecond));
  CHECK(of.steps.stalls() == 1);
  CHECK(of.steps.held(job, 12 * kSecond) == SliceId(7));
  of.dcm.slices().change(slice, BuildState::decided);
  CHECK_FALSE(of.steps.held(job, 12 * kSecond));
  CHECK_FALSE(of.steps.held(std::nullopt, 12 * kSecond));
}

TEST_CASE("errors and poison are counted apart, and each cause has a line in a while") {
  FilterErrors errors;
  const auto first = errors.note_error("bad value 1\nat line 3", kSecond);
  REQUIRE(first);
  CHECK(first->reason == "bad value 1");
  CHECK_FALSE(errors.note_error("bad value 2", 2 * kSecond));  // differs in digits only
  CHECK(errors.note_poison("bad value 1", 2 * kSecond));
  errors.count_poison();
  const auto later = errors.note_error("bad value 3", 20 * kSecond);
  REQUIRE(later);
  CHECK(later->count == 2);
  v1::Report report;
  errors.add_to(report, "17");
  CHECK(report.counters().at("dcm.filter_errors") == 3);
  CHECK(report.counters().at("dcm.poisoned") == 2);
  CHECK(reports::filter_notes(report).last_error == "bad value 3");
  CHECK(reports::filter_notes(report).held_slice == "17");
}
