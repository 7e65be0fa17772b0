#pragma once

#include <weir/messages/peer.hpp>
#include <weir/simnet/world.hpp>
#include <weir/v1/control.pb.h>

#include <limits>
#include <optional>
#include <string>

namespace weir::sim {

// Whoever watches a run, from a host where nothing goes wrong, and takes the supervisor's account of it.
class Watcher final : private messages::PeerHandler {
 public:
  Watcher(simnet::World& world, const std::string& farm, const ports::Endpoint& supervisor)
      : host_(world.add_host("watcher")) {
    self_.role = messages::Role::control;
    self_.name = "watcher";
    self_.farm = farm;
    link_.emplace(self_, static_cast<messages::PeerHandler&>(*this), limits_, counters_, supervisor,
                  20 * kMillisecond);
    host_.boot([this](TimeNs now_ns) { link_->tick(host_, now_ns); },
               [] { return std::numeric_limits<TimeNs>::max(); });
  }
  ~Watcher() override {
    host_.crash(simnet::Death::process);
    link_.reset();
  }
  [[nodiscard]] const std::optional<v1::RunSummary>& account() const { return account_; }
  [[nodiscard]] const std::string& state() const { return state_; }

 private:
  void on_ready(messages::Peer&) override {}
  void on_gone(messages::Peer&, std::string_view) override {
    if (account_) link_->stop();
  }
  Expected<void, wire::WireError> on_control(messages::Peer& peer, const v1::Control& message) override {
    if (message.has_summary()) {
      account_ = message.summary();
      v1::Control done;
      done.mutable_command()->set_kind(v1::Command::SHUTDOWN);
      peer.send(done);
    }
    if (message.has_status()) state_ = message.status().state();
    return {};
  }

  simnet::Host& host_;
  messages::PeerInfo self_;
  messages::PeerLimits limits_;
  messages::PeerCounters counters_;
  std::optional<messages::Link> link_;
  std::optional<v1::RunSummary> account_;
  std::string state_;
};

}  // namespace weir::sim
