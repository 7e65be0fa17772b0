#include "relay_work.hpp"
#include "space.hpp"
#include <weir/lab/software_plan.hpp>

#include <utility>

namespace weir::lab {
namespace {

class SoftwareRelay : public RelayWork {
 public:
  SoftwareRelay(const LabPlan& plan, std::vector<SoftwareSwitch> plans,
                std::vector<std::unique_ptr<packet_switch::PacketSwitch>> switches)
      : hosts_(plan.hosts.size()),
        ports_(plan.ports.size()),
        plans_(std::move(plans)),
        switches_(std::move(switches)) {}

  [[nodiscard]] std::vector<int> devices() const override {
    std::vector<int> files;
    for (const auto& one : switches_) files.push_back(one->file());
    return files;
  }
  bool receive(std::size_t device, RelayEvents& /*events*/) override { return switches_[device]->run(); }
  bool send_due(RelayEvents& /*events*/) override { return true; }
  // Each switch has a timer of its own.
  [[nodiscard]] std::optional<TimeNs> due_ns() const override { return std::nullopt; }
  void set_down(bool /*down*/) override {}  // no long line
  [[nodiscard]] std::array<PortCount, 2> line_counts() const override { return {}; }

  [[nodiscard]] std::vector<PortCount> port_counts() const override {
    std::vector<PortCount> counts(ports_);
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const packet_switch::SwitchCounts own = switches_[i]->counts();
      for (std::size_t port = 0; port < own.ports.size(); ++port) {
        const std::size_t place = plans_[i].ports[port];
        if (place == SIZE_MAX) continue;
        counts[place].drops += own.ports[port].dropped_ahead;
        counts[place].backlog_bytes += own.ports[port].waiting_bytes;
        counts[place].pauses += own.ports[port].pauses;
        counts[place].paused_ns += own.ports[port].paused_ns;
      }
    }
    return counts;
  }
  void add_device_drops(std::vector<PortCount>& /*ports*/) const override {}

  [[nodiscard]] reports::RelayReport report() const override {
    reports::RelayReport report;
    report.links = hosts_;
    report.is_software = true;
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const packet_switch::SwitchCounts counts = switches_[i]->counts();
      if (!plans_[i].is_card) {
        ++report.switches;
        report.frames += counts.received();
      }
      report.dropped += counts.dropped();
      report.marked += counts.marked();
      for (std::size_t reason = 0; reason < switching::kFrameDrops; ++reason) {
        const auto why = static_cast<switching::FrameDrop>(reason);
        if (const std::uint64_t dropped = counts.dropped(why); dropped > 0)
          report.drops[switching::name_of(why)] += dropped;
      }
    }
    return report;
  }

 private:
  std::size_t hosts_;
  std::size_t ports_;
  std::vector<SoftwareSwitch> plans_;
  std::vector<std::unique_ptr<packet_switch::PacketSwitch>> switches_;
};

}  // namespace

std::unique_ptr<RelayWork> relay_software(const LabPlan& plan, const LabNetwork& network) {
  std::vector<SoftwareSwitch> plans = software_switches(plan);
  std::vector<std::unique_ptr<packet_switch::PacketSwitch>> switches;
  in_space(network.space(kSwitches), [&] {
    for (const SoftwareSwitch& one : plans)
      switches.push_back(std::make_unique<packet_switch::PacketSwitch>(one.settings));
  });
  return std::make_unique<SoftwareRelay>(plan, std::move(plans), std::move(switches));
}

}  // namespace weir::lab
