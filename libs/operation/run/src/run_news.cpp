#include <weir/run/run_news.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace weir::run {
namespace {

RunNews::Phase phase_of(std::string_view state) {
  if (state == "gathering") return RunNews::Phase::gathering;
  if (state == "draining") return RunNews::Phase::draining;
  return state == "reporting" || state == "done" ? RunNews::Phase::over : RunNews::Phase::running;
}

// Removes the note: it does not belong in the summary.
std::string take_note(v1::Report& report, const char* name) {
  const auto note = report.notes().find(name);
  std::string text = note == report.notes().end() ? std::string() : note->second;
  report.mutable_notes()->erase(name);
  return text;
}

// Builds the status from the supervisor's report and all others. Without the supervisor's it has no state.
v1::FarmStatus status_of(const v1::FarmView& view) {
  v1::FarmStatus status;
  for (const v1::FarmView::Node& node : view.nodes()) {
    if (node.report().role() == v1::ROLE_UNKNOWN) continue;
    v1::Report& report = *status.add_nodes();
    report = node.report();
    if (node.excluded()) report.set_state(node.live() ? "draining" : "removed");
    if (report.role() != v1::ROLE_SUPERVISOR) continue;
    status.set_state(take_note(report, "run"));
    status.set_run_ns(std::atoll(take_note(report, "run_ns").c_str()));
  }
  return status;
}

TimeNs made_at(const v1::FarmStatus& status) {
  for (const v1::Report& report : status.nodes()) {
    if (report.role() == v1::ROLE_SUPERVISOR) return report.now_ns();
  }
  return 0;
}

}  // namespace

bool RunNews::take(const v1::FarmView& view) {
  if (view.identity().parts_size() > 0) identity_ = view.identity();
  v1::FarmStatus status = status_of(view);
  const TimeNs at = made_at(status);
  if (status.state().empty() || at == told_ns_) return false;
  told_ns_ = at;
  status_ = std::move(status);
  // A restarted supervisor resumes a run that was already over.
  static_assert(Phase::gathering < Phase::running && Phase::running < Phase::draining &&
                Phase::draining < Phase::over);
  phase_ = std::max(phase_, phase_of(status_.state()));
  steady_.take(status_, at);
  return true;
}

void RunNews::take(const v1::RunOver& over) {
  if (!over.has_summary() || account_) return;
  account_ = over.summary();
  phase_ = Phase::over;
}

DurationNs RunNews::run_ns(TimeNs now) const {
  if (told_ns_ == 0) return 0;
  return status_.run_ns() + std::max<DurationNs>(0, now - told_ns_);
}

}  // namespace weir::run
