#include <weir/base/assert.hpp>
#include <weir/packet_model/old_tcp.hpp>

#include <algorithm>
#include <cstdlib>

namespace weir::packet_model {
namespace {

constexpr std::uint32_t kDuplicatesOfLoss = 3;
constexpr std::uint32_t kBackoffMax = 64;
constexpr std::uint32_t kDoubtfulBackoff = 8;  // beyond it the measured round trip is no longer believed
constexpr std::uint32_t kLeastThreshold = 2;

}  // namespace

OldTcp::OldTcp(const OldTcpSpec& settings, DurationNs phase_ns)
    : settings_(settings),
      phase_ns_(phase_ns),
      window_(settings.initial_window),
      threshold_(settings.window),
      base_timeout_ns_(settings.first_timeout_ns) {
  WEIR_ASSERT(settings.window >= settings.initial_window && settings.window <= kSegmentsMax);
  WEIR_ASSERT(settings.initial_window > 0 && settings.tick_ns > 0);
}

std::uint32_t OldTcp::usable_window() const {
  return std::min(static_cast<std::uint32_t>(window_), settings_.window);
}

DurationNs OldTcp::timeout_ns() const {
  return std::min(base_timeout_ns_ * backoff_, settings_.timeout_max_ns);
}

std::optional<OldTcp::Sending> OldTcp::next(TimeNs now_ns) {
  if (state_ == State::closed && written_ > 0) {
    state_ = State::opening;
    measuring_ = true;
    measured_ns_ = last_sent_ns_ = now_ns;
    arm(now_ns);
    return Sending{kSyn, 0};
  }
  if (state_ == State::opening) {
    if (!first_again_) return std::nullopt;
    first_again_ = false;
    last_sent_ns_ = now_ns;
    return Sending{kSyn, 0};
  }
  if (first_again_) {
    first_again_ = false;
    ++retransmitted_;
    return send(first_, now_ns);
  }
  const bool has_data = next_ < end_ || cut_ < written_;
  if (!has_data) return std::nullopt;
  if (first_ == end_) restart_after_idle(now_ns);
  if (next_ >= first_ + usable_window()) return std::nullopt;
  if (next_ == end_) {
    cut_ += std::min(written_ - cut_, kOldSegmentBytes);
    ends_[end_++ % ends_.size()] = cut_;
    if (!measuring_) {
      measuring_ = true;
      measured_ = next_;
      measured_ns_ = now_ns;
    }
    ++next_;
    return send(next_ - 1, now_ns);
  }
  ++retransmitted_;
  return send(next_++, now_ns);
}

OldTcp::Sending OldTcp::send(std::uint32_t segment, TimeNs now_ns) {
  ++sent_;
  last_sent_ns_ = now_ns;
  if (timer_at_ns_ == 0) arm(now_ns);
  const std::uint32_t begin = segment == 0 ? 0 : end_of(segment - 1);
  return {segment, static_cast<std::uint16_t>(end_of(segment) - begin)};
}

void OldTcp::restart_after_idle(TimeNs now_ns) {
  if (last_sent_ns_ < 0) return;
  // Idle for whole ticks of the connection's clock.
  const auto tick_of = [&](TimeNs at_ns) { return (at_ns + phase_ns_) / settings_.tick_ns; };
  const DurationNs idle = (tick_of(now_ns) - tick_of(last_sent_ns_)) * settings_.tick_ns;
  if (idle > base_timeout_ns_) window_ = settings_.initial_window;
}

void OldTcp::opened(TimeNs now_ns) {
  if (state_ != State::opening) return;
  state_ = State::open;
  timer_at_ns_ = 0;
  if (measuring_) measure(now_ns);
}

void OldTcp::acknowledged(std::uint32_t next, TimeNs now_ns) {
  WEIR_ASSERT(next <= end_);
  if (next <= first_) {
    if (next == first_) duplicate(now_ns);
    return;
  }
  first_ = next;
  next_ = std::max(next_, first_);
  timer_at_ns_ = 0;
  if (first_ < end_) arm(now_ns);
  if (measuring_ && first_ > measured_) measure(now_ns);
  const bool partial = recovering_ && first_ < recover_;
  end_recovery(partial);
  if (!recovering_) grow();
}

void OldTcp::end_recovery(bool partial) {
  if (recovering_) window_ = std::min(window_, static_cast<double>(threshold_));
  if (partial && settings_.variant == OldTcpVariant::new_reno) {
    first_again_ = true;
    measuring_ = false;
    return;
  }
  recovering_ = false;
  duplicates_ = 0;
}

void OldTcp::grow() { window_ += window_ < threshold_ ? 1 : 1 / window_; }

void OldTcp::duplicate(TimeNs now_ns) {
  if (timer_at_ns_ == 0) {
    duplicates_ = 0;
    return;
  }
  ++duplicates_;
  if (duplicates_ > kDuplicatesOfLoss && recovering_) window_ += 1;
  if (duplicates_ != kDuplicatesOfLoss) return;
  // Segments that a timeout sent again cause duplicates without a loss.
  if (first_ <= recover_ && reaction_ == Reaction::timeout) return;
  halve();
  reaction_ = Reaction::duplicates;
  recovering_ = true;
  recover_ = end_;
  measuring_ = false;
  first_again_ = true;
  WEIR_ASSERT(first_ < end_);
  window_ = threshold_ + duplicates_;
  arm(now_ns);
}

void OldTcp::halve() { threshold_ = std::max(usable_window() / 2, kLeastThreshold); }

void OldTcp::timer(TimeNs now_ns) {
  WEIR_ASSERT(timer_at_ns_ > 0 && timer_at_ns_ <= now_ns);
  ++timeouts_;
  backoff_ = std::min(2 * backoff_, kBackoffMax);
  if (backoff_ > kDoubtfulBackoff) {
    deviation_quarters_ += smoothed_eighths_ / 8;
    smoothed_eighths_ = 0;
  }
  measuring_ = false;
  arm(now_ns);
  if (state_ == State::opening) {
    first_again_ = true;
    return;
  }
  halve();
  reaction_ = Reaction::timeout;
  recover_ = end_;
  recovering_ = first_again_ = false;
  duplicates_ = 0;
  window_ = 1;
  next_ = first_;
}

// The clock of such a TCP counts ticks, and a shorter round trip counts as one.
void OldTcp::measure(TimeNs now_ns) {
  measuring_ = false;
  backoff_ = 1;
  const auto tick_of = [&](TimeNs at_ns) { return (at_ns + phase_ns_) / settings_.tick_ns; };
  const auto ticks = static_cast<std::int32_t>(std::max<TimeNs>(tick_of(now_ns) - tick_of(measured_ns_), 1));
  if (smoothed_eighths_ == 0) {
    smoothed_eighths_ = 8 * ticks;
    deviation_quarters_ = 2 * ticks;
  } else {
    const std::int32_t error = ticks - smoothed_eighths_ / 8;
    smoothed_eighths_ = std::max(smoothed_eighths_ + error, 1);
    deviation_quarters_ = std::max(deviation_quarters_ + std::abs(error) - deviation_quarters_ / 4, 1);
  }
  base_timeout_ns_ = (8 * deviation_quarters_ + smoothed_eighths_) / 8 * settings_.tick_ns;
}

std::uint32_t OldTcpReceiver::segment(std::uint32_t number) {
  if (number < next_) return next_;
  if (number > next_) {
    WEIR_ASSERT(number - next_ <= 64);
    beyond_ |= 1ULL << (number - next_ - 1);
    return next_;
  }
  ++next_;
  while ((beyond_ & 1U) != 0) {
    ++next_;
    beyond_ >>= 1U;
  }
  beyond_ >>= 1U;
  return next_;
}

}  // namespace weir::packet_model
