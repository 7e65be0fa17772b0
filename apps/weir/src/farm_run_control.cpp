// What FarmRun has to do with run control.
#include <weir/run/control_process.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run/log_tail.hpp>
#include <weir/v1/bus.pb.h>

#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace weir::run {
namespace {

constexpr DurationNs kStoryPatience = kSecond;  // for the end of the process that is to blame

}  // namespace

void FarmRun::start_control() {
  const bool isolated = !settings_.isolated_host.empty();
  control_listen_ = (isolated ? settings_.isolated_host : "127.0.0.1") + ":0";
  ControlChildSettings control;
  control.program_folder = settings_.program_folder;
  control.farm_file = settings_.farm_file;
  control.listen = control_listen_;
  control.page = settings_.page;
  control.log_level = settings_.log_level;
  control.log_file = settings_.log_folder + "/run-control.log";
  control.more = {"--one-run"};
  if (isolated) control.more.emplace_back("--isolated");
  auto started = Child::start(control_child(control));
  if (!started) return give_up("run control: " + started.error());
  control_ = std::move(*started);
}

void FarmRun::find_control() {
  if (stage_ != Stage::control) return;
  control_output_ += control_.take_output();
  const auto place = control_place(control_output_, control_listen_);
  if (!place) return;
  control_at_ = place->at;
  auto as_operator = bus_client(control_at_, farm_.control().keys(), security::BusRole::operator_);
  if (!as_operator) return give_up("control.keys: " + as_operator.error());
  control_client_ = std::make_unique<bus::Client>(std::move(*as_operator), [this] { loop_.wake(); });
  if (settings_.isolated_host.empty()) {
    view_.say("run control at " + control_at_ + ": weir ctl, weir top and weir tap take --connect " +
              control_at_);
    if (!place->page.empty())
      view_.say("page http://" + place->page + "/  its buttons want the token in " + farm_.run().out() +
                "/page-token");
  }
  start_nodes();
}

void FarmRun::talk_to_control() {
  if (!control_client_ || !control_.running() || stage_ == Stage::ending) return;
  for (const v1::BusMessage& message : control_client_->take()) {
    if (message.has_reply()) leader_.take(message.reply(), now_ns_);
  }
  if (auto request = leader_.next(now_ns_)) {
    v1::BusMessage message;
    *message.mutable_request() = std::move(*request);
    control_client_->send(message);
  }
  if (leader_.stop_failed() && !stop_sent_) ask_supervisor_to_stop();
  if (stage_ == Stage::settled || run_over_) return;
  if (!leader_.lost().empty() && result_.failure.empty()) {
    if (!link_ || !link_->ready()) return give_up(leader_.lost());
    result_.failure = stop_reason_ = leader_.lost();
    return ask_supervisor_to_stop();
  }
  if (leader_.failure().empty() || stage_ == Stage::running) return;
  // The process that is to blame ends, and its log says more.
  if (lead_failed_ns_ == 0) lead_failed_ns_ = now_ns_;
  if (now_ns_ - lead_failed_ns_ > kStoryPatience) give_up(leader_.failure());
}

// Without it the run goes on, but nobody leads a process back into it.
void FarmRun::control_ended(const ProcessEnd& end) {
  result_.processes.push_back({"run-control", "control", end});
  if (stage_ == Stage::ending || (stage_ == Stage::settled && end.well())) return;
  const std::string reason = last_error_of_file(settings_.log_folder + "/run-control.log", 0);
  const std::string what =
      fmt::format("run control ended with {}{}{}", describe(end), reason.empty() ? "" : ": ", reason);
  if (stage_ != Stage::running && stage_ != Stage::settled) return give_up(what);
  result_.faults.push_back(what);
  if (stage_ == Stage::settled || run_over_) return;
  view_.say(what + ": the run goes on");
  for (Node& node : nodes_) node.restart_at_ns.reset();
  if (!stop_reason_.empty()) ask_supervisor_to_stop();
}

void FarmRun::end_control() {
  control_client_.reset();
  control_.send_signal(SIGTERM);
  const TimeNs until = loop_.now_ns() + kKillPatience;
  while (control_.running()) {
    if (loop_.now_ns() >= until) control_.send_signal(SIGKILL);
    loop_.run_once(
        [this](TimeNs) {
          if (const auto end = control_.poll()) control_ended(*end);
        },
        kTurn);
  }
}

// ---- who watches

void FarmRun::say_it_ends() const {
  if (view_.ends) view_.ends();
}

void FarmRun::show(const v1::FarmStatus& status) {
  LiveFrame told = rates_.take(status);
  std::vector<LiveRow> rows;
  for (const Node& node : nodes_) {
    const auto row = std::find_if(told.rows.begin(), told.rows.end(),
                                  [&](const LiveRow& one) { return one.name == node.plan->name; });
    if (row != told.rows.end() && node.child.running()) {
      rows.push_back(*row);
      continue;
    }
    LiveRow& absent = rows.emplace_back();
    absent.name = node.plan->name;
    absent.role = name(node.plan->role);
    absent.state = node.state;
    absent.measured = false;
  }
  told.rows = std::move(rows);
  view_.show(told);
}

}  // namespace weir::run
