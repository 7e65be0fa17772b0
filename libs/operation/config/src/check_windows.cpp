#include "validation.hpp"
#include <weir/config/build_rules.hpp>
#include <weir/config/durations.hpp>

#include <string>

namespace weir::config {
namespace {

void check_unused(Validation& found, const v1::BuildSettings& build, bool slices) {
  const auto unused = [&](double value, const char* key, const char* why) {
    if (value > 0) found.inconsistent(std::string("build.") + key, why);
  };
  if (!is_by_time(found.farm())) {
    unused(build.overlap_us(), "overlap_us", "needs build.by 'time'");
    unused(build.before_us(), "before_us", "needs build.by 'time'");
    unused(build.after_us(), "after_us", "needs build.by 'time'");
  } else if (slices) {
    unused(build.before_us(), "before_us",
           "is for events; time slices (trigger.mode 'clock') have build.overlap_us");
    unused(build.after_us(), "after_us",
           "is for events; time slices (trigger.mode 'clock') have build.overlap_us");
  } else {
    unused(build.overlap_us(), "overlap_us",
           "is for time slices (trigger.mode 'clock'); events have build.before_us and build.after_us");
  }
}

}  // namespace

void check_windows(Validation& found) {
  const v1::Farm& farm = found.farm();
  const v1::BuildSettings& build = farm.build();
  const bool slices = has_time_slices(farm);
  check_unused(found, build, slices);
  if (!is_by_time(farm)) return;
  const double slice_us = slices ? farm.trigger().slice_ms() * 1e3 : 0;
  if (!slices && build.before_us() + build.after_us() <= 0) {
    found.inconsistent("build.after_us",
                       "the window of an event is empty: set build.before_us, build.after_us or both, or "
                       "trigger time slices (trigger.mode 'clock')");
  }
  if (slices && build.overlap_us() > slice_us) {
    found.inconsistent("build.overlap_us",
                       "is longer than a time slice (trigger.slice_ms): data would be in more "
                       "than a slice and its neighbours");
  }
  const double until_us = slice_us + (slices ? build.overlap_us() : build.after_us());
  if (farm.source().wait_ms() * 1e3 <= until_us && farm.source().wait_ms() > 0) {
    found.inconsistent(
        "source.wait_ms",
        "is not longer than the window of a slice, so that every fragment would be given up before its "
        "data have come: set it above the window and the delay of the front-ends");
  }
}

}  // namespace weir::config
