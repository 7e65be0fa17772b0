#pragma once

#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/simnet/world.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weir::sim {

// Watches a run from a host without faults, and receives the supervisor's account of it.
class Watcher final : private sessions::PeerHandler {
 public:
  Watcher(simnet::World& world, const std::string& farm, const ports::Endpoint& supervisor)
      : host_(world.add_host("watcher")) {
    self_.role = Role::control;
    self_.name = "watcher";
    self_.farm = farm;
    link_.emplace(self_, static_cast<sessions::PeerHandler&>(*this), limits_, counters_, supervisor,
                  20 * kMillisecond);
    host_.boot([this](TimeNs now_ns) { link_->tick(host_, now_ns); },
               [] { return std::numeric_limits<TimeNs>::max(); });
  }
  ~Watcher() override {
    host_.crash(simnet::Death::process);
    link_.reset();
  }
  [[nodiscard]] const std::optional<v1::RunSummary>& account() const { return account_; }
  // It has met the supervisor, at any time.
  [[nodiscard]] bool met() const { return met_; }
  [[nodiscard]] const std::string& state() const { return state_; }
  // The last status of each node, one line each.
  [[nodiscard]] const std::string& nodes() const { return nodes_; }
  // Sends run control's command as soon as a connection exists, and repeats it over the next one, because it
  // may not have arrived.
  void command(v1::Command::Kind kind, const std::string& node = {}) {
    v1::Command command;
    command.set_kind(kind);
    if (!node.empty()) command.add_nodes(node);
    const bool pausing = node.empty();
    auto same = std::find_if(wanted_.begin(), wanted_.end(), [&](const v1::Command& earlier) {
      return pausing ? earlier.nodes().empty() : !earlier.nodes().empty() && earlier.nodes(0) == node;
    });
    if (same != wanted_.end()) wanted_.erase(same);
    wanted_.push_back(command);
    if (link_->ready()) send(command);
  }
  // Sent once, if there is a connection now.
  void alert(std::int64_t before_ms, std::int64_t after_ms) {
    v1::Command command;
    command.set_kind(v1::Command::BURST);
    command.set_before_ms(before_ms);
    command.set_after_ms(after_ms);
    if (link_->ready()) send(command);
  }

 private:
  void on_ready(sessions::Peer&) override {
    met_ = true;
    for (const v1::Command& command : wanted_) send(command);
  }
  void send(const v1::Command& command) {
    v1::Control message;
    *message.mutable_command() = command;
    link_->peer().send(message);
  }
  void on_gone(sessions::Peer&, std::string_view) override {
    if (account_) link_->stop();
  }
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override {
    if (message.has_summary()) {
      account_ = message.summary();
      v1::Control done;
      done.mutable_command()->set_kind(v1::Command::SHUTDOWN);
      peer.send(done);
    }
    if (message.has_status()) {
      state_ = message.status().state();
      nodes_ = describe(message.status());
    }
    return {};
  }
  static std::string describe(const v1::FarmStatus& status) {
    std::string text;
    for (const v1::Report& report : status.nodes()) {
      text += "\n  " + report.name() + ": " + report.state();
      for (const auto& [name, value] : report.gauges()) {
        if (value > 0) text += " " + name + "=" + std::to_string(static_cast<std::int64_t>(value));
      }
    }
    return text;
  }

  simnet::Host& host_;
  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  std::optional<sessions::Connector> link_;
  std::optional<v1::RunSummary> account_;
  bool met_ = false;
  std::string state_;
  std::string nodes_;
  std::vector<v1::Command> wanted_;  // the last word about each node, and about the run
};

}  // namespace weir::sim
