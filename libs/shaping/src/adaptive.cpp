#include "adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::shaping {
namespace {

constexpr double kSegment = 1448;
constexpr double kFirstWindow = 14 * kSegment;
// Without a loss the window does not become smaller than this part of a slice, within these bounds: it is
// what a slice takes longer, and the larger it is, the less do pauses of the hosts and headers of pieces
// count.
constexpr double kEnoughInSlice = 12;
constexpr double kEnoughMin = 14 * kSegment;
constexpr double kEnoughMax = 32 * kSegment;
constexpr double kFloor = 6 * kSegment;
constexpr double kWindowMax = 64.0 * (1U << 20U);

constexpr DurationNs kStartEpoch = 2 * kMillisecond;
constexpr DurationNs kEpoch = 10 * kMillisecond;
constexpr std::uint32_t kStartResponses = 8;
constexpr std::uint32_t kResponses = 48;
constexpr double kUsual = 0.5;
constexpr double kFast = 0.05;  // the quantile of response times that shows a queue that does not empty

constexpr double kStartFactor = 1.25;
// Less growth of the rate than this, for a window kStartFactor larger: the port is full.
constexpr double kStartGain = 1.04;
constexpr double kFull = 0.998;  // of the full rate: the link is not quite full below
constexpr double kUp = 1.03;
constexpr double kDown = 0.985;
constexpr double kStandingBytes = 2 * kSegment;  // of a queue that never empties: enough
constexpr double kStandingMax = 12 * kSegment;   // beyond, a larger window cannot help

constexpr double kFade = 0.9998;  // of what is held for the full rate, per epoch

// Fewer pieces in the window: the link idles at the end of each. More: a frame header for each, and CPU.
constexpr double kPieces = 4;
constexpr double kPiecesMin = 1.75;
constexpr double kPieceEnough = 12 * kSegment;
constexpr double kPieceMin = 2 * kSegment;

constexpr DurationNs kDrainEvery = 100 * kMillisecond;  // at first; each pause is twice the last one
constexpr DurationNs kDrainEveryMax = 4 * kSecond;
constexpr DurationNs kDrainMin = kMillisecond;
constexpr DurationNs kStallMin = 50 * kMillisecond;
constexpr DurationNs kStallResponses = 16;           // usual response times
constexpr DurationNs kForgive = 300 * kMillisecond;  // stalls of one event
constexpr double kBackOff = 0.7;
constexpr std::uint64_t kReordered = 4;  // at once; fewer may be a host's own doing
constexpr DurationNs kReorderedIn = 500 * kMillisecond;
constexpr double kForget = 1.0001;  // of the ceiling, per epoch

constexpr double kContended = 0.52;  // of the port's own rate: somebody else is there
constexpr double kContendedEnough = 0.6;
constexpr int kContendedEpochs = 2;
constexpr std::uint32_t kContendedResponses = 16;
constexpr DurationNs kAfterCut = 100 * kMillisecond;  // losses after this came in spite of the smaller window
constexpr DurationNs kBeside = kSecond;               // without such losses nobody fills the buffer
constexpr double kPush = 1.5;
constexpr double kPushGain = 1.05;
constexpr int kPushesInVain = 5;  // one after another: the port is slower
constexpr DurationNs kPushAgain = 5 * kSecond;

}  // namespace

void Adaptive::Epoch::begin() {
  limited_ns = 0;
  bytes = response_bytes = 0;
  responses = 0;
}

double Adaptive::Epoch::rate() const {
  return limited_ns > 0 ? static_cast<double>(bytes) / static_cast<double>(limited_ns) : 0;
}

DurationNs Adaptive::Epoch::quantile(double share) {
  const std::size_t count = std::min<std::size_t>(responses, times_us10.size());
  if (count == 0) return 0;
  const auto at = times_us10.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(count - 1));
  std::nth_element(times_us10.begin(), at, times_us10.begin() + static_cast<std::ptrdiff_t>(count));
  return DurationNs{*at} * 100;
}

Adaptive::Adaptive(const ShaperSettings& settings)
    : ByteWindow(static_cast<std::uint64_t>(kFirstWindow), settings.range_bytes, settings.readouts),
      only_dcm_(settings.only_dcm),
      target_(kFirstWindow),
      enough_(kEnoughMin),
      ceiling_(kWindowMax),
      drain_every_ns_(kDrainEvery),
      waiting_since_ns_(settings.readouts) {}

std::uint64_t Adaptive::piece_bytes() const {
  if (range_bytes() > 0) return range_bytes();
  const double piece = std::max({kPieceMin, target_ / kPieces, std::min(target_ / kPiecesMin, kPieceEnough)});
  return static_cast<std::uint64_t>(std::floor(piece / kSegment) * kSegment);
}

void Adaptive::move_to(double window) {
  const double least = std::max(kFloor, std::min(enough_ / share_.members, ceiling_));
  target_ = std::clamp(window, least, std::max(least, ceiling_));
  if (phase_ != Phase::drain) set_window(static_cast<std::uint64_t>(target_));
}

bool Adaptive::contended() const {
  return only_dcm_ && alone_rate_ > 0 && rate_ < kContendedEnough * alone_rate_;
}

void Adaptive::out_of_order(std::uint64_t segments, TimeNs now_ns) {
  if (now_ns - reordered_since_ns_ > kReorderedIn) {
    reordered_since_ns_ = now_ns;
    reordered_ = 0;
  }
  reordered_ += segments;
  if (segments >= kReordered || (contended() && reordered_ >= kReordered)) lost(now_ns);
}

// Beside somebody who fills the buffer by himself there are losses whatever the window is.
void Adaptive::lost(TimeNs now_ns) {
  if (!contended()) return back_off(now_ns);
  if (now_ns - backed_off_ns_ > kAfterCut) lost_beside_ns_ = now_ns;
}

void Adaptive::set_slice_bytes(std::uint64_t bytes) {
  const double enough = std::clamp(static_cast<double>(bytes) / kEnoughInSlice, kEnoughMin, kEnoughMax);
  if (enough == enough_) return;
  enough_ = enough;
  move_to(target_);
}

void Adaptive::set_share(const PortShare& share) {
  const std::uint32_t before = share_.members;
  share_ = share;
  if (share.members == before) return;
  // The port's window is divided anew.
  move_to(target_ * before / share.members);
  full_rate_ = full_rate_ * before / share.members;
  rates_seen_ = 0;
  low_epochs_ = 0;
}

DurationNs Adaptive::base() const {
  if (share_.members == 1 || share_.base_ns == 0 || base_ns_ == 0) return base_ns_;
  return std::min(base_ns_, share_.base_ns);
}

void Adaptive::take(const Demand& demand, TimeNs now_ns) {
  if (accounts_.of(demand.readout) == 0) waiting_since_ns_[demand.readout] = now_ns;
  ByteWindow::take(demand, now_ns);
}

void Adaptive::arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) {
  ByteWindow::arrived(readout, bytes, now_ns);
  waiting_since_ns_[readout] = now_ns;
  pass_bytes_ += bytes;
}

void Adaptive::response(const Response& response, TimeNs) {
  const std::size_t at = epoch_.responses % epoch_.times_us10.size();
  epoch_.times_us10[at] =
      static_cast<std::uint32_t>(std::clamp<DurationNs>(response.time_ns / 100, 1, UINT32_MAX));
  ++epoch_.responses;
  epoch_.response_bytes += response.bytes;
  late_base_ns_ = std::min(late_base_ns_, response.time_ns);
  base_ns_ = base_ns_ == 0 ? response.time_ns : std::min(base_ns_, response.time_ns);
}

// Only time in which the window was the limit, from one pass to the next, tells something about the window.
void Adaptive::end_of_pass(bool wanting, TimeNs now_ns) {
  if (was_wanting_) {
    epoch_.limited_ns += now_ns - pass_ns_;
    epoch_.bytes += pass_bytes_;
  }
  was_wanting_ = wanting;
  pass_ns_ = now_ns;
  // Without waiting for the epoch's end: what stalls may hold the whole window.
  if (now_ns - looked_ns_ >= kLookEvery) {
    looked_ns_ = now_ns;
    if (stalled(now_ns)) lost(now_ns);
  }
  pass_bytes_ = 0;
  if (phase_ == Phase::drain) {
    if (now_ns >= drain_until_ns_) end_drain(now_ns);
    return;
  }
  const bool starting = phase_ == Phase::start_up;
  if (epoch_.limited_ns < (starting ? kStartEpoch : kEpoch)) return;
  if (epoch_.responses < (starting ? kStartResponses : contended() ? kContendedResponses : kResponses))
    return;
  finish_epoch(now_ns);
}

void Adaptive::finish_epoch(TimeNs now_ns) {
  const double rate = rate_ = epoch_.rate();
  const DurationNs fast = epoch_.quantile(kFast);
  usual_ns_ = epoch_.quantile(kUsual);
  mean_response_ = static_cast<double>(epoch_.response_bytes) / std::max(1U, epoch_.responses);
  epoch_.begin();
  ceiling_ = std::min(kWindowMax, ceiling_ * kForget);
  if (now_ns - backed_off_ns_ < kForgive) return;
  note_rate(rate);
  if (phase_ == Phase::start_up) {
    start_up(rate, fast);
  } else {
    steady(rate, fast, now_ns);
  }
  if (next_drain_ns_ == 0) next_drain_ns_ = now_ns + drain_every_ns_;
  if (phase_ != Phase::steady) return;
  if (now_ns >= next_drain_ns_) begin_drain(now_ns);
}

// The window grows for as long as the rate grows with it and the answers do not queue.
void Adaptive::start_up(double rate, DurationNs fast) {
  const bool queues = standing(rate, fast) > kStandingBytes;
  const bool grows = rate > best_rate_ * kStartGain;
  best_rate_ = std::max(best_rate_, rate);
  if (grows && !queues) return move_to(target_ * kStartFactor);
  phase_ = Phase::steady;
  if (queues) move_to(target_ / kStartFactor);
}

void Adaptive::note_rate(double rate) {
  rates_[rates_seen_++ % kRates] = rate;
  full_rate_ = std::max(full_rate_ * kFade, late_rate());
}

// A high quantile, not the highest one: after an idle moment a port may send faster than it can for long.
double Adaptive::late_rate() const {
  const std::size_t count = std::min(rates_seen_, kRates);
  if (count == 0) return 0;
  std::array<double, kRates> sorted = rates_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(count * 4 / 5);
  std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return *at;
}

// Bytes that are in the port's queue at all times. A port that lets a little go at once after a pause shows
// shorter times in a drain than it can keep: no answer takes less than its bytes at the full rate.
double Adaptive::standing(double rate, DurationNs fast) const {
  const double members = share_.members;
  const double own = full_rate_ > 0 ? mean_response_ / (full_rate_ * members) : 0;
  return (static_cast<double>(fast) - std::max(static_cast<double>(base()), own)) * rate * members;
}

void Adaptive::steady(double rate, DurationNs fast, TimeNs now_ns) {
  if (share_.members == 1 && rates_seen_ >= kRates / 4) alone_rate_ = std::max(alone_rate_, full_rate_);
  if (share_.members == 1 && alone_rate_ > 0 && rate < kContended * alone_rate_) {
    if (low_epochs_++ == 0) low_since_ns_ = now_ns;
    if (low_epochs_ >= kContendedEpochs) return low(rate, now_ns);
  } else {
    low_epochs_ = 0;
    if (before_push_rate_ > 0 && rate < kContendedEnough * alone_rate_) return;
    before_push_rate_ = 0;
  }
  const double queue = standing(rate, fast);
  if (queue > kStandingMax) {
    full_rate_ = late_rate();  // whatever it was: the port is full at this rate
    return move_to(target_ * kDown * kDown);
  }
  if (queue < kStandingBytes || rate < kFull * full_rate_) return move_to(target_ * kUp);
  move_to(target_ * kDown);
}

// Others give way when data are lost, as this one does; who goes on filling the buffer does not.
void Adaptive::low(double rate, TimeNs now_ns) {
  if (now_ns - lost_beside_ns_ < kBeside) return contend(rate, now_ns);
  if (now_ns - low_since_ns_ >= kBeside) become_slower(now_ns);
}

void Adaptive::become_slower(TimeNs now_ns) {
  alone_rate_ = full_rate_ = 0;
  rates_seen_ = 0;
  low_epochs_ = 0;
  drains_ = 0;
  late_base_ns_ = kUnknown;
  next_drain_ns_ = now_ns;  // the shortest response time is another one, too
}

// Somebody who does not give way holds the port, or the port has become slower. A larger window tells:
// against somebody else it gains rate, on a slower port it only gains queue.
void Adaptive::contend(double rate, TimeNs now_ns) {
  if (now_ns < no_push_until_ns_) return;
  if (before_push_rate_ > 0 && rate < before_push_rate_ * kPushGain) {
    move_to(before_push_window_);
    before_push_rate_ = 0;
    low_epochs_ = 0;
    if (++pushes_in_vain_ < kPushesInVain) return;
    pushes_in_vain_ = 0;
    no_push_until_ns_ = now_ns + kPushAgain;
    return become_slower(now_ns);
  }
  if (before_push_rate_ > 0) pushes_in_vain_ = 0;
  before_push_rate_ = rate;
  before_push_window_ = target_;
  low_epochs_ = 0;
  ceiling_ = std::max(ceiling_, target_ * kPush);
  move_to(target_ * kPush);
}

bool Adaptive::stalled(TimeNs now_ns) const {
  for (std::uint32_t readout = 0; readout < waiting_since_ns_.size(); ++readout) {
    if (accounts_.of(readout) == 0) continue;
    if (now_ns - waiting_since_ns_[readout] > std::max(kStallMin, kStallResponses * usual_ns_)) return true;
  }
  return false;
}

void Adaptive::back_off(TimeNs now_ns) {
  if (now_ns - backed_off_ns_ < kForgive) return;
  backed_off_ns_ = now_ns;
  phase_ = Phase::steady;
  ceiling_ = target_ * kBackOff;
  before_push_rate_ = 0;
  move_to(target_ * kBackOff);
}

// For a moment next to nothing is asked for, so that queues empty and the shortest response time shows.
void Adaptive::begin_drain(TimeNs now_ns) {
  phase_ = Phase::drain;
  drain_until_ns_ = now_ns + std::max(kDrainMin, 4 * base_ns_);
  set_window(1);  // one piece at a time
}

void Adaptive::end_drain(TimeNs now_ns) {
  phase_ = Phase::steady;
  if (late_base_ns_ != kUnknown) {
    bases_ns_[drains_++ % kBases] = std::exchange(late_base_ns_, kUnknown);
    const auto end = bases_ns_.begin() + static_cast<std::ptrdiff_t>(std::min(drains_, kBases));
    base_ns_ = *std::min_element(bases_ns_.begin(), end);
  }
  drain_every_ns_ = std::min(2 * drain_every_ns_, kDrainEveryMax);
  next_drain_ns_ = now_ns + drain_every_ns_;
  epoch_.begin();
  was_wanting_ = false;
  move_to(target_);
}

}  // namespace weir::shaping
