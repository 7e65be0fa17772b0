#pragma once

#include <weir/base/time.hpp>
#include <weir/base/transitions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::supervisor {

constexpr DurationNs kReportPatience = 30 * kSecond;  // for the final reports
constexpr DurationNs kAbsentPatience = kSecond;       // for nodes that are reconnecting at that time

enum class RunStage : std::uint8_t {
  gathering,  // waits for all nodes of the plan
  running,    //
  draining,   // triggers have ended; slices in flight are completed
  reporting,  // all nodes are ordered to end; waits for their final reports
  accounted,  // the run's account is there, for the watching clients to take
  done,       // the process ends
};
constexpr std::size_t kRunStages = 6;

// Every allowed transition.
inline constexpr Transitions kRunTransitions({
    Transition<RunStage>{RunStage::gathering, RunStage::running},
    {RunStage::gathering, RunStage::reporting},  // a run resumed by another process
    {RunStage::gathering, RunStage::done},       // it cannot begin
    {RunStage::running, RunStage::draining},
    {RunStage::draining, RunStage::reporting},
    {RunStage::reporting, RunStage::accounted},
    {RunStage::reporting, RunStage::done},  // by a signal
    {RunStage::accounted, RunStage::done},
});

// Where the run is, why it ends, and until when nodes are waited for. Pure.
class RunStages {
 public:
  // Waits `gather_ns` for all nodes of the plan to connect.
  RunStages(TimeNs now_ns, DurationNs gather_ns) : gather_until_ns_(now_ns + gather_ns) {}

  // All nodes are connected and told to begin: waits `gather_ns` from now for their answers.
  void ask_to_begin(TimeNs now_ns, UtcNs utc_ns, DurationNs gather_ns);
  void begin(TimeNs now_ns, UtcNs utc_ns);
  // Resumes a run that another process began `already` ago: as running, or as reporting if `reason` gives the
  // cause of its end.
  void resume(TimeNs now_ns, UtcNs begun_utc_ns, DurationNs already);
  void resume_reporting(TimeNs now_ns, UtcNs begun_utc_ns, DurationNs already, const std::string& reason,
                        DurationNs running_ns);
  // Triggers were on for `running_ns`.
  void drain(const std::string& reason, DurationNs running_ns);
  void report(TimeNs now_ns);
  // A node has requested more time to end.
  void wait_longer_for_reports(TimeNs now_ns) { reporting_until_ns_ = now_ns + kReportPatience; }
  // Limits the wait for final reports. Later limits than the present one have no effect.
  void limit_reports(TimeNs until_ns) { reports_limit_ns_ = std::min(reports_limit_ns_, until_ns); }
  void account() { enter(RunStage::accounted); }
  void end() { enter(RunStage::done); }
  // Ends immediately; the process exits with status 1.
  void fail(const std::string& why);
  // The run is over, and was not a good one.
  void note_failure(const std::string& why) { failure_ = why; }

  [[nodiscard]] RunStage stage() const { return stage_; }
  [[nodiscard]] bool is(RunStage stage) const { return stage_ == stage; }
  // Slices are on their way.
  [[nodiscard]] bool is_on() const { return is(RunStage::running) || is(RunStage::draining); }
  // True if all nodes have been ordered to end.
  [[nodiscard]] bool is_ending() const { return is(RunStage::reporting) || is(RunStage::accounted); }
  [[nodiscard]] bool has_begun() const { return stage_ != RunStage::gathering; }
  // The stage's name for display: "gathering", … The account is shown as reporting.
  [[nodiscard]] std::string_view shown() const;

  // The nodes have been told to begin the run, and it has not begun.
  [[nodiscard]] bool is_beginning() const { return is(RunStage::gathering) && asked_; }
  [[nodiscard]] bool gathers_no_longer(TimeNs now_ns) const { return now_ns >= gather_until_ns_; }
  [[nodiscard]] bool waits_for_reports(TimeNs now_ns) const {
    return now_ns < std::min(reporting_until_ns_, reports_limit_ns_);
  }
  // The time that a stop has left is over.
  [[nodiscard]] bool is_past_limit(TimeNs now_ns) const { return now_ns >= reports_limit_ns_; }
  [[nodiscard]] bool waits_for_absent(TimeNs now_ns) const { return now_ns < absent_until_ns_; }

  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] TimeNs begun_ns() const { return begun_ns_; }  // 0: not yet
  [[nodiscard]] UtcNs begun_utc_ns() const { return begun_utc_ns_; }

  // Record the first trigger and the last settled slice.
  void triggered(TimeNs now_ns) { first_trigger_ns_ = first_trigger_ns_ == 0 ? now_ns : first_trigger_ns_; }
  void settled(TimeNs now_ns) { last_settled_ns_ = now_ns; }
  // Returns the time between them; 0 if nothing was triggered.
  [[nodiscard]] DurationNs duration_ns() const;
  [[nodiscard]] bool has_triggered() const { return first_trigger_ns_ > 0; }
  // Returns how long triggers were on, without pauses; 0 while they are.
  [[nodiscard]] DurationNs running_ns() const { return running_ns_; }

 private:
  void enter(RunStage to);

  RunStage stage_ = RunStage::gathering;
  std::string reason_;   // why it ends
  std::string failure_;  // why the process ends with status 1
  TimeNs gather_until_ns_;
  TimeNs reporting_until_ns_ = 0;
  TimeNs reports_limit_ns_ = INT64_MAX;
  TimeNs absent_until_ns_ = 0;
  bool asked_ = false;  // the nodes have been told to begin
  TimeNs begun_ns_ = 0;
  UtcNs begun_utc_ns_ = 0;
  TimeNs first_trigger_ns_ = 0;
  TimeNs last_settled_ns_ = 0;
  DurationNs running_ns_ = 0;
};

}  // namespace weir::supervisor
