#include "relay_work.hpp"
#include "space.hpp"
#include "tap.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/switch_fabric.hpp>

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace weir::lab {
namespace {

// Frames of so long are moved together: a wake costs as much as a frame, and ports keep their rate.
constexpr DurationNs kWakeEvery = 50 * kMicrosecond;

class SwitchRelay : public RelayWork {
 public:
  // `taps`: of each host.
  SwitchRelay(const LabPlan& plan, std::vector<TapDevice> taps)
      : fabric_(plan),
        plan_(plan),
        switches_(plan.switches.size()),
        taps_(std::move(taps)),
        refused_(plan.ports.size()) {
    for (const LabHost& host : plan.hosts) shorten_delay(host.delay_ns);
    for (const Link& link : plan.links) shorten_delay(link.delay_ns);
  }

  [[nodiscard]] std::vector<int> devices() const override {
    std::vector<int> files;
    for (const TapDevice& tap : taps_) files.push_back(tap.file.get());
    return files;
  }

  bool receive(std::size_t host, RelayEvents& events) override {
    for (int i = 0; i < kFramesPerTurn; ++i) {
      if (!fabric_.takes(host)) {
        events.set_reading(taps_[host].file.get(), host, false);
        unread_.push_back(host);
        break;
      }
      const ssize_t size = ::read(taps_[host].file.get(), frame_.data(), frame_.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (size <= 0) return false;
      (void)fabric_.offer(host, monotonic_now_ns(),
                          ConstBytes(frame_.data(), static_cast<std::size_t>(size)));
    }
    return send_due(events);
  }

  bool send_due(RelayEvents& events) override {
    for (;;) {
      const TimeNs now = monotonic_now_ns();
      const auto arrival = fabric_.arrived(now);
      if (!arrival) break;
      if (::write(taps_[arrival->host].file.get(), arrival->frame->data(), arrival->frame->size()) < 0) {
        if (errno == EBADFD) return false;
        ++refused_[plan_.ports()[plan_.host_port(arrival->host)].back];
      }
      fabric_.pop(now);
    }
    std::erase_if(unread_, [&](std::size_t host) {
      if (!fabric_.takes(host)) return false;
      events.set_reading(taps_[host].file.get(), host, true);
      return true;
    });
    return true;
  }

  [[nodiscard]] std::optional<TimeNs> due_ns() const override {
    auto due_ns = fabric_.due_ns();
    if (due_ns) *due_ns += kWakeEvery;
    return due_ns;
  }

  void set_down(bool /*down*/) override {}  // no long line

  [[nodiscard]] std::array<PortCount, 2> line_counts() const override { return {}; }

  [[nodiscard]] std::vector<PortCount> port_counts() const override {
    std::vector<PortCount> counts;
    for (std::size_t port = 0; port < refused_.size(); ++port) {
      counts.push_back(fabric_.count(port));
      counts.back().drops += refused_[port];
    }
    return counts;
  }

  void add_device_drops(std::vector<PortCount>& ports) const override {
    for (std::size_t host = 0; host < taps_.size(); ++host)
      ports[plan_.host_port(host)].drops += taps_[host].dropped();
  }

  [[nodiscard]] reports::RelayReport report() const override {
    reports::RelayReport report;
    report.links = taps_.size();
    report.switches = switches_;
    report.delay_ns = delay_ns_;
    report.set_lateness(fabric_.lateness_us());
    return report;
  }

 private:
  void shorten_delay(DurationNs delay_ns) {
    if (delay_ns > 0 && (delay_ns_ == 0 || delay_ns < delay_ns_)) delay_ns_ = delay_ns;
  }

  SwitchFabric fabric_;
  FabricPlan plan_;
  std::size_t switches_;
  DurationNs delay_ns_ = 0;  // the shortest one of a cable
  std::vector<TapDevice> taps_;
  std::vector<std::size_t> unread_;     // hosts that wait until the fabric takes more
  std::vector<std::uint64_t> refused_;  // by port: frames that the host's device did not take
  std::array<std::byte, kFrameBytesMax> frame_{};
};

}  // namespace

std::unique_ptr<RelayWork> relay_switches(const LabPlan& plan, const LabNetwork& network) {
  std::vector<TapDevice> taps;
  for (std::size_t host = 0; host < plan.hosts.size(); ++host) {
    in_space(network.space(kFirstHost + host),
             [&] { taps.push_back(TapDevice::open("data", TapDevice::devices_here())); });
  }
  return std::make_unique<SwitchRelay>(plan, std::move(taps));
}

}  // namespace weir::lab
