#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/run_record/run_fields.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace weir::v1 {
class FarmView;
class Reply;
class Request;
}  // namespace weir::v1

namespace weir::run {

// Leads a farm from its start into one run, like an operator: sends run control init, configure and start,
// each once the previous one is done, stop when the run has to end, and requests for updates. Pure: replies
// and time come in, requests go out, one at a time.
class RunLeader {
 public:
  explicit RunLeader(RunNumber run, run_record::RunFields fields = {})
      : run_(run), fields_(std::move(fields)) {}

  // Returns the request to send now, or nothing.
  [[nodiscard]] std::optional<v1::Request> next(TimeNs now);
  void take(const v1::Reply& reply, TimeNs now);
  // The run has to end, for this reason. Requested once the farm is in its run, and repeated while it is.
  void stop(const std::string& reason);
  // Returns whether run control has owed an answer so long that it must be restarted.
  [[nodiscard]] bool is_silent(TimeNs now) const {
    return asked_ != Ask::none && now - asked_ns_ >= kPatience + hooks_ns_;
  }
  // Run control was restarted: earlier requests will not be answered.
  void control_again();
  // Returns whether the run was requested: it may have begun.
  [[nodiscard]] bool started() const {
    return step_ == Step::led || (step_ == Step::start && (commanded_ || asked_ == Ask::command));
  }
  // Returns whether the farm has been in its run.
  [[nodiscard]] bool led() const { return step_ == Step::led; }
  // Returns why the farm is no longer in its run: it was reset, or is in error. Empty: it is in its run.
  [[nodiscard]] const std::string& lost() const { return lost_; }
  // Requests an update at once.
  void look_again() { next_watch_ns_ = 0; }
  // Returns when the latest state of a farm in its run was requested.
  [[nodiscard]] TimeNs looked_ns() const { return looked_ns_; }
  // Returns whether an operator removed this process from the farm.
  [[nodiscard]] bool taken_out(const std::string& process) const { return taken_out_.contains(process); }
  // Returns whether an operator removed it since it last started, even if it was added again before it ended.
  [[nodiscard]] bool was_taken_out(const std::string& process) const { return leaving_.contains(process); }
  void starts_again(const std::string& process) { leaving_.erase(process); }
  // Returns why the farm cannot get into its run; empty while it can.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  static constexpr DurationNs kPatience = 10 * kSecond;  // for a reply
  enum class Step : std::uint8_t { init, configure, start, led };
  enum class Ask : std::uint8_t { none, command, watch, stop };

  void look(const v1::FarmView& view);
  void watch(const v1::FarmView& view);

  RunNumber run_;
  run_record::RunFields fields_;
  Step step_ = Step::init;
  bool commanded_ = false;  // the step's command is accepted; waiting for its effect
  Ask asked_ = Ask::none;   // the request without a reply so far
  std::uint64_t last_id_ = 0;
  std::uint64_t watch_id_ = 0;  // of the last `watch`; updates carry it too
  TimeNs asked_ns_ = 0;
  DurationNs hooks_ns_ = 0;  // that the request's hooks may take before the reply
  TimeNs next_watch_ns_ = 0;
  TimeNs next_stop_ns_ = 0;
  TimeNs looked_ns_ = 0;
  std::set<std::string> taken_out_;
  std::set<std::string> leaving_;  // taken out, and not started since
  std::optional<std::string> stop_reason_;
  bool can_stop_ = false;  // the farm was in its run, without a transition in progress
  std::string failure_;
  std::string lost_;
};

}  // namespace weir::run
