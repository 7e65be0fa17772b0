#include "bus_link.hpp"

#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/process.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/transport/free_ports.hpp>

#include <spdlog/spdlog.h>

#include <unistd.h>

namespace weir::node {
namespace {

ConstBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

BusLink::BusLink(const ports::Endpoint& control, std::optional<security::CurveKeys> keys, JoinFacts facts,
                 std::function<void()> wake)
    : facts_(std::move(facts)),
      client_({control.host, control.port, std::move(keys)}, [this, wake = std::move(wake)] {
        arrived_.store(true, std::memory_order_release);
        wake();
      }) {}

void BusLink::receive(std::vector<v1::Order>& orders, std::vector<v1::TapWish>& wishes) {
  if (!arrived_.load(std::memory_order_acquire) || !arrived_.exchange(false)) return;
  for (v1::BusMessage& message : client_.take()) on_message(message, orders, wishes);
}

void BusLink::say(const v1::MemberState& state, TimeNs now_ns) {
  WEIR_ASSERT(heartbeat_ns_ > 0);
  next_heartbeat_ns_ = now_ns + heartbeat_ns_;
  if (!joined_) return join(state);
  v1::BusMessage message;
  message.mutable_heartbeat()->set_incarnation(facts_.incarnation.value);
  message.mutable_heartbeat()->set_utc_ns(utc_now_ns());
  *message.mutable_heartbeat()->mutable_state() = state;
  client_.send(message);
  if (over_) {
    v1::BusMessage over;
    *over.mutable_run_over() = *over_;
    client_.send(over);
  }
}

// ZeroMQ names no reason why it does not connect.
void BusLink::explain_silence() {
  constexpr int kPatience = 3;  // joins
  if (++joins_ <= kPatience || explained_) return;
  const std::string why = transport::no_port_left();
  if (why.empty()) return;
  explained_ = true;
  spdlog::error("run control not connected reason=\"{}\"", why);
}

void BusLink::join(const v1::MemberState& state) {
  explain_silence();
  v1::BusMessage message;
  v1::Join& join = *message.mutable_join();
  join.set_farm(facts_.farm);
  join.set_name(facts_.name);
  join.set_incarnation(facts_.incarnation.value);
  join.set_software(WEIR_SOFTWARE);
  join.set_host(host_name());
  join.set_pid(static_cast<std::uint32_t>(::getpid()));
  join.set_pid_space(pid_space());
  join.set_metrics(facts_.metrics);
  join.set_after(facts_.after);
  *join.mutable_state() = state;
  client_.send(message);
}

void BusLink::on_message(v1::BusMessage& message, std::vector<v1::Order>& orders,
                         std::vector<v1::TapWish>& wishes) {
  switch (message.body_case()) {
    case v1::BusMessage::kWelcome:
      return on_welcome(message.welcome());
    case v1::BusMessage::kOrder:
      orders.push_back(std::move(*message.mutable_order()));
      return;
    case v1::BusMessage::kTap:
      wishes.push_back(std::move(*message.mutable_tap()));
      return;
    case v1::BusMessage::kRunTaken:
      if (over_ && over_->run() == message.run_taken().run()) over_.reset();
      return;
    default:
      return;
  }
}

void BusLink::on_welcome(const v1::Welcome& welcome) {
  if (welcome.join_again()) {
    joined_ = false;
    next_heartbeat_ns_ = 0;
    return;
  }
  if (!welcome.refused().empty()) {
    if (refused_ != welcome.refused()) spdlog::error("run control refused reason=\"{}\"", welcome.refused());
    refused_ = welcome.refused();
    return;
  }
  if (!joined_) spdlog::info("joined run control");
  refused_.clear();
  joined_ = true;
  explained_ = false;
  joins_ = 0;
  if (welcome.heartbeat_ms() > 0) heartbeat_ns_ = welcome.heartbeat_ms() * kMillisecond;
  client_.publish_to(static_cast<std::uint16_t>(welcome.publish_port()));
  next_heartbeat_ns_ = 0;
}

void BusLink::answer(const v1::Answer& answer) {
  v1::BusMessage message;
  *message.mutable_answer() = answer;
  client_.send(message);
}

void BusLink::run_over(v1::RunOver over) {
  over_ = std::move(over);
  next_heartbeat_ns_ = 0;
}

void BusLink::leave(const std::string& reason) {
  v1::BusMessage message;
  message.mutable_leave()->set_incarnation(facts_.incarnation.value);
  message.mutable_leave()->set_reason(reason);
  client_.send(message);
}

void BusLink::take(const v1::Report& report) {
  client_.publish("report." + facts_.name, bytes_of(report.SerializeAsString()));
}

void BusLink::log(UtcNs utc_ns, const std::string& level, const std::string& text) {
  v1::FarmView::Line line;
  line.set_utc_ns(utc_ns);
  line.set_level(level);
  line.set_text(text);
  client_.publish("log." + facts_.name, bytes_of(line.SerializeAsString()));
}

}  // namespace weir::node
