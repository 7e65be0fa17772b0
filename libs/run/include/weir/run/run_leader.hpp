#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace weir::v1 {
class FarmView;
class Reply;
class Request;
}  // namespace weir::v1

namespace weir::run {

// Leads a farm from nothing into one run, as an operator would: asks run control for init, configure and
// start, each when the one before is done, for the run's end when that is wanted, and to be told of every
// change. Pure: replies and time come in, requests go out, one at a time.
class RunLeader {
 public:
  explicit RunLeader(RunNumber run) : run_(run) {}

  // What is to be asked now; empty: nothing is due.
  [[nodiscard]] std::optional<v1::Request> next(TimeNs now);
  void take(const v1::Reply& reply, TimeNs now);
  // The run is to end, for this reason. Asked for as soon as the farm is seen in its run, and again for as
  // long as it is.
  void stop(const std::string& reason);
  // Run control owes an answer for so long that it has to be started again.
  [[nodiscard]] bool is_silent(TimeNs now) const {
    return asked_ != Ask::none && now - asked_ns_ >= kPatience;
  }
  // Run control was started again: what it was asked is not answered any more.
  void control_again();
  // The run was asked for: it may have begun.
  [[nodiscard]] bool started() const {
    return step_ == Step::led || (step_ == Step::start && (commanded_ || asked_ == Ask::command));
  }
  // The farm was seen in its run.
  [[nodiscard]] bool led() const { return step_ == Step::led; }
  // Why the farm is not in its run any more, a sentence: it was reset, or is in error. Empty: it is in its
  // run.
  [[nodiscard]] const std::string& lost() const { return lost_; }
  // The farm is to be looked at now.
  void look_again() { next_watch_ns_ = 0; }
  // When what is known of the farm was asked for, once it is led.
  [[nodiscard]] TimeNs looked_ns() const { return looked_ns_; }
  // An operator took this process out of the farm.
  [[nodiscard]] bool taken_out(const std::string& process) const { return taken_out_.contains(process); }
  // Why the farm does not come into its run, a sentence; empty: it does, or is on its way.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  static constexpr DurationNs kPatience = 10 * kSecond;  // for a reply
  enum class Step : std::uint8_t { init, configure, start, led };
  enum class Ask : std::uint8_t { none, command, watch, stop };

  void look(const v1::FarmView& view);
  void watch(const v1::FarmView& view);

  RunNumber run_;
  Step step_ = Step::init;
  bool commanded_ = false;  // the step's command is taken: its end is waited for
  Ask asked_ = Ask::none;   // what no reply has come to yet
  std::uint64_t last_id_ = 0;
  std::uint64_t watch_id_ = 0;  // of the last `watch`; what is told of changes has it, too
  TimeNs asked_ns_ = 0;
  TimeNs next_watch_ns_ = 0;
  TimeNs next_stop_ns_ = 0;
  TimeNs looked_ns_ = 0;
  std::set<std::string> taken_out_;
  std::optional<std::string> stop_reason_;
  bool can_stop_ = false;  // the farm was seen in its run, with nothing under way
  std::string failure_;
  std::string lost_;
};

}  // namespace weir::run
