#include <weir/base/assert.hpp>
#include <weir/packet_model/tcp.hpp>

#include <algorithm>
#include <cmath>

namespace weir::packet_model {
namespace {

constexpr double kInitialWindow = 10;
constexpr DurationNs kTimeoutMin = 200 * kMillisecond;
constexpr DurationNs kProbeMin = 8 * kMillisecond;  // two ticks of the kernel's timer
constexpr DurationNs kTimeoutMax = 120 * kSecond;
constexpr std::uint32_t kDuplicates = 3;
constexpr double kSlowStartWatched = 16;  // segments from which on HyStart looks
constexpr std::uint32_t kRoundSamples = 8;
constexpr DurationNs kTrainGap = 2 * kMillisecond;

}  // namespace

void TcpSender::grow_ring() {
  std::vector<Segment> larger(segments_.size() * 2);
  for (std::uint32_t i = first_; i != next_; ++i) larger[i & (larger.size() - 1)] = at(i);
  segments_ = std::move(larger);
}

void TcpSender::write(std::uint64_t bytes, TimeNs now_ns) {
  if (out() == 0 && unsent_ == 0) restart_after_idle(now_ns);
  unsent_ += bytes;
  send_out(now_ns);
}

void TcpSender::restart_after_idle(TimeNs now_ns) {
  const DurationNs idle = now_ns - last_sent_ns_;
  if (last_sent_ns_ == 0) return;
  cubic_.idle_for(idle);
  if (!settings_.slow_start_after_idle) return;
  const DurationNs timeout = smoothed_ns_ + std::max(kTimeoutMin, 4 * deviation_ns_);
  threshold_ = idle > timeout ? std::max(threshold_, 0.75 * window_) : threshold_;
  for (DurationNs left = idle; left > timeout && window_ > kInitialWindow; left -= timeout)
    window_ = std::max(window_ / 2, kInitialWindow);
}

void TcpSender::send_out(TimeNs now_ns) {
  bool sent = false;
  while (in_flight() < static_cast<std::uint32_t>(window_)) {
    if (lost_ > again_ && send_lost(now_ns)) continue;
    if (unsent_ == 0) break;
    send_new(now_ns);
    sent = true;
  }
  if (limited_until_ <= first_ || in_flight() > most_out_) {
    most_out_ = in_flight();
    limited_until_ = next_;
    limited_ = in_flight() >= static_cast<std::uint32_t>(window_);
  } else if (in_flight() >= static_cast<std::uint32_t>(window_)) {
    limited_ = true;
  }
  if (sent) arm(now_ns);
}

void TcpSender::send_new(TimeNs now_ns) {
  if (out() == segments_.size()) grow_ring();
  Segment& segment = at(next_);
  segment = {};
  segment.length = static_cast<std::uint16_t>(std::min<std::uint64_t>(unsent_, kSegmentBytes));
  segment.sent_ns = last_sent_ns_ = now_ns;
  segment.order = ++sent_;
  unsent_ -= segment.length;
  ++reduced_sent_;
  wire_->send_segment(connection_, next_++, segment.length, now_ns);
}

bool TcpSender::send_lost(TimeNs now_ns) {
  for (std::uint32_t i = std::max(lost_from_, first_); i < next_; ++i) {
    if (!at(i).lost || at(i).again) continue;
    lost_from_ = i;
    send_again(i, now_ns);
    return true;
  }
  return false;
}

void TcpSender::send_again(std::uint32_t number, TimeNs now_ns) {
  Segment& segment = at(number);
  segment.sent_ns = last_sent_ns_ = now_ns;
  segment.order = ++sent_;
  segment.ever_again = true;
  if (!segment.again) ++again_;
  segment.again = true;
  if (first_again_ns_ == 0) first_again_ns_ = now_ns;
  ++retransmissions_;
  ++reduced_sent_;
  wire_->send_segment(connection_, number, segment.length, now_ns);
}

void TcpSender::delivered(std::uint32_t number, TimeNs now_ns) {
  Segment& segment = at(number);
  if (segment.lost) --lost_;
  if (segment.again) --again_;
  segment.lost = segment.again = false;
  if (segment.order < rack_order_) return;
  // An acknowledgement so soon after a retransmission is for the original.
  if (segment.ever_again && now_ns - segment.sent_ns < shortest_ns_) return;
  rack_sent_ns_ = segment.sent_ns;
  rack_order_ = segment.order;
}

void TcpSender::acknowledged(const Acknowledgement& ack, TimeNs now_ns) {
  std::uint32_t newly = 0;
  const std::uint32_t first_before = first_;
  const std::uint64_t rack_before = rack_order_;
  if (state_ != State::open && ack.next > first_) undo(ack);
  for (; first_ < ack.next; ++first_) {
    Segment& segment = at(first_);
    if (segment.there) {
      --there_;
    } else {
      delivered(first_, now_ns);
      ++newly;
    }
  }
  if (!settings_.selective) {
    newly += count_duplicates(first_ - first_before, ack.next == first_);
  } else if (ack.beyond != kNoSegment && ack.beyond >= first_ && !at(ack.beyond).there) {
    delivered(ack.beyond, now_ns);
    at(ack.beyond).there = true;
    ++there_;
    ++newly;
  }
  if (newly > 0) measure(now_ns - ack.echo_ns, now_ns);
  if (rack_order_ > rack_before) rack_round_trip_ns_ = now_ns - rack_sent_ns_;
  end_probe(ack, newly == 0);
  if (first_ > first_before) backed_off_ = 0;
  if (state_ != State::open && first_ >= until_) {
    if (state_ == State::recovery) window_ = threshold_;
    state_ = State::open;
  }
  settings_.selective ? find_lost(now_ns) : find_lost_by_duplicates(first_ > first_before);
  if (state_ == State::open && lost_ > 0) enter_recovery();
  if (state_ == State::recovery) {
    recover(newly);
  } else if (first_ > first_before) {
    grow(first_ - first_before, now_ns);
  }
  if (first_ > first_before) arm(now_ns);
  send_out(now_ns);
}

void TcpSender::measure(DurationNs round_trip_ns, TimeNs now_ns) {
  const DurationNs sample = std::max<DurationNs>(round_trip_ns, 1);
  shortest_ns_ = std::min(shortest_ns_, sample);
  deviation_ns_ += (std::abs(sample - smoothed_ns_) - deviation_ns_) / 4;
  smoothed_ns_ += (sample - smoothed_ns_) / 8;
  if (state_ == State::open && window_ < threshold_ && window_ >= kSlowStartWatched)
    look_for_slow_start_end(sample, now_ns);
}

// HyStart: slow start ends when acknowledgements arrive in a train of half a round trip, or late.
void TcpSender::look_for_slow_start_end(DurationNs sample, TimeNs now_ns) {
  if (first_ >= round_end_) {
    round_began_ns_ = last_ack_ns_ = now_ns;
    round_end_ = next_;
    round_samples_ = 0;
    round_shortest_ns_ = 0;
  }
  if (now_ns - last_ack_ns_ <= kTrainGap) {
    last_ack_ns_ = now_ns;
    if (now_ns - round_began_ns_ > shortest_ns_ / 2 && shortest_ns_ > kTrainGap) threshold_ = window_;
  }
  if (round_samples_ >= kRoundSamples) return;
  round_shortest_ns_ = round_samples_++ == 0 ? sample : std::min(round_shortest_ns_, sample);
  const DurationNs late = std::clamp<DurationNs>(shortest_ns_ / 8, 4 * kMillisecond, 16 * kMillisecond);
  if (round_samples_ == kRoundSamples && round_shortest_ns_ > shortest_ns_ + late) threshold_ = window_;
}

void TcpSender::end_probe(const Acknowledgement& ack, bool told_nothing) {
  if (probe_until_ == kNoSegment || ack.next < probe_until_) return;
  if (probe_again_ && !ack.duplicate && ack.next > probe_until_) {
    if (state_ == State::open) {
      reduce();
      window_ = threshold_;
    }
  } else if (probe_again_ && !ack.duplicate && !told_nothing) {
    return;
  }
  probe_until_ = kNoSegment;
}

// A duplicate stands for some segment beyond the gap, and progress for all that it covers but one. Returns
// how many segments are newly known to have left the network, beside those covered.
std::uint32_t TcpSender::count_duplicates(std::uint32_t progress, bool repeats) {
  const std::uint32_t before = there_;
  if (progress > 0) there_ -= std::min(there_, progress - 1);
  if (progress == 0 && repeats) ++there_;
  const std::uint32_t gaps = std::max(lost_, 1U);
  there_ = std::min(there_, out() > gaps ? out() - gaps : 0);
  return there_ > before ? 1 : 0;
}

// Three duplicates show the loss of the first segment, and in a recovery each progress shows the next loss.
void TcpSender::find_lost_by_duplicates(bool progress) {
  if (out() == 0) return;
  const bool third = state_ == State::open && there_ >= kDuplicates;
  const bool partial = state_ == State::recovery && progress;
  if (third || partial) mark_lost(first_);
}

// RACK (RFC 8985): a segment is lost if it was sent before one that has arrived and the reordering window has
// passed.
void TcpSender::find_lost(TimeNs now_ns) {
  reorder_at_ns_ = 0;
  if (rack_order_ == 0 || (there_ == 0 && again_ == 0)) return;
  const bool sure = there_ >= kDuplicates || state_ != State::open;
  const DurationNs wait = rack_round_trip_ns_ + (sure ? 0 : shortest_ns_ / 4);
  for (std::uint32_t i = first_; i < next_; ++i) {
    const Segment& segment = at(i);
    if (segment.there || (segment.lost && !segment.again)) continue;
    if (segment.order > rack_order_) {
      if (!segment.ever_again) break;  // later segments were not resent either
      continue;
    }
    if (segment.sent_ns + wait <= now_ns) {
      mark_lost(i);
    } else if (reorder_at_ns_ == 0 || segment.sent_ns + wait < reorder_at_ns_) {
      reorder_at_ns_ = segment.sent_ns + wait;
    }
  }
}

void TcpSender::mark_lost(std::uint32_t number) {
  WEIR_ASSERT(number >= first_ && number < next_);
  Segment& segment = at(number);
  if (!segment.lost) ++lost_;
  segment.lost = true;
  if (segment.again) --again_;
  segment.again = false;
  lost_from_ = std::min(lost_from_, number);
}

void TcpSender::reduce() {
  before_window_ = window_;
  before_threshold_ = threshold_;
  cubic_.reduced(window_);
  threshold_ = std::max(window_ * kWindowCut, 2.0);
}

void TcpSender::enter_recovery() {
  reduce();
  state_ = State::recovery;
  until_ = next_;
  first_again_ns_ = 0;
  reduced_delivered_ = reduced_sent_ = 0;
}

// Proportional rate reduction (RFC 6937).
void TcpSender::recover(std::uint32_t newly) {
  reduced_delivered_ += newly;
  const double flying = in_flight();
  double may = 0;
  if (flying > threshold_) {
    may = std::ceil(reduced_delivered_ * threshold_ / before_window_) - reduced_sent_;
  } else {
    const double behind = static_cast<double>(reduced_delivered_) - reduced_sent_;
    may = std::min(threshold_ - flying, std::max<double>(behind, newly) + 1);
  }
  if (reduced_sent_ == 0) may = std::max(may, 1.0);
  window_ = std::max(flying + std::max(may, 0.0), 1.0);
}

void TcpSender::grow(std::uint32_t acked, TimeNs now_ns) {
  const bool starting = window_ < threshold_;
  if (!(limited_ || (starting && window_ < 2.0 * most_out_))) return;
  if (starting) {
    window_ = std::min(window_ + acked, threshold_);
    return;
  }
  window_ = cubic_.grown(window_, acked, shortest_ns_, now_ns);
}

// The acknowledged segment was sent before the first retransmission: nothing was lost (Eifel, RFC 4015).
void TcpSender::undo(const Acknowledgement& ack) {
  if (first_again_ns_ == 0 || ack.echo_ns >= first_again_ns_) return;
  for (std::uint32_t i = first_; i < next_; ++i) {
    Segment& segment = at(i);
    if (segment.lost && !segment.again) {
      segment.lost = false;
      --lost_;
    }
  }
  window_ = before_window_;
  threshold_ = before_threshold_;
  state_ = State::open;
}

TimeNs TcpSender::timer_at_ns() const {
  if (reorder_at_ns_ == 0) return timeout_at_ns_;
  return timeout_at_ns_ == 0 ? reorder_at_ns_ : std::min(reorder_at_ns_, timeout_at_ns_);
}

// Arms a probe first if no loss is known, then the timeout.
void TcpSender::arm(TimeNs now_ns) {
  timeout_at_ns_ = 0;
  if (out() == 0) return;
  DurationNs timeout = smoothed_ns_ + std::max(kTimeoutMin, 4 * deviation_ns_);
  timeout = std::min(timeout << std::min(backed_off_, 9), kTimeoutMax);
  timeout_at_ns_ = now_ns + timeout;
  probe_next_ = settings_.selective && state_ == State::open && there_ == 0 && probe_until_ == kNoSegment;
  if (!probe_next_) return;
  const DurationNs probe = 2 * smoothed_ns_ + (out() == 1 ? kTimeoutMin : kProbeMin);
  timeout_at_ns_ = std::min(timeout_at_ns_, now_ns + probe);
}

void TcpSender::timer(TimeNs now_ns) {
  if (reorder_at_ns_ > 0 && reorder_at_ns_ <= now_ns) {
    find_lost(now_ns);
    if (state_ == State::open && lost_ > 0) {
      enter_recovery();
      recover(0);
    }
    send_out(now_ns);
  }
  if (timeout_at_ns_ == 0 || timeout_at_ns_ > now_ns) return;
  if (probe_next_) return probe(now_ns);
  time_out(now_ns);
}

void TcpSender::probe(TimeNs now_ns) {
  probe_until_ = next_;
  probe_again_ = unsent_ == 0;
  if (probe_again_) {
    // Not counted in the window: the original may still arrive.
    Segment& last = at(next_ - 1);
    last.ever_again = true;
    last.sent_ns = now_ns;
    last.order = ++sent_;
    ++retransmissions_;
    wire_->send_segment(connection_, next_ - 1, last.length, now_ns);
  } else {
    send_new(now_ns);
    probe_until_ = next_;
  }
  arm(now_ns);
}

void TcpSender::time_out(TimeNs now_ns) {
  ++timeouts_;
  ++backed_off_;
  if (state_ != State::timed_out) reduce();
  state_ = State::timed_out;
  until_ = next_;
  probe_until_ = kNoSegment;
  if (!settings_.selective) there_ = 0;
  for (std::uint32_t i = first_; i < next_; ++i) {
    if (!at(i).there) mark_lost(i);
  }
  lost_from_ = first_;
  first_again_ns_ = 0;
  window_ = 1;
  send_out(now_ns);
  arm(now_ns);
}

}  // namespace weir::packet_model
