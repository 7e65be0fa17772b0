#pragma once

#include "process.hpp"
#include "stored_run.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/dcm/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/readout/node.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/storage/earlier_life.hpp>
#include <weir/storage/file_disk.hpp>
#include <weir/supervisor/node.hpp>
#include <weir/transport/loop.hpp>
#include <weir/v1/control.pb.h>
#include <weir/writer/node.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// The real nodes of a farm in one process, over loopback and the real disk.
namespace weir::integration_test {

using system_test::TemporaryFolder;

constexpr DurationNs kWait = 2 * kMillisecond;
constexpr DurationNs kPatience = 60 * kSecond;

struct Farm {
  v1::Farm farm;
  config::FarmPlan plan;
};

inline Farm make_farm(const TemporaryFolder& folder, const std::string& text,
                      const std::string& mode = "pull", int slices = 1000) {
  auto file = config::read_farm("farm: one-process\nrun: {out: \"" + (folder / "out") + "\", slices: " +
                                    std::to_string(slices) + ", mode: " + mode + "}\n" + text,
                                "test");
  if (!file) throw std::runtime_error(config::to_text(file.error()));
  auto plan = config::expand(file->farm, file->locations);
  if (!plan) throw std::runtime_error(config::to_text(plan.error()));
  std::filesystem::create_directories(folder / "out");
  return {file->farm, *plan};
}

// A node with all that it refers to, on a loop that may be shared.
class Hosted {
 public:
  Hosted(const Farm& farm, const std::string& name, const ports::Endpoint& supervisor, transport::Loop& loop,
         const std::vector<std::string>& absent = {})
      : setup_(node::make_setup(farm.farm, farm.plan, name, supervisor)) {
    setup_.absent = absent;
    const auto totals = [&loop] { return loop.stream_totals(); };
    switch (setup_.identity.role) {
      case Role::supervisor:
        node_ = supervisor::make_node(
            setup_,
            {loop, loop, [this](const ports::Endpoint& at, const auto&...) { listens_at_ = at; }, totals});
        break;
      case Role::readout:
        node_ = readout::make_node(setup_,
                                   {loop, loop, totals, &loop, [&loop] { loop.wake(); }, {WEIR_PLUGIN_DIR}});
        break;
      case Role::dcm:
        node_ = dcm::make_node(setup_, {loop, loop, [&loop] { loop.wake(); }, totals, {WEIR_PLUGIN_DIR}});
        break;
      default:
        auto earlier = storage::read_earlier_life(farm.farm.run().out(), setup_.run, name);
        if (!earlier) throw std::runtime_error(earlier.error().detail);
        disk_ = std::make_unique<storage::FileDisk>([&loop] { loop.wake(); });
        node_ = writer::make_node(
            setup_, {loop, loop, *disk_, [this](ports::DiskHandler& handler) { disk_->deliver(handler); },
                     totals, [](const std::string&, std::uint32_t) {}, std::move(*earlier)});
    }
  }
  [[nodiscard]] node::Node& node() { return *node_; }
  [[nodiscard]] const ports::Endpoint& listens_at() const { return listens_at_; }

 private:
  node::Setup setup_;
  ports::Endpoint listens_at_;
  std::unique_ptr<storage::FileDisk> disk_;
  std::unique_ptr<node::Node> node_;
};

// Watches a run and receives the supervisor's account of it.
class Watcher final : private sessions::PeerHandler {
 public:
  Watcher(const Farm& farm, const ports::Endpoint& supervisor) {
    self_.role = Role::control;
    self_.name = "watcher";
    self_.farm = farm.farm.farm();
    link_.emplace(self_, static_cast<sessions::PeerHandler&>(*this), limits_, counters_, supervisor,
                  20 * kMillisecond);
  }
  void pass(transport::Loop& loop, TimeNs now_ns) { link_->tick(loop, now_ns); }
  [[nodiscard]] const std::optional<v1::RunSummary>& account() const { return account_; }
  [[nodiscard]] const v1::FarmStatus& status() const { return status_; }
  void command(v1::Command::Kind kind, const std::vector<std::string>& nodes = {}) {
    v1::Control message;
    message.mutable_command()->set_kind(kind);
    for (const std::string& node : nodes) message.mutable_command()->add_nodes(node);
    link_->peer().send(message);
  }

 private:
  void on_ready(sessions::Peer&) override {}
  void on_gone(sessions::Peer&, std::string_view) override {
    if (account_) link_->stop();
  }
  Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control& message) override {
    if (message.has_status()) status_ = message.status();
    if (!message.has_summary()) return {};
    account_ = message.summary();
    v1::Control taken;
    taken.mutable_command()->set_kind(v1::Command::SHUTDOWN);
    link_->peer().send(taken);
    return {};
  }

  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  std::optional<sessions::Connector> link_;
  std::optional<v1::RunSummary> account_;
  v1::FarmStatus status_;
};

inline std::vector<std::string> names_but_supervisor(const Farm& farm) {
  std::vector<std::string> names;
  for (const config::NodePlan& node : farm.plan.nodes) {
    if (node.role != Role::supervisor && !node.masked) names.push_back(node.name);
  }
  return names;
}

}  // namespace weir::integration_test
