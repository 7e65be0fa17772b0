#include <weir/launch/log_tail.hpp>
#include <weir/launch/run_control_child.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace weir::launch {

RunControlChild::RunControlChild(Settings settings, std::function<void()> wake)
    : settings_(std::move(settings)), wake_(std::move(wake)), restarts_(RestartSettings()) {
  auto& more = settings_.child.more;
  more.insert(more.end(), {"--one-run", "--memory", settings_.memory});
  std::error_code ignored;
  std::filesystem::remove(settings_.memory, ignored);  // left by a killed run
}

RunControlChild::~RunControlChild() {
  std::error_code ignored;
  std::filesystem::remove(settings_.memory, ignored);
}

std::string RunControlChild::start() {
  ChildSettings child = control_child(settings_.child);
  child.append_log = state_ != State::absent;
  auto started = Child::start(child);
  if (!started) return "run control: " + started.error();
  child_ = std::move(*started);
  state_ = client_ ? State::there : State::starting;
  return {};
}

bool RunControlChild::moves() {
  if (client_ || !std::exchange(settings_.may_move, false)) return false;
  settings_.child.listen = kAnyPort;
  output_.clear();
  return true;
}

std::optional<ProcessEnd> RunControlChild::poll() {
  auto end = child_.poll();
  if (end) state_ = State::ended;
  return end;
}

bool RunControlChild::start_again(TimeNs now) {
  const auto at = restarts_.after_end(now);
  if (!at) return false;
  start_at_ns_ = *at;
  state_ = State::waits;
  return true;
}

Expected<bool, std::string> RunControlChild::start_due(TimeNs now) {
  if (state_ != State::waits || now < start_at_ns_) return false;
  if (std::string error = start(); !error.empty()) return Unexpected<std::string>(std::move(error));
  return true;
}

Expected<std::optional<ControlPlace>, std::string> RunControlChild::found() {
  if (state_ != State::starting) return std::optional<ControlPlace>();
  output_ += child_.take_output();
  auto place = control_place(output_, settings_.child.listen);
  if (!place) return std::optional<ControlPlace>();
  asked_at_ = settings_.host.empty() ? place->at : settings_.host + place->at.substr(place->at.rfind(':'));
  auto as_operator = bus_client(asked_at_, settings_.keys_folder, security::BusRole::operator_);
  if (!as_operator) return Unexpected<std::string>("control.keys: " + as_operator.error());
  client_ = std::make_unique<bus::Client>(std::move(*as_operator), wake_);
  // A restarted run control has to listen where its processes look for it.
  settings_.child.listen = place->at;
  settings_.child.page = place->page;
  state_ = State::there;
  return place;
}

void RunControlChild::ask(const v1::Request& request) {
  if (!client_) return;
  v1::BusMessage message;
  *message.mutable_request() = request;
  client_->send(message);
}

std::vector<v1::BusMessage> RunControlChild::heard() {
  return client_ ? client_->take() : std::vector<v1::BusMessage>();
}

std::string RunControlChild::story(const ProcessEnd& end) const {
  const std::string reason = last_error_of_file(settings_.child.log_file, 0);
  return fmt::format("run control ended with {}{}{}", describe(end), reason.empty() ? "" : ": ", reason);
}

}  // namespace weir::launch
