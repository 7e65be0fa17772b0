#include <weir/run/run_leader.hpp>
#include <weir/v1/bus.pb.h>

#include <utility>

namespace weir::run {
namespace {

constexpr DurationNs kLook = 10 * kMillisecond;  // while a transition is under way
constexpr DurationNs kWatch = kSecond;           // in the run
constexpr DurationNs kPatience = 10 * kSecond;   // for a reply

constexpr const char* kCommands[] = {"init", "configure", "start"};
constexpr const char* kStates[] = {"standby", "ready", "running"};

// Everyone takes part in a run that has just begun, or the run is not what was asked for.
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
  if (asked_ != Ask::none) {
    if (now - asked_ns_ < kPatience) return std::nullopt;
    if (asked_ == Ask::stop) stop_failed_ = true;
    if (step_ != Step::led && failure_.empty()) failure_ = "run control does not answer";
    asked_ = Ask::none;
    return std::nullopt;
  }
  if (!failure_.empty()) return std::nullopt;
  v1::Request request;
  if (stop_reason_ && step_ == Step::led) {
    asked_ = Ask::stop;
    request.set_command("stop");
    request.set_reason(*std::exchange(stop_reason_, std::nullopt));
  } else if (step_ != Step::led && !commanded_) {
    asked_ = Ask::command;
    request.set_command(kCommands[static_cast<std::size_t>(step_)]);
    if (step_ == Step::start) request.set_run(run_.value);
  } else {
    if (now < next_look_ns_) return std::nullopt;
    asked_ = Ask::view;
    request.set_command("status");
  }
  asked_ns_ = now;
  request.set_id(++last_id_);
  return request;
}

void RunLeader::take(const v1::Reply& reply, TimeNs now) {
  if (reply.id() != last_id_) return;
  switch (std::exchange(asked_, Ask::none)) {
    case Ask::command:
      if (!reply.good()) failure_ = reply.error();
      commanded_ = true;
      next_look_ns_ = now;
      return;
    case Ask::view:
      return look(reply.view(), now);
    case Ask::stop:
      stop_failed_ = stop_failed_ || !reply.good();
      return;
    case Ask::none:
      return;
  }
}

void RunLeader::look(const v1::FarmView& view, TimeNs now) {
  next_look_ns_ = now + (step_ == Step::led ? kWatch : kLook);
  if (step_ == Step::led) return watch(view);
  if (view.state() == "error") {
    failure_ = view.reason();
    return;
  }
  if (!view.under_way().empty()) return;
  // A short run is over before it is seen.
  const bool there = view.state() == kStates[static_cast<std::size_t>(step_)] || step_ == Step::start;
  if (const std::string absent = names_of_absent(view); step_ != Step::start && !absent.empty()) {
    const std::string why = last_error(view);
    failure_ = std::string(kCommands[static_cast<std::size_t>(step_)]) + " was not followed by " + absent +
               (why.empty() ? "" : ": " + why);
  } else if (!there) {
    failure_ = "the farm is " + view.state() + " after " + kCommands[static_cast<std::size_t>(step_)];
  } else {
    step_ = static_cast<Step>(static_cast<int>(step_) + 1);
    commanded_ = false;
  }
}

void RunLeader::watch(const v1::FarmView& view) {
  looked_ns_ = asked_ns_;
  taken_out_.clear();
  for (const auto& node : view.nodes()) {
    if (node.excluded()) taken_out_.insert(node.name());
  }
  if (view.state() == "error") lost_ = "the farm is in error: " + view.reason();
  if (view.state() == "idle" || view.under_way() == "reset" || view.under_way() == "off")
    lost_ = "the farm was reset";
}

void RunLeader::stop(const std::string& reason) { stop_reason_ = reason; }

}  // namespace weir::run
