#include "report.hpp"

#include <weir/base/figures.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir::probe {
namespace {

using line_figures::FloodFigures;
using line_figures::FloodLimit;
using line_figures::PauseOutcome;
using line_figures::SampleStatistics;
using line_figures::statistics_of;

constexpr std::size_t kBins = 10;
constexpr std::size_t kBarMax = 40;
constexpr double kUsPerMs = 1000;

std::string us_text(double us) {
  return microseconds_text(static_cast<std::uint64_t>(std::llround(std::max(0.0, us))));
}

std::string rate(double bits_per_s) { return line_figures::rate_text(bits_per_s); }

const char* limit_text(FloodLimit limit) {
  switch (limit) {
    case FloodLimit::port:
      return "limited by a port of the line";
    case FloodLimit::sender_output:
      return "limited by the server's own output";
    case FloodLimit::sender_cpu:
      return "limited by the server's CPU: the line may be faster";
  }
  return "";
}

class Report {
 public:
  Report(const Measurement& measurement, const ProbeOptions& options) : m_(measurement), options_(options) {}

  std::string text() {
    add("Line from {} to this host{}\n", m_.server,
        m_.servers > 1 ? fmt::format(", flooded by {} servers", m_.servers) : "");
    round_trip();
    if (m_.flood) flood(*m_.flood);
    buffer();
    paused();
    spaced();
    series();
    messages();
    add("\n{}", line_figures::network_yaml(line_of(m_)));
    return text_;
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void round_trip() {
    const SampleStatistics summary = statistics_of(m_.round_trip_us);
    if (summary.count == 0) {
      add("  round trip   no datagram was answered: UDP is closed. TCP: {}\n", us_text(m_.handshake_us));
      return;
    }
    add("  round trip   p50 {}, p90 {}, p99 {}, least {}; {} of {} echoes answered\n", us_text(summary.p50),
        us_text(summary.p90), us_text(summary.p99), us_text(summary.least), summary.count, m_.echoes);
  }

  void flood(const FloodFigures& flood) {
    add("  rate         {} in frames of {:.0f} bytes on the wire, {} offered: {}\n",
        rate(flood.rate_bits_per_s), m_.frame.on_wire, rate(flood.offered_bits_per_s),
        limit_text(flood.limit));
  }

  void buffer() {
    const FloodFigures* found = m_.flood ? &*m_.flood : nullptr;
    if (found != nullptr && !found->buffer_bytes && m_.own_queue) found = &*m_.own_queue;
    if (found == nullptr) return;
    if (!found->buffer_bytes && found->full_most_bytes > 0) {
      add("  buffer       not measurable now, because frames also waited elsewhere: {} to {} in {} full "
          "queues. Repeat "
          "it when both hosts and the switch are quiet, or use --pause-port\n",
          bytes_text(found->full_least_bytes), bytes_text(found->full_most_bytes),
          grouped(found->full_queues));
    } else if (!found->buffer_bytes) {
      add("  buffer       not filled: {} frames lost. More servers, or faster ones, may fill it\n",
          found->lost);
    } else {
      const bool own = found->limit == FloodLimit::sender_output;
      add("  buffer       {} or {:.0f} frames, from {} frames that got the last place{}\n",
          bytes_text(*found->buffer_bytes), *found->buffer_bytes / m_.frame.buffered,
          grouped(found->full_queues), own ? ": the server's own output queue" : "");
      if (found->first_loss_bytes)
        add("               {} from the first loss\n", bytes_text(*found->first_loss_bytes));
      if (m_.small_flood) small_frames(*found->buffer_bytes);
    }
    if (m_.dropped_here > 0)
      add("               {} datagrams dropped by this host's socket, which do not count\n",
          grouped(m_.dropped_here));
  }

  static constexpr double kNear = 0.25;  // of two floods

  void small_frames(double buffer_bytes) {
    const double small_frame = m_.frame.buffered - m_.payload_bytes + m_.small_payload_bytes;
    if (!m_.small_flood->buffer_bytes && m_.small_flood->full_most_bytes > 0) {
      add("               not measurable with frames of {:.0f} bytes: {} to {} in full queues\n", small_frame,
          bytes_text(m_.small_flood->full_least_bytes), bytes_text(m_.small_flood->full_most_bytes));
      return;
    }
    if (!m_.small_flood->buffer_bytes) {
      add("               frames of {:.0f} bytes, {} offered, did not fill it\n", small_frame,
          rate(m_.small_flood->offered_bits_per_s));
      return;
    }
    const double small = *m_.small_flood->buffer_bytes;
    if (small > (1 + kNear) * buffer_bytes) {
      add("               not measurable with frames of {:.0f} bytes: {} are more than the buffer, so they "
          "also waited "
          "elsewhere\n",
          small_frame, bytes_text(small));
      return;
    }
    add("               {} or {:.0f} frames of {:.0f} bytes: it counts {}\n", bytes_text(small),
        small / small_frame, small_frame, unit_text({buffer_bytes, m_.frame.buffered}, {small, small_frame}));
  }

  // A buffer that was filled with frames of one length.
  struct FilledBuffer {
    double bytes = 0;
    double frame_bytes = 0;
  };
  // Returns the unit of which two lengths of frames fill about the same number.
  static const char* unit_text(const FilledBuffer& full, const FilledBuffer& small) {
    const auto near = [](double a, double b) { return std::abs(a - b) <= kNear * std::max(a, b); };
    const bool bytes = near(small.bytes, full.bytes);
    const bool frames = near(small.bytes / small.frame_bytes, full.bytes / full.frame_bytes);
    if (bytes != frames) return bytes ? "bytes" : "frames";
    return "neither bytes nor frames clearly";
  }

  void paused() {
    if (!m_.pause_refusal.empty()) return add("  by pausing   not possible: {}\n", m_.pause_refusal);
    if (m_.paused.empty()) return;
    for (const PausedTries& one : m_.paused) {
      add("  {:12} {}\n", &one == &m_.paused.front() ? "by pausing" : "", paused_text(one));
    }
    if (m_.paused.size() < 2) return;
    const auto full = line_figures::largest_buffer(m_.paused.front().tries);
    const auto small = line_figures::largest_buffer(m_.paused.back().tries);
    if (full && small)
      add("               it counts {}\n",
          unit_text({*full, m_.paused.front().frame.buffered}, {*small, m_.paused.back().frame.buffered}));
  }

  static std::string paused_text(const PausedTries& one) {
    const double frame = one.frame.buffered;
    if (const auto buffer = line_figures::largest_buffer(one.tries)) {
      std::string counts;
      for (const auto& attempt : one.tries)
        counts += attempt.outcome == PauseOutcome::measured ? fmt::format(" {}", attempt.held) : " -";
      return fmt::format("{} or {:.0f} frames of {:.0f} bytes survived, of{}", bytes_text(*buffer),
                         *buffer / frame, frame, counts);
    }
    const line_figures::PausedFigures& last = one.tries.back();
    switch (last.outcome) {
      case PauseOutcome::not_obeyed:
        return "the port does not obey pause frames";
      case PauseOutcome::interrupted:
        return fmt::format("{} frames passed meanwhile: this host repeats its pauses too late", last.passed);
      case PauseOutcome::outlasted:
        return "the server sent for longer than the pause: it is too busy";
      case PauseOutcome::not_filled:
      case PauseOutcome::measured:
        break;
    }
    return fmt::format("not filled by {} frames of {:.0f} bytes: nothing was lost", last.held, frame);
  }

  void spaced() {
    if (m_.spaced.empty()) return;
    add("\nSpaced datagrams\n   bytes   spacing    load     sent     lost  dropped here  reordered\n");
    for (const SpacedStream& one : m_.spaced)
      add("  {:6} {:>9} {:5.0f} % {:8} {:8} {:13} {:10}\n", one.payload_bytes,
          fmt::format("{:.1f} us", one.spacing_us), kPercent * one.load, one.counts.sent, one.counts.lost,
          one.counts.dropped_here, one.counts.reordered);
  }

  void series() {
    if (m_.series.empty()) return;
    add("\nRequests of 64 bytes, responses of {}, pauses of {} ms, {}\n", bytes_text(options_.response_bytes),
        options_.pause_ms,
        options_.congestion_control.empty() ? "the kernel's congestion control"
                                            : options_.congestion_control);
    add("  {:18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12}  window\n", "", "first", "p50", "p90", "p99", "max",
        "goodput");
    for (const NamedSeries& one : m_.series) one_series(one);
    const NamedSeries& paused = m_.series[std::min<std::size_t>(1, m_.series.size() - 1)];
    add("  histogram, {}:\n", paused.name);
    std::size_t most = 1;
    const auto bins = line_figures::histogram_of(paused.series.latency_us, kBins);
    for (const auto& bin : bins) most = std::max(most, bin.count);
    const int digits = bins.empty() ? 0 : digits_of(bins.front().to - bins.front().from);
    for (const auto& bin : bins)
      add("  {:>9} to {:>9} {:6} {}\n", fmt::format("{:.{}f} ms", bin.from / kUsPerMs, digits),
          fmt::format("{:.{}f} ms", bin.to / kUsPerMs, digits), bin.count,
          std::string(bin.count * kBarMax / most, '#'));
    idle_restart();
  }

  // Returns the digits of milliseconds that tell both ends of a bin apart.
  static int digits_of(double width_us) {
    constexpr int kDigitsMax = 4;
    int digits = 0;
    for (double width = width_us / kUsPerMs; width > 0 && width < 1 && digits < kDigitsMax; width *= 10)
      ++digits;
    return digits;
  }

  void one_series(const NamedSeries& one) {
    const std::vector<double>& all = one.series.latency_us;
    if (all.empty()) return;
    const std::vector<double> later(all.begin() + (all.size() > 1 ? 1 : 0), all.end());
    const SampleStatistics summary = statistics_of(later);
    std::uint32_t least = UINT32_MAX;
    std::uint32_t most = 0;
    std::uint32_t retransmitted = 0;
    for (const WindowSample& sample : one.series.window) {
      least = std::min(least, sample.window);
      most = std::max(most, sample.window);
      retransmitted = std::max(retransmitted, sample.retransmitted);
    }
    add("  {:18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12}  {}\n", one.name, us_text(all.front()),
        us_text(summary.p50), us_text(summary.p90), us_text(summary.p99), us_text(summary.most),
        summary.p50 > 0 ? bytes_text(options_.response_bytes / summary.p50 * 1e6) + "/s" : "",
        one.series.window.empty()
            ? std::string("unknown")
            : fmt::format("{} to {} segments, {} retransmitted", least, most, retransmitted));
  }

  void idle_restart() {
    if (m_.idle_restart == IdleRestart::off)
      add("  the server's net.ipv4.tcp_slow_start_after_idle is off\n");
    if (m_.idle_restart != IdleRestart::on || m_.changed_idle_restart) return;
    add("  the server's net.ipv4.tcp_slow_start_after_idle is on, and is changed only by root in a network "
        "namespace of its own\n");
  }

  void messages() {
    if (m_.messages.empty()) return;
    add("\nCPU time of a message in the server's and in this thread\n   bytes      send   receive\n");
    std::vector<std::pair<double, double>> send;
    std::vector<std::pair<double, double>> receive;
    for (const MessagePoint& point : m_.messages) {
      add("  {:6} {:6.2f} us {:6.2f} us\n", point.bytes, point.times.send_us, point.times.receive_us);
      send.emplace_back(point.bytes, point.times.send_us);
      receive.emplace_back(point.bytes, point.times.receive_us);
    }
    const auto sent = line_figures::fit_cost(send);
    const auto received = line_figures::fit_cost(receive);
    constexpr double kNsPerUs = 1000;
    if (!sent || !received) return;
    add("  fitted {:6.2f} us {:6.2f} us, and {:.2f} ns and {:.2f} ns a byte; at most {:.0f} and {:.0f} % "
        "off\n",
        sent->per_message, received->per_message, kNsPerUs * sent->per_byte, kNsPerUs * received->per_byte,
        kPercent * line_figures::deviation_of(*sent, send),
        kPercent * line_figures::deviation_of(*received, receive));
    if (line_figures::deviation_of(*received, receive) > kNear)
      add("  the time of receiving is not linear in the bytes: use the table, not the fit\n");
  }

  const Measurement& m_;
  const ProbeOptions& options_;
  std::string text_;
};

}  // namespace

std::string report_of(const Measurement& measurement, const ProbeOptions& options) {
  return Report(measurement, options).text();
}

std::string samples_of(const Measurement& measurement) {
  std::string text;
  const auto add = [&text](const auto& format, const auto&... values) {
    fmt::format_to(std::back_inserter(text), fmt::runtime(format), values...);
  };
  const line_figures::LineFigures line = line_of(measurement);
  const auto bytes = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.0f}", *value) : std::string("null");
  };
  const FloodFigures flood = measurement.flood.value_or(FloodFigures());
  add("{{\"kind\":\"line\",\"server\":\"{}\",\"rate_bits_per_s\":{:.0f},\"rate_is_lower_bound\":{},"
      "\"buffer_bytes\":{},\"buffer_flooded_bytes\":{},\"buffer_first_loss_bytes\":{},"
      "\"buffer_paused_bytes\":{},\"buffer_of_sender\":{},\"buffer_full_queues\":{},\"buffer_least_bytes\":{:"
      ".0f},"
      "\"buffer_most_bytes\":{:.0f},\"flood_lost\":{},\"round_trip_us\":{:.1f}}}\n",
      measurement.server, line.rate_bits_per_s, line.rate_is_lower_bound, bytes(line.buffer_bytes),
      bytes(flood.buffer_bytes), bytes(flood.first_loss_bytes), bytes(paused_buffer(measurement)),
      line.buffer_of_sender, flood.full_queues, flood.full_least_bytes, flood.full_most_bytes, flood.lost,
      line.round_trip_us);
  for (const double us : measurement.round_trip_us) add("{{\"kind\":\"round_trip\",\"us\":{:.1f}}}\n", us);
  for (const PausedTries& one : measurement.paused) {
    for (const auto& attempt : one.tries)
      add("{{\"kind\":\"paused\",\"bytes\":{},\"sent\":{},\"passed\":{},\"held\":{},\"lost\":{}}}\n",
          one.payload_bytes, attempt.sent, attempt.passed, attempt.held, attempt.lost);
  }
  for (const SpacedStream& one : measurement.spaced)
    add("{{\"kind\":\"spaced\",\"bytes\":{},\"spacing_us\":{:.3f},\"load\":{:.3f},\"sent\":{},\"lost\":{},"
        "\"dropped_here\":{},\"reordered\":{}}}\n",
        one.payload_bytes, one.spacing_us, one.load, one.counts.sent, one.counts.lost,
        one.counts.dropped_here, one.counts.reordered);
  for (const NamedSeries& one : measurement.series) {
    for (std::size_t i = 0; i < one.series.latency_us.size(); ++i)
      add("{{\"kind\":\"request\",\"series\":\"{}\",\"at_us\":{:.0f},\"us\":{:.1f}}}\n", one.name,
          one.series.at_us[i], one.series.latency_us[i]);
    for (const WindowSample& sample : one.series.window)
      add("{{\"kind\":\"window\",\"series\":\"{}\",\"at_us\":{},\"segments\":{},\"unacknowledged\":{},"
          "\"round_trip_us\":{},\"retransmitted\":{}}}\n",
          one.name, sample.at_us, sample.window, sample.unacknowledged, sample.round_trip_us,
          sample.retransmitted);
  }
  for (const MessagePoint& point : measurement.messages)
    add("{{\"kind\":\"message\",\"bytes\":{},\"send_us\":{:.3f},\"receive_us\":{:.3f}}}\n", point.bytes,
        point.times.send_us, point.times.receive_us);
  return text;
}

}  // namespace weir::probe
