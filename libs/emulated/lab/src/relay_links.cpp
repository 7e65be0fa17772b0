#include "relay_work.hpp"
#include "space.hpp"
#include "tap.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/delay_line.hpp>

#include <atomic>
#include <cerrno>
#include <map>
#include <unistd.h>
#include <utility>

namespace weir::lab {
namespace {

// One end of a relayed link. Frames that arrive here take one of its directions.
struct RelayEnd {
  TapDevice tap;
  PortCount count;            // of frames that left at the other end
  std::uint64_t refused = 0;  // by the device at the other end, or while the line was down
};

class LinkRelay : public RelayWork {
 public:
  // `ends`: two for each link, in the order of LinkDelays' directions.
  LinkRelay(std::vector<RelayedLink> links, bool has_line, std::vector<RelayEnd> ends)
      : links_(std::move(links)), has_line_(has_line), ends_(std::move(ends)), delays_(links_) {}

  [[nodiscard]] std::vector<int> devices() const override {
    std::vector<int> files;
    for (const RelayEnd& end : ends_) files.push_back(end.tap.file.get());
    return files;
  }

  bool receive(std::size_t end, RelayEvents& events) override {
    RelayEnd& from = ends_[end];
    for (int i = 0; i < kFramesPerTurn; ++i) {
      const ssize_t size = ::read(from.tap.file.get(), frame_.data(), frame_.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (size <= 0) return false;
      if (end < 2 && down_.load(std::memory_order_relaxed)) {  // only a line goes down, the first link
        ++from.refused;
        continue;
      }
      delays_.offer(end, monotonic_now_ns(), ConstBytes(frame_.data(), static_cast<std::size_t>(size)));
    }
    return send_due(events);
  }

  bool send_due(RelayEvents& /*events*/) override {
    for (;;) {
      const TimeNs now = monotonic_now_ns();
      const auto due = delays_.due(now);
      if (!due) return true;
      RelayEnd& from = ends_[due->direction];
      const RelayEnd& to = ends_[due->direction ^ 1U];
      if (::write(to.tap.file.get(), due->frame->data(), due->frame->size()) < 0) {
        if (errno == EBADFD) return false;
        ++from.refused;
      } else {
        from.count.bytes += due->frame->size();
        ++from.count.packets;
      }
      delays_.pop(now);
    }
  }

  [[nodiscard]] std::optional<TimeNs> due_ns() const override { return delays_.due_ns(); }

  void set_down(bool down) override { down_.store(down, std::memory_order_relaxed); }

  [[nodiscard]] std::array<PortCount, 2> line_counts() const override { return {count(0), count(1)}; }

  [[nodiscard]] std::vector<PortCount> port_counts() const override { return {}; }
  void add_device_drops(std::vector<PortCount>& /*ports*/) const override {}

  [[nodiscard]] reports::RelayReport report() const override {
    reports::RelayReport report;
    report.links = links_.size();
    for (const RelayedLink& link : links_) {
      if (report.delay_ns == 0 || (link.delay_ns > 0 && link.delay_ns < report.delay_ns))
        report.delay_ns = link.delay_ns;
    }
    for (std::size_t i = has_line_ ? 2 : 0; i < ends_.size(); ++i) report.dropped += count(i).drops;
    report.set_lateness(delays_.lateness_us());
    return report;
  }

 private:
  [[nodiscard]] PortCount count(std::size_t end) const {
    PortCount count = ends_[end].count;
    count.drops = delays_.drops(end) + ends_[end].refused + ends_[end].tap.dropped();
    return count;
  }

  std::vector<RelayedLink> links_;
  bool has_line_;
  std::vector<RelayEnd> ends_;
  LinkDelays delays_;
  std::atomic<bool> down_{false};
  std::array<std::byte, kFrameBytesMax> frame_{};
};

}  // namespace

std::unique_ptr<RelayWork> relay_links(const LabPlan& plan, const LabNetwork& network) {
  std::vector<RelayedLink> links = plan.relayed_links();
  std::vector<RelayEnd> ends;
  std::map<Space, std::shared_ptr<OwnedDescriptor>> devices;
  for (const RelayedLink& link : links) {
    for (const RelayedEnd& place : {link.from, link.to}) {
      std::shared_ptr<OwnedDescriptor>& table = devices[place.space];
      in_space(network.space(place.space), [&] {
        if (!table) table = TapDevice::devices_here();
        ends.push_back({TapDevice::open(place.device, table), {}, 0});
      });
    }
  }
  return std::make_unique<LinkRelay>(std::move(links), plan.line.has_value(), std::move(ends));
}

}  // namespace weir::lab
