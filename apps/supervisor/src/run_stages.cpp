#include "run_stages.hpp"

#include <weir/base/assert.hpp>

#include <algorithm>
#include <array>

namespace weir::supervisor {

void RunStages::enter(RunStage to) {
  WEIR_ASSERT(kRunTransitions.allow(stage_, to));
  stage_ = to;
}

void RunStages::ask_to_begin(TimeNs now_ns, UtcNs utc_ns, DurationNs gather_ns) {
  asked_ = true;
  begun_utc_ns_ = utc_ns;
  gather_until_ns_ = now_ns + gather_ns;
}

void RunStages::begin(TimeNs now_ns, UtcNs utc_ns) {
  enter(RunStage::running);
  begun_ns_ = now_ns;
  begun_utc_ns_ = utc_ns;
}

void RunStages::resume(TimeNs now_ns, UtcNs begun_utc_ns, DurationNs already) {
  begin(now_ns - already, begun_utc_ns);
  first_trigger_ns_ = begun_ns_;
  last_settled_ns_ = now_ns;
}

void RunStages::resume_reporting(TimeNs now_ns, UtcNs begun_utc_ns, DurationNs already,
                                 const std::string& reason, DurationNs running_ns) {
  report(now_ns);
  running_ns_ = running_ns;
  begun_ns_ = first_trigger_ns_ = now_ns - already;
  begun_utc_ns_ = begun_utc_ns;
  last_settled_ns_ = now_ns;
  reason_ = reason;
}

void RunStages::drain(const std::string& reason, DurationNs running_ns) {
  enter(RunStage::draining);
  reason_ = reason;
  running_ns_ = running_ns;
}

void RunStages::report(TimeNs now_ns) {
  enter(RunStage::reporting);
  reporting_until_ns_ = now_ns + kReportPatience;
  absent_until_ns_ = now_ns + kAbsentPatience;
}

void RunStages::fail(const std::string& why) {
  WEIR_ASSERT(!why.empty());
  enter(RunStage::done);
  failure_ = why;
}

std::string_view RunStages::shown() const {
  constexpr std::array<std::string_view, kRunStages> kShown = {"gathering", "running",   "draining",
                                                               "reporting", "reporting", "done"};
  return kShown[static_cast<std::size_t>(stage_)];
}

DurationNs RunStages::duration_ns() const {
  return has_triggered() ? std::max<DurationNs>(0, last_settled_ns_ - first_trigger_ns_) : 0;
}

}  // namespace weir::supervisor
