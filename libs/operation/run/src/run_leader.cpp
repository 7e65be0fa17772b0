#include <weir/base/assert.hpp>
#include <weir/control/states.hpp>
#include <weir/run/run_leader.hpp>
#include <weir/v1/bus.pb.h>

#include <algorithm>
#include <utility>

namespace weir::run {
namespace {

using control::Command;
using control::State;

constexpr DurationNs kWatch = 3 * kSecond;  // run control sends changes for 10 s after a request
constexpr DurationNs kStopAgain = kSecond;
constexpr DurationNs kHooksMax = 600 * kSecond;  // more than run control allows

// The commands of the steps, and the state that each one reaches.
constexpr Command kCommands[] = {Command::init, Command::configure, Command::start};
constexpr State kStates[] = {State::standby, State::ready, State::running};

// A run is as requested only if all processes take part at its begin.
std::string names_of_absent(const v1::FarmView& view) {
  std::string names;
  for (const auto& node : view.nodes()) {
    if (node.live() && !node.inactive()) continue;
    names += (names.empty() ? "" : ", ") + node.name();
  }
  return names;
}

std::string last_error(const v1::FarmView& view) {
  for (int i = view.events_size(); i-- > 0;) {
    if (view.events(i).level() != "info") return view.events(i).text();
  }
  return {};
}

}  // namespace

std::optional<v1::Request> RunLeader::next(TimeNs now) {
  if (!failure_.empty()) return std::nullopt;
  if (asked_ != Ask::none) {
    if (is_silent(now) && step_ != Step::led) failure_ = "run control does not answer";
    return std::nullopt;
  }
  static_assert(std::size(kCommands) == static_cast<std::size_t>(Step::led) &&
                std::size(kStates) == std::size(kCommands));
  v1::Request request;
  request.set_id(last_id_ + 1);
  if (stop_reason_ && can_stop_ && now >= next_stop_ns_) {
    asked_ = Ask::stop;
    next_stop_ns_ = now + kStopAgain;
    request.set_command(std::string(name(Command::stop)));
    request.set_reason(*stop_reason_);
  } else if (step_ != Step::led && !commanded_) {
    asked_ = Ask::command;
    WEIR_ASSERT(static_cast<std::size_t>(step_) < std::size(kCommands));
    request.set_command(std::string(name(kCommands[static_cast<std::size_t>(step_)])));
    request.set_by("weir run");
    if (step_ == Step::start) {
      request.set_run(run_.value);
      request.mutable_fields()->insert(fields_.begin(), fields_.end());
    }
  } else {
    if (now < next_watch_ns_) return std::nullopt;
    asked_ = Ask::watch;
    next_watch_ns_ = now + kWatch;
    watch_id_ = request.id();
    request.set_command(std::string(name(control::RequestKind::watch)));
  }
  WEIR_ASSERT(asked_ != Ask::none);
  asked_ns_ = now;
  hooks_ns_ = 0;
  last_id_ = request.id();
  return request;
}

void RunLeader::take(const v1::Reply& reply, TimeNs now) {
  const bool answers = reply.id() == last_id_ && asked_ != Ask::none;
  if (reply.id() == watch_id_) {
    if (answers) {
      asked_ = Ask::none;
      if (step_ == Step::led) looked_ns_ = asked_ns_;
    }
    if (reply.good()) look(reply.view());
    if (!reply.good() && step_ != Step::led) failure_ = reply.error();
    return;
  }
  if (!answers) return;
  if (reply.pending_ms() > 0) {
    hooks_ns_ = std::min(static_cast<DurationNs>(reply.pending_ms()) * kMillisecond, kHooksMax);
    return;
  }
  // Views from now on are newer than the command.
  if (std::exchange(asked_, Ask::none) == Ask::stop) {
    if (reply.good()) can_stop_ = false;
    return;
  }
  if (!reply.good()) failure_ = reply.error();
  commanded_ = true;
  next_watch_ns_ = now;
}

void RunLeader::look(const v1::FarmView& view) {
  if (step_ == Step::led) return watch(view);
  if (!commanded_ || !failure_.empty()) return;
  if (view.state() == name(State::error)) {
    failure_ = view.reason();
    return;
  }
  if (!view.under_way().empty()) return;
  // A short run may be over before its state is seen.
  const bool there = view.state() == name(kStates[static_cast<std::size_t>(step_)]) || step_ == Step::start;
  if (const std::string absent = names_of_absent(view); step_ != Step::start && !absent.empty()) {
    const std::string why = last_error(view);
    failure_ = std::string(name(kCommands[static_cast<std::size_t>(step_)])) + " was not followed by " +
               absent + (why.empty() ? "" : ": " + why);
  } else if (!there) {
    failure_ = "the farm is " + view.state() + " after " +
               std::string(name(kCommands[static_cast<std::size_t>(step_)]));
  } else {
    WEIR_ASSERT(step_ != Step::led && commanded_);
    step_ = static_cast<Step>(static_cast<int>(step_) + 1);
    commanded_ = false;
    if (step_ == Step::led) watch(view);
  }
}

void RunLeader::watch(const v1::FarmView& view) {
  taken_out_.clear();
  for (const auto& node : view.nodes()) {
    if (node.excluded()) taken_out_.insert(node.name());
  }
  leaving_.insert(taken_out_.begin(), taken_out_.end());
  const bool in_run = view.state() == name(State::running) || view.state() == name(State::paused);
  can_stop_ = in_run && view.under_way().empty();
  if (view.state() == name(State::error)) lost_ = "the farm is in error: " + view.reason();
  if (view.state() == name(State::idle) || view.under_way() == name(Command::reset) ||
      view.under_way() == name(Command::off))
    lost_ = "the farm was reset";
}

void RunLeader::control_again() {
  asked_ = Ask::none;
  watch_id_ = 0;
  next_watch_ns_ = 0;
}

void RunLeader::stop(const std::string& reason) { stop_reason_ = reason; }

}  // namespace weir::run
