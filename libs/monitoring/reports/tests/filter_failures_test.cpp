#include "weir_catch.hpp"
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>

#include <string>

using namespace weir;
using reports::FilterFailures;

namespace {

struct Counts {
  std::uint64_t filtered = 0;
  std::uint64_t errors = 0;
  std::uint64_t poisoned = 0;
  std::uint64_t exits = 0;
  std::uint64_t out_of_memory = 0;
};

v1::Report report_of(const std::string& dcm, const Counts& counts, const std::string& group = {}) {
  v1::Report report;
  report.set_name(dcm);
  reports::ReportCounters counters(report);
  counters["dcm.filtered"] = counts.filtered;
  counters["dcm.filter_errors"] = counts.errors;
  counters["dcm.poisoned"] = counts.poisoned;
  if (counts.exits > 0) counters.of("dcm.worker_ends.", "exit") = counts.exits;
  if (counts.out_of_memory > 0) counters.of("dcm.worker_ends.", "memory") = counts.out_of_memory;
  if (!group.empty()) (*report.mutable_notes())["group"] = group;
  return report;
}

std::vector<std::string> faults_of(const std::vector<v1::Report>& dcms, double share_max = 0.01) {
  FilterFailures failures(share_max);
  for (const v1::Report& dcm : dcms) failures.add(dcm);
  return failures.faults();
}

}  // namespace

TEST_CASE("a filter that fails for more than its share of slices is a fault with its first reason") {
  v1::Report first = report_of("dcm-0", {500, 0, 0});
  v1::Report second = report_of("dcm-1", {500, 10, 0});
  reports::note_filter_failure(second, "ValueError: boom", "");
  CHECK(faults_of({first, second}).empty());  // exactly the share is still allowed
  v1::Report third = report_of("dcm-1", {0, 0, 1});
  reports::note_filter_failure(third, "", "signal 11");
  CHECK(faults_of({first, second, third}) ==
        std::vector<std::string>{
            "the filter failed for 11 of 1000 slices (filter_error 10, poison 1), first on "
            "dcm-1: ValueError: boom"});
}

TEST_CASE("poison alone counts like errors, whatever the mode in which the filter runs") {
  v1::Report dcm = report_of("dcm-0", {100, 0, 2});
  CHECK(faults_of({dcm}) == std::vector<std::string>{"the filter failed for 2 of 100 slices (poison 2)"});
  reports::note_filter_failure(dcm, "", "signal 11 (Segmentation fault)");
  CHECK(faults_of({dcm}) == std::vector<std::string>{
                                "the filter failed for 2 of 100 slices (poison 2), first on dcm-0: signal 11 "
                                "(Segmentation fault)"});
}

TEST_CASE("fewer than twenty slices have no share, and with a share of 1 nothing is too much") {
  CHECK(faults_of({report_of("dcm-0", {19, 19, 0})}).empty());
  CHECK(faults_of({report_of("dcm-0", {20, 20, 0})}).size() == 1);
  CHECK(faults_of({report_of("dcm-0", {500, 500, 0, 500})}, 1).empty());
}

TEST_CASE("a group's filter that fails for all of its few slices is not hidden by the other groups") {
  const std::vector<std::string> faults =
      faults_of({report_of("dcm-0", {10000, 0, 0}, "first"), report_of("late-0", {30, 30, 0}, "late")});
  CHECK(faults ==
        std::vector<std::string>{"the filter of group late failed for 30 of 30 slices (filter_error 30)"});
}

TEST_CASE("workers that end too often are a fault by their reasons, those out of memory are not") {
  CHECK(faults_of({report_of("dcm-0", {100, 0, 0, 2})}).empty());  // too few
  CHECK(faults_of({report_of("dcm-0", {100, 0, 0, 0, 50})}).empty());
  CHECK(faults_of({report_of("dcm-0", {20000, 0, 0, 100})}).empty());
  v1::Report dcm = report_of("dcm-0", {0, 0, 0, 7});
  reports::note_worker_end(dcm, "exit: exit status 3");
  CHECK(faults_of({dcm}) ==
        std::vector<std::string>{"workers of the filter ended 7 times in 0 slices (exit 7), "
                                 "last on dcm-0: exit: exit status 3"});
}
