#include <weir/base/assert.hpp>
#include <weir/line_figures/flood.hpp>
#include <weir/line_figures/samples.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::line_figures {
namespace {

constexpr double kEthernetHeader = 14;
constexpr double kUdpHeader = 8;
constexpr double kShortestBuffered = 60;
constexpr double kNotBuffered = 24;  // checksum, preamble and gap
constexpr double kBitsPerByte = 8;
constexpr double kNsPerSecond = 1e9;
// A queue builds up in the first part of a flood, and a token bucket is full then.
constexpr double kSettled = 0.1;
// Frames that waited this part of the longest wait or more passed a port that was busy all the time.
constexpr double kBusyPart = 0.25;
constexpr double kFaster = 1.05;
constexpr std::size_t kWindowFrames = 40;
constexpr std::size_t kWindowsMin = 5;
constexpr double kShortest = 0.1;
constexpr double kLongest = 0.9;
// Waits for the last place of a queue are alike. A host or relay without a core makes many of them longer, a
// switch without one makes some shorter, because its output is not full then.
constexpr double kSteady = 1.25;
constexpr double kStated = 0.25;
constexpr double kHalf = 0.5;

// An arrival with its wait, of any sender. Times are by the receiver's clock.
struct Frame {
  double could_arrive_ns = 0;  // on an idle line
  double arrived_ns = 0;
  bool after_drop = false;
  [[nodiscard]] double wait_ns() const { return arrived_ns - could_arrive_ns; }
};

double as_ns(std::int64_t ns) { return static_cast<double>(ns); }

// Returns all frames in the order of arrival. `origin` keeps the numbers small.
std::vector<Frame> merged(std::span<const FloodPart> parts, UtcNs origin) {
  std::vector<Frame> frames;
  for (const FloodPart& part : parts) {
    for (const Arrival& arrival : part.arrivals)
      frames.push_back({as_ns(arrival.sent_ns + part.least_transit_ns - origin),
                        as_ns(arrival.arrived_ns - origin), arrival.after_drop});
  }
  std::stable_sort(frames.begin(), frames.end(),
                   [](const Frame& a, const Frame& b) { return a.arrived_ns < b.arrived_ns; });
  return frames;
}

// Returns the rates, sorted, over windows of kWindowFrames frames that came directly after another one.
// `least_wait_ns`: only frames that waited so long, as the one before.
std::vector<double> window_rates(std::span<const Frame> frames, double bits, double least_wait_ns) {
  std::vector<double> rates;
  double ns = 0;
  std::size_t count = 0;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    const Frame& before = frames[i - 1];
    const Frame& frame = frames[i];
    if (frame.after_drop || before.wait_ns() < least_wait_ns || frame.wait_ns() < least_wait_ns) continue;
    ns += frame.arrived_ns - before.arrived_ns;
    if (++count < kWindowFrames) continue;
    if (ns > 0) rates.push_back(bits * static_cast<double>(count) / ns * kNsPerSecond);
    ns = 0;
    count = 0;
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

// Returns the rate of all frames together, without the gaps that this host's own drops left.
double rate_of_all(std::span<const Frame> frames, double bits) {
  double ns = 0;
  double passed = 0;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    if (frames[i].after_drop) continue;
    ns += frames[i].arrived_ns - frames[i - 1].arrived_ns;
    passed += bits;
  }
  return ns > 0 ? passed / ns * kNsPerSecond : 0;
}

// Waits of the frames of a sender directly before and after one that was lost on the line. Either got the
// last free place: the one before a loss where places become free several at a time, the one after it where
// other senders take them as well.
struct WaitsAtLoss {
  std::vector<double> before;
  std::vector<double> after;
};

void add_waits_at_loss(const FloodPart& part, WaitsAtLoss& waits) {
  const auto wait_ns = [&](const Arrival& arrival) {
    return as_ns(arrival.arrived_ns - arrival.sent_ns - part.least_transit_ns);
  };
  const Arrival* newest = nullptr;
  for (const Arrival& arrival : part.arrivals) {
    const std::uint32_t expected = newest == nullptr ? 0 : newest->sequence + 1;
    if (arrival.sequence < expected) continue;
    if (arrival.sequence > expected && !arrival.after_drop) {
      waits.after.push_back(wait_ns(arrival));
      if (newest != nullptr) waits.before.push_back(wait_ns(*newest));
    }
    newest = &arrival;
  }
}

// Returns the waits with the larger median, sorted. Requires: as many of both.
const std::vector<double>& of_full_queue(WaitsAtLoss& waits) {
  std::sort(waits.before.begin(), waits.before.end());
  std::sort(waits.after.begin(), waits.after.end());
  return quantile(waits.before, kHalf) >= quantile(waits.after, kHalf) ? waits.before : waits.after;
}

// Returns when the first lost frame would have arrived on an idle line; nullopt: no frame was lost.
std::optional<double> first_loss_ns(const FloodPart& part, UtcNs origin) {
  std::uint32_t expected = 0;
  UtcNs sent_ns = part.first_sent_ns;
  for (const Arrival& arrival : part.arrivals) {
    if (arrival.after_drop) return std::nullopt;  // of which kind the first loss was is unknown
    if (arrival.sequence > expected) return as_ns(sent_ns + part.least_transit_ns - origin);
    expected = std::max(expected, arrival.sequence + 1);
    sent_ns = arrival.sent_ns;
  }
  return std::nullopt;
}

std::optional<double> bytes_at_first_loss(std::span<const FloodPart> parts, UtcNs origin,
                                          const FrameSizes& sizes, double bits_per_s) {
  double loss_ns = std::numeric_limits<double>::infinity();
  double begin_ns = std::numeric_limits<double>::infinity();
  for (const FloodPart& part : parts) {
    if (const auto at = first_loss_ns(part, origin)) loss_ns = std::min(loss_ns, *at);
    begin_ns = std::min(begin_ns, as_ns(part.first_sent_ns + part.least_transit_ns - origin));
  }
  if (!std::isfinite(loss_ns)) return std::nullopt;
  double frames = 0;
  for (const FloodPart& part : parts) {
    for (const Arrival& arrival : part.arrivals)
      frames += as_ns(arrival.sent_ns + part.least_transit_ns - origin) <= loss_ns ? 1 : 0;
  }
  const double sent_on = bits_per_s / kBitsPerByte * (loss_ns - begin_ns) / kNsPerSecond;
  return std::max(0.0, frames * sizes.buffered - sent_on * sizes.buffered / sizes.on_wire);
}

double offered_bits(std::span<const FloodPart> parts, double frame_bits) {
  double bits_per_s = 0;
  for (const FloodPart& part : parts) {
    const double ns = as_ns(part.last_sent_ns - part.first_sent_ns);
    if (ns > 0 && part.sent > 1)
      bits_per_s += static_cast<double>(part.sent - 1) * frame_bits / ns * kNsPerSecond;
  }
  return bits_per_s;
}

}  // namespace

FrameSizes frame_sizes(double payload, double ip_header) {
  const double buffered = payload + kUdpHeader + ip_header + kEthernetHeader;
  return {buffered, std::max(buffered, kShortestBuffered) + kNotBuffered};
}

FloodFigures flood_figures(std::span<const FloodPart> parts, const FrameSizes& sizes) {
  WEIR_ASSERT(sizes.buffered > 0 && sizes.on_wire > 0);
  FloodFigures figures;
  const double frame_bits = sizes.on_wire * kBitsPerByte;
  figures.offered_bits_per_s = offered_bits(parts, frame_bits);
  UtcNs origin = 0;
  WaitsAtLoss at_loss;
  bool held_up = !parts.empty();
  std::uint64_t dropped_by_senders = 0;
  for (const FloodPart& part : parts) {
    if (origin == 0 && !part.arrivals.empty()) origin = part.arrivals.front().arrived_ns;
    figures.lost += count_datagrams(part.arrivals, part.sent, part.dropped_here).lost;
    add_waits_at_loss(part, at_loss);
    held_up = held_up && part.held_up;
    dropped_by_senders += part.dropped_by_sender;
  }
  std::vector<Frame> frames = merged(parts, origin);
  if (frames.size() < 2) return figures;
  const double span_ns = frames.back().arrived_ns - frames.front().arrived_ns;
  const double settled_ns = frames.front().arrived_ns + kSettled * span_ns;
  const auto settled = std::find_if(frames.begin(), frames.end(),
                                    [&](const Frame& frame) { return frame.arrived_ns >= settled_ns; });
  const std::span<const Frame> later(settled, frames.end());
  std::vector<double> waits;
  for (const Frame& frame : later) waits.push_back(frame.wait_ns());
  std::sort(waits.begin(), waits.end());
  figures.longest_wait_ns = std::max(0.0, quantile(waits, kLongest));

  const double received_bits_per_s = rate_of_all(later, frame_bits);
  figures.rate_bits_per_s = received_bits_per_s;
  const bool queued = figures.lost > 0 || figures.offered_bits_per_s > kFaster * received_bits_per_s;
  const std::vector<double> busy = window_rates(later, frame_bits, kBusyPart * figures.longest_wait_ns);
  if (queued && busy.size() >= kWindowsMin) figures.rate_bits_per_s = quantile(busy, kHalf);

  if (dropped_by_senders > 0 || (!queued && held_up)) {
    figures.limit = FloodLimit::sender_output;
  } else if (queued) {
    figures.limit = FloodLimit::port;
  }
  figures.full_queues = at_loss.after.size();
  const double bytes_per_ns =
      figures.rate_bits_per_s / kBitsPerByte / kNsPerSecond * sizes.buffered / sizes.on_wire;
  if (at_loss.before.size() >= kFullQueuesMin) {
    const std::vector<double>& full = of_full_queue(at_loss);
    figures.full_least_bytes = std::max(0.0, quantile(full, kShortest)) * bytes_per_ns;
    figures.full_most_bytes = std::max(0.0, quantile(full, kLongest)) * bytes_per_ns;
    if (figures.full_most_bytes <= kSteady * figures.full_least_bytes)
      figures.buffer_bytes = std::max(0.0, quantile(full, kStated)) * bytes_per_ns;
  }
  figures.first_loss_bytes = bytes_at_first_loss(parts, origin, sizes, figures.rate_bits_per_s);
  return figures;
}

}  // namespace weir::line_figures
