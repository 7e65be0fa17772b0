#include "relay_work.hpp"
#include "space.hpp"
#include "tap.hpp"
#include <weir/clock/clock.hpp>
#include <weir/lab/delay_line.hpp>

#include <algorithm>
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
      : links_(std::move(links)),
        has_line_(has_line),
        ends_(std::move(ends)),
        delays_(links_),
        waking_(shortest_delay()) {}

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
      // Frames are read late, too, by about half of a timer's time.
      offered_ns_ = std::max(offered_ns_, monotonic_now_ns() - waking_.ns() / 2);
      delays_.offer(end, offered_ns_, ConstBytes(frame_.data(), static_cast<std::size_t>(size)));
    }
    return send_due(events);
  }

  bool send_due(RelayEvents& /*events*/) override {
    if (const auto first = due_ns()) {
      if (const DurationNs late_ns = monotonic_now_ns() - *first; late_ns >= 0) waking_.add(late_ns);
    }
    for (;;) {
      const TimeNs now = monotonic_now_ns();
      const auto due = delays_.due(now + waking_.ns());
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

  // When to wake up for the next frame.
  [[nodiscard]] std::optional<TimeNs> due_ns() const override {
    const auto due = delays_.due_ns();
    return due ? std::optional(*due - waking_.ns()) : std::nullopt;
  }

  void set_down(bool down) override { down_.store(down, std::memory_order_relaxed); }

  [[nodiscard]] std::array<PortCount, 2> line_counts() const override { return {count(0), count(1)}; }

  [[nodiscard]] std::vector<PortCount> port_counts() const override { return {}; }
  void add_device_drops(std::vector<PortCount>& /*ports*/) const override {}

  [[nodiscard]] reports::RelayReport report() const override {
    reports::RelayReport report;
    report.links = links_.size();
    report.delay_ns = shortest_delay();
    for (std::size_t i = has_line_ ? 2 : 0; i < ends_.size(); ++i) report.dropped += count(i).drops;
    report.set_lateness(delays_.lateness_us());
    return report;
  }

 private:
  // Returns 0 if no link has a delay.
  [[nodiscard]] DurationNs shortest_delay() const {
    DurationNs shortest = 0;
    for (const RelayedLink& link : links_) {
      if (shortest == 0 || (link.delay_ns > 0 && link.delay_ns < shortest)) shortest = link.delay_ns;
    }
    return shortest;
  }
  [[nodiscard]] PortCount count(std::size_t end) const {
    PortCount count = ends_[end].count;
    count.drops = delays_.drops(end) + ends_[end].refused + ends_[end].tap.dropped();
    return count;
  }

  std::vector<RelayedLink> links_;
  bool has_line_;
  std::vector<RelayEnd> ends_;
  LinkDelays delays_;
  WakingTime waking_;
  TimeNs offered_ns_ = 0;
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
