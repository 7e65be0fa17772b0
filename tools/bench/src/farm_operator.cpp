// Commands to a farm with DCMs that come and go.
#include "farm_operator.hpp"

#include <weir/base/role.hpp>
#include <weir/clock/clock.hpp>
#include <weir/control/states.hpp>
#include <weir/launch/farms_here.hpp>
#include <weir/reports/numbers.hpp>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace weir::bench {
namespace {

using control::State;

constexpr DurationNs kOperatorLook = 40 * kMillisecond;
constexpr double kReplyPatienceS = 60;  // for a reply or a transition
constexpr std::chrono::milliseconds kFarmLook{50};

bus::ClientSettings settings_of(const std::string& control) {
  const std::size_t colon = control.rfind(':');
  bus::ClientSettings settings;
  settings.host = control.substr(0, colon);
  settings.port = static_cast<std::uint16_t>(std::stoul(control.substr(colon + 1)));
  return settings;
}

}  // namespace

std::string control_of(const std::string& farm,
                       std::future<Expected<run_record::Summary, std::string>>& run) {
  for (;;) {
    for (const launch::FarmHere& here : launch::farms_here()) {
      if (here.farm == farm) return here.control;
    }
    if (run.wait_for(kFarmLook) != std::future_status::ready) continue;
    const auto ended = run.get();
    throw std::runtime_error(ended ? "the farm ended at once" : ended.error());
  }
}

FarmOperator::FarmOperator(const std::string& control, std::function<void()> each_turn)
    : each_turn_(std::move(each_turn)), client_(settings_of(control), std::function<void()>{}) {}

v1::Reply FarmOperator::ask(std::string_view asked, const std::string& node) {
  v1::BusMessage message;
  v1::Request& request = *message.mutable_request();
  request.set_id(++last_id_);
  const std::string command(asked);
  request.set_command(command);
  if (!node.empty()) request.add_nodes(node);
  client_.send(message);
  const double until_s = monotonic_now_s() + kReplyPatienceS;
  while (monotonic_now_s() < until_s) {
    for (v1::BusMessage& answer : client_.wait(kOperatorLook)) {
      if (!answer.has_reply() || answer.reply().id() != last_id_) continue;
      if (!answer.reply().good()) throw std::runtime_error(command + ": " + answer.reply().error());
      return std::move(*answer.mutable_reply());
    }
  }
  throw std::runtime_error(command + ": run control does not answer");
}

void FarmOperator::transit(std::string_view step) {
  (void)ask(step);
  const std::string command(step);
  wait_until([this] { return view_.under_way().empty(); }, command + " is not done in time");
  if (view_.state() == name(State::error)) throw std::runtime_error(command + ": " + view_.reason());
}

void FarmOperator::wait_until(const std::function<bool()>& condition, const std::string& complaint) {
  const double until_s = monotonic_now_s() + kReplyPatienceS;
  do {
    if (monotonic_now_s() > until_s) throw std::runtime_error(complaint);
    turn();
  } while (!condition());
}

void FarmOperator::run_to(double until_s) {
  while (monotonic_now_s() < until_s) {
    turn();
    if (view_.state() != name(State::running))
      throw std::runtime_error("the farm is " + view_.state() + " " + view_.reason());
  }
}

void FarmOperator::note_change(const std::string& what, std::uint32_t dcms, const std::string& dcm) {
  changes_.push_back({changes_.empty() ? 0 : monotonic_now_s() - begin_s_, what, dcms, dcm});
}

void FarmOperator::remove(const std::string& dcm, std::uint32_t left) {
  note_change("remove " + dcm, left, dcm);
  (void)ask(name(control::RequestKind::remove), dcm);
}

void FarmOperator::add(const std::string& dcm, std::uint32_t present) {
  note_change("add " + dcm, present, dcm);
  (void)ask(name(control::RequestKind::add), dcm);
}

void FarmOperator::turn() {
  (void)client_.wait(kOperatorLook);
  each_turn_();
  view_ = std::move(*ask(name(control::RequestKind::status)).mutable_view());
  for (const auto& node : view_.nodes()) {
    if (node.role() == name(Role::supervisor) && view_.state() == name(State::running)) take(node.report());
  }
}

void FarmOperator::take(const v1::Report& report) {
  if (report.role() != v1::ROLE_SUPERVISOR || report.now_ns() == last_report_ns_) return;
  last_report_ns_ = report.now_ns();
  const double at_s = static_cast<double>(report.now_ns()) / kSecond;
  if (begin_s_ == 0) begin_s_ = at_s;
  stored_.push_back({at_s - begin_s_, reports::counter_of(report, "stored")});
}

}  // namespace weir::bench
