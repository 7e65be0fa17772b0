// The path between readouts and DCMs, and the results of a run.
#include <weir/packet_model/pull_model.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weir::packet_model {
namespace {

constexpr std::uint32_t kAckWire = 90;  // a frame without data
constexpr std::uint32_t kRequestWire = 150;
constexpr DurationNs kDelayedAck = 40 * kMillisecond;
constexpr double kOvertakenNs = 30'000;

enum Hop : std::uint8_t { kLine, kCore, kPort, kHost };

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void PullModel::send_segment(std::uint32_t number, std::uint32_t segment, std::uint16_t length,
                             TimeNs now_ns) {
  ++packets_;
  Connection& connection = connections_[number];
  PullEvent event{PullEventKind::segment, kHost, length, number, segment, 0, now_ns};
  if (connection.local) return queue_.push(now_ns + connection.way_ns, event);
  const TimeNs left = readouts_[connection.readout].uplink.pass(length + kFrameOverhead, now_ns);
  event.hop = connection.over_line && !line_.empty() ? kLine
              : core_.empty() || connection.greedy   ? kPort
                                                     : kCore;
  queue_.push(left + connection.way_ns, event);
}

void PullModel::hop(const PullEvent& event) {
  switch (event.hop) {
    case kLine:
      return enter(line_[0], network_.line[0], event);
    case kCore:
      return enter(core_[0], network_.core[0], event);
    case kPort: {
      const std::uint32_t port = connections_[event.index].port;
      return enter(ports_[port], network_.ports[port], event);
    }
    default:
      return received(event);
  }
}

void PullModel::enter(ByteLink& link, const LinkSpec& spec, const PullEvent& event) {
  if (losses_.chance(spec.loss)) {
    ++random_losses_;
    return;
  }
  const auto leaves = link.enter(event.length + kFrameOverhead, now_ns_);
  if (!leaves) return;
  PullEvent next = event;
  next.hop = event.hop == kLine ? (core_.empty() ? kPort : kCore) : event.hop + 1;
  TimeNs at = *leaves;
  if (next.hop == kHost && losses_.chance(network_.reordered))
    at += static_cast<DurationNs>(losses_.exponential(kOvertakenNs));
  queue_.push(at, next);
}

void PullModel::received(const PullEvent& event) {
  Connection& connection = connections_[event.index];
  const std::uint64_t before = connection.receiver.in_order();
  const auto outcome = connection.receiver.segment(event.first, event.length, event.stamp_ns);
  if (outcome.acknowledge) {
    acknowledge(event.index, outcome.ack);
  } else if (!std::exchange(connection.delayed_ack, true)) {
    queue_.push(now_ns_ + kDelayedAck, {.kind = PullEventKind::delayed_ack, .index = event.index});
  }
  const std::uint64_t here = connection.receiver.in_order();
  if (here == before || connection.greedy) return;
  while (connection.stamped < connection.answers.size() && connection.answers[connection.stamped].end <= here)
    connection.answers[connection.stamped++].here_ns = now_ns_;
  Dcm& dcm = dcms_[connection.dcm];
  if (!std::exchange(connection.readable, true)) dcm.readable.push_back(event.index);
  wake(dcm, connection.dcm);
}

void PullModel::acknowledge(std::uint32_t connection, const Acknowledgement& ack) {
  send_back({.kind = PullEventKind::acknowledgement,
             .length = static_cast<std::uint16_t>(ack.duplicate),
             .index = connection,
             .first = ack.next,
             .second = ack.beyond,
             .stamp_ns = ack.echo_ns});
}

// Acknowledgements are never lost; where hosts both send and receive, they use capacity on the hosts' links.
void PullModel::send_back(const PullEvent& event) {
  const Connection& connection = connections_[event.index];
  TimeNs at = now_ns_;
  const bool crowded = connection.back_link != UINT32_MAX && !connection.local;
  const std::uint32_t wire = event.kind == PullEventKind::requests ? kRequestWire : kAckWire;
  if (crowded) at = readouts_[connection.back_link].uplink.pass(wire, now_ns_);
  PullEvent next = event;
  next.hop = crowded ? kPort : kHost;
  queue_.push(at + connection.way_ns, next);
}

void PullModel::hop_back(const PullEvent& event) {
  Connection& connection = connections_[event.index];
  if (event.hop == kPort) {
    const std::uint32_t wire = event.kind == PullEventKind::requests ? kRequestWire : kAckWire;
    PullEvent next = event;
    next.hop = kHost;
    return queue_.push(ports_[connection.readout].pass(wire, now_ns_), next);
  }
  if (event.kind == PullEventKind::requests) return requested(event);
  connection.sender.acknowledged({event.first, event.second, event.length > 0, event.stamp_ns}, now_ns_);
  arm(event.index);
}

void PullModel::arm(std::uint32_t number) {
  Connection& connection = connections_[number];
  const TimeNs at = connection.sender.timer_at_ns();
  if (at == 0 || (connection.timer_event_ns > 0 && connection.timer_event_ns <= at)) return;
  connection.timer_event_ns = std::max(at, now_ns_);
  queue_.push(connection.timer_event_ns, {.kind = PullEventKind::sender_timer, .index = number});
}

void PullModel::foreign_packet(const PullEvent& event) {
  const OtherTraffic& foreign = network_.foreign[event.index];
  constexpr std::uint32_t kWire = kSegmentBytes + kFrameOverhead;
  if (foreign.until_ns > 0 && now_ns_ >= foreign.until_ns) return;
  (void)ports_[foreign.port].enter(kWire, now_ns_);
  // Slightly uneven: an exact interval would fall into step with other traffic.
  const double apart = kWire * 8e9 / foreign.udp_bits_per_s;
  queue_.push(now_ns_ + static_cast<DurationNs>(apart * losses_.uniform(0.5, 1.5)), event);
}

std::uint64_t PullModel::payload() const {
  std::uint64_t sum = 0;
  for (const Dcm& dcm : dcms_) sum += dcm.collector.payload();
  return sum;
}

std::uint64_t PullModel::drops() const {
  std::uint64_t sum = 0;
  for (const auto* links : {&ports_, &core_, &line_}) {
    for (const ByteLink& link : *links) sum += link.drops();
  }
  return sum;
}

void PullModel::trace() {
  const DurationNs step = network_.length_ns / 100;
  const double best = best_bytes_per_s(network_, now_ns_ - step, now_ns_) * static_cast<double>(step) / 1e9;
  const std::uint64_t now = payload();
  std::printf("%9.3f s  goodput %6.1f %%  queue %8.0f  drops %6llu ", static_cast<double>(now_ns_) / kSecond,
              100 * static_cast<double>(now - std::exchange(traced_payload_, now)) / best,
              ports_[network_.dcms[0].port].queued(now_ns_), static_cast<unsigned long long>(drops()));
  for (Dcm& dcm : dcms_) {
    const shaping::Shaper& shaper = dcm.collector.shaper();
    std::printf(" | window %8llu out %8llu base %7.1f us piece %6llu",
                static_cast<unsigned long long>(shaper.window()),
                static_cast<unsigned long long>(shaper.outstanding()),
                static_cast<double>(shaper.base_ns()) / kMicrosecond,
                static_cast<unsigned long long>(shaper.piece_bytes()));
  }
  std::printf("\n");
  queue_.push(now_ns_ + step, {.kind = PullEventKind::trace});
}

RunResult PullModel::result() {
  RunResult result;
  const double best = best_bytes_per_s(network_, warm_ns_, network_.length_ns);
  const double seconds = static_cast<double>(network_.length_ns - warm_ns_) / kSecond;
  result.goodput = static_cast<double>(payload() - warm_payload_) / (best * seconds);
  if (start_ns_ > 0) {
    const double start_best =
        best_bytes_per_s(network_, 0, start_ns_) * static_cast<double>(start_ns_) / kSecond;
    result.start_goodput = static_cast<double>(start_payload_) / start_best;
  }
  std::vector<double> latencies;
  for (const Dcm& dcm : dcms_) {
    result.slices += dcm.collector.done().size();
    for (const FragmentRequester::Done& done : dcm.collector.done()) {
      if (done.first_ns < warm_ns_) continue;
      latencies.push_back(static_cast<double>(done.last_ns - done.first_ns) /
                          static_cast<double>(done.serialisation_ns));
    }
  }
  // Slices that are not whole at the end count where they have taken longer than nearly all others.
  const double nearly_all = quantile(latencies, 0.99);
  for (const Dcm& dcm : dcms_) {
    for (const FragmentRequester::Done& open : dcm.collector.open_slices()) {
      const double age = static_cast<double>(network_.length_ns - open.first_ns) /
                         static_cast<double>(open.serialisation_ns);
      if (age > nearly_all) latencies.push_back(age);
    }
  }
  result.p50 = quantile(latencies, 0.5);
  result.p99 = quantile(latencies, 0.99);
  result.drops = drops();
  result.late_drops = result.drops - early_drops_;
  result.random_losses = random_losses_;
  for (const Connection& connection : connections_) {
    if (connection.greedy) continue;
    result.retransmissions += connection.sender.retransmissions();
    result.timeouts += connection.sender.timeouts();
  }
  result.packets = packets_;
  result.events = events_;
  return result;
}

}  // namespace weir::packet_model
