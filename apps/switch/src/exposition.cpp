#include "exposition.hpp"

#include <weir/base/assert.hpp>
#include <weir/telemetry/prometheus.hpp>

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace weir::switch_node {
namespace {

using packet_switch::SwitchCounts;
using switching::FrameDrop;
using switching::RingCounters;
using switching::SwitchPortCounters;

class Text {
 public:
  explicit Text(const std::string& name) : switch_(telemetry::escape_label(name)) {}

  void announce(std::string_view metric, std::string_view type, std::string_view help) {
    metric_ = metric;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", metric, help, metric, type);
  }
  void sample(const std::string& labels, std::uint64_t value) {
    fmt::format_to(std::back_inserter(text_), "{}{{switch=\"{}\",{}}} {}\n", metric_, switch_, labels, value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string switch_;
  std::string metric_;
  std::string text_;
};

struct PortMetric {
  std::string_view name;
  std::string_view help;
  std::uint64_t SwitchPortCounters::*value;
};
constexpr PortMetric kPortMetrics[] = {
    {"weir_switch_received_frames_total", "Frames that arrived.", &SwitchPortCounters::received},
    {"weir_switch_received_bytes_total", "Their bytes, without those that the kernel dropped.",
     &SwitchPortCounters::received_bytes},
    {"weir_switch_sent_frames_total", "Frames that left.", &SwitchPortCounters::sent},
    {"weir_switch_sent_bytes_total", "Their bytes.", &SwitchPortCounters::sent_bytes},
    {"weir_switch_link_control_frames_total", "Frames for the switch itself, such as pauses.",
     &SwitchPortCounters::link_control},
    {"weir_switch_pauses_sent_total", "Pause frames that were sent, and ends of pauses.",
     &SwitchPortCounters::pauses_sent},
};

struct RingMetric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::uint64_t RingCounters::*value;
};
constexpr RingMetric kRingMetrics[] = {
    {"weir_switch_ring_frames_total", "counter", "Frames that left the ring.", &RingCounters::frames},
    {"weir_switch_ring_bytes_total", "counter", "Their bytes.", &RingCounters::bytes},
    {"weir_switch_ring_dropped_frames_total", "counter", "Frames for which the ring had no room.",
     &RingCounters::dropped},
    {"weir_switch_ring_marked_frames_total", "counter", "Frames with a mark of this switch (ECN).",
     &RingCounters::marked},
    {"weir_switch_ring_waiting_frames", "gauge", "Frames in the ring.", &RingCounters::waiting},
    {"weir_switch_ring_waiting_bytes", "gauge", "Their bytes.", &RingCounters::waiting_bytes},
    {"weir_switch_ring_waiting_frames_most", "gauge",
     "Most frames that were in the ring at once: in the last run, or since the start without run control.",
     &RingCounters::waiting_most},
    {"weir_switch_ring_waiting_bytes_most", "gauge", "Most bytes, likewise.",
     &RingCounters::waiting_bytes_most},
};

constexpr double kPercent = 100;

}  // namespace

std::string prometheus_text(const std::string& name, const switching::SwitchSettings& settings,
                            const SwitchCounts& counts) {
  WEIR_ASSERT(counts.ports.size() == settings.ports.size());
  Text text(name);
  const auto port = [&](std::size_t i) {
    return fmt::format("port=\"{}\"", telemetry::escape_label(settings.ports[i].name));
  };
  for (const PortMetric& metric : kPortMetrics) {
    text.announce(metric.name, "counter", metric.help);
    for (std::size_t i = 0; i < counts.ports.size(); ++i) text.sample(port(i), counts.ports[i].*metric.value);
  }
  text.announce("weir_switch_dropped_frames_total", "counter",
                "Frames that were dropped, by the port where they arrived.");
  for (std::size_t i = 0; i < counts.ports.size(); ++i) {
    for (std::size_t reason = 0; reason < switching::kFrameDrops; ++reason) {
      text.sample(fmt::format("{},reason=\"{}\"", port(i), name_of(static_cast<FrameDrop>(reason))),
                  counts.ports[i].dropped[reason]);
    }
  }
  text.announce("weir_switch_waiting_frames", "gauge", "Frames in the switch that will leave by this port.");
  for (std::size_t i = 0; i < counts.ports.size(); ++i) text.sample(port(i), counts.ports[i].waiting);
  for (const RingMetric& metric : kRingMetrics) {
    if (counts.rings.empty()) break;
    text.announce(metric.name, metric.type, metric.help);
    for (std::size_t i = 0; i < counts.rings.size(); ++i) {
      text.sample(fmt::format("ring=\"{}\"", telemetry::escape_label(settings.rings[i].name)),
                  counts.rings[i].*metric.value);
    }
  }
  return text.take();
}

std::string summary_text(const std::string& name, const switching::SwitchSettings& settings,
                         const SwitchCounts& counts, double seconds) {
  WEIR_ASSERT(counts.ports.size() == settings.ports.size());
  std::string text = fmt::format("Switch {}: {}, {} ports, {:.1f} s\n", name,
                                 switching::name_of(settings.queueing), counts.ports.size(), seconds);
  const auto line = [&](std::string_view key, std::string value) {
    text += fmt::format("  {:<16} {}\n", key, std::move(value));
  };
  std::string reasons;
  for (std::size_t reason = 0; reason < switching::kFrameDrops; ++reason) {
    const auto why = static_cast<FrameDrop>(reason);
    if (const std::uint64_t frames = counts.dropped(why); frames > 0)
      reasons += fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", switching::name_of(why), frames);
  }
  line("frames", fmt::format("{} received, {} sent, {} dropped{}", counts.received(), counts.sent(),
                             counts.dropped(), reasons));
  if (counts.held > 0) line("held", fmt::format("{} frames at the end", counts.held));
  for (std::size_t i = 0; i < counts.ports.size(); ++i) {
    const SwitchPortCounters& port = counts.ports[i];
    std::string value = fmt::format("{} received, {} sent", port.received, port.sent);
    if (port.paused_ns > 0)
      value += fmt::format(", paused {:.1f} % of the time", kPercent * static_cast<double>(port.paused_ns) /
                                                                (seconds * static_cast<double>(kSecond)));
    line(settings.ports[i].name, std::move(value));
  }
  for (std::size_t i = 0; i < counts.rings.size(); ++i) {
    const RingCounters& ring = counts.rings[i];
    line(settings.rings[i].name,
         fmt::format("ring: {} frames, {} dropped, at most {} of {} waiting", ring.frames, ring.dropped,
                     ring.waiting_most, settings.rings[i].frames_max));
  }
  return text;
}

std::uint64_t lost_frames(const SwitchCounts& counts) {
  return counts.dropped(FrameDrop::queue_full) + counts.dropped(FrameDrop::receive_full) +
         counts.dropped(FrameDrop::refused);
}

}  // namespace weir::switch_node
