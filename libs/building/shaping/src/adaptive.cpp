#include "adaptive.hpp"

#include "tuning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weir::shaping {

using namespace tuning;

namespace {

// Returns a window, or a rate, that is smaller by half a step.
double half_step_down(double value) { return 2 * value / (1 + kUp); }

double first_window(const ShaperSettings& settings) {
  const auto buffer = static_cast<double>(settings.port_buffer_bytes);
  if (buffer == 0) return kFirst;
  const double wanted = std::max(kFirst, static_cast<double>(settings.port_round_trip_bytes));
  return std::max(kFloor, std::min(wanted, buffer / 4));
}

}  // namespace

Adaptive::Adaptive(const ShaperSettings& settings)
    : ByteWindow(static_cast<std::uint64_t>(first_window(settings)), settings.range_bytes, settings.readouts),
      only_dcm_(settings.only_dcm),
      enough_max_(settings.port_buffer_bytes == 0
                      ? kBurst
                      : std::min(kBurst, static_cast<double>(settings.port_buffer_bytes) / 2)),
      target_(first_window(settings)),
      enough_(std::min(kFirst, enough_max_)),
      ceiling_(std::numeric_limits<double>::infinity()),
      ways_(settings.readouts),
      piece_bytes_(wanted_piece()) {}

std::uint64_t Adaptive::wanted_piece() const {
  if (range_bytes() > 0) return range_bytes();
  // If several DCMs share a port, small pieces keep the uplinks evenly filled. If lines or hosts need a large
  // window, each request takes longer as well.
  const double pieces = share_.members == 1 ? kPieces : 2 * kPieces;
  const double most = std::max(kFirst, target_ / (kFew * std::max(kFew, ways_.readouts())));
  double piece = std::max(kQueue, std::min(target_ / pieces, most));
  // The pieces of several lines may arrive together, and have to fit into the port's buffer.
  const auto lines = static_cast<double>(ways_.on_lines());
  if (lines > 0 && !far()) piece = std::min(piece, std::max(kFloor, lines / (2 * kMany)));
  // On a long line each readout's TCP starts with a small window, so all readouts are asked at once.
  if (phase_ == Phase::start_up && far()) piece = std::clamp(target_ / ways_.readouts(), kQueue, piece);
  return static_cast<std::uint64_t>(std::floor(piece / kSegment) * kSegment - kTiming);
}

// The bursts of longer lines need the buffer that a slice's share of it would fill.
double Adaptive::enough() const { return ways_.on_lines() > 0 ? std::min(enough_, kFirst) : enough_; }

void Adaptive::move_to(double window) {
  const double least = std::max(kFloor, std::min(enough() / share_.members, ceiling_));
  target_ = std::clamp(window, least, std::max(least, ceiling_));
  if (phase_ != Phase::drain) set_window(static_cast<std::uint64_t>(target_));
  piece_bytes_ = wanted_piece();
}

void Adaptive::retransmitted(std::uint32_t readout, std::uint64_t segments, TimeNs now_ns) {
  const bool stalled = ways_.take_gap(readout, now_ns) > kTimeout + shortest_.ns();
  if (stalled) {
    losses_.tolerate_no_more();
    trial_.stop();
  }
  const DurationNs within_ns = std::max(kLookEvery, 2 * shortest_.ns());
  const double came = rate_ * static_cast<double>(within_ns) / kSegment;
  const bool many = losses_.note(static_cast<double>(segments), came, within_ns, now_ns);
  // Next to a foreign flow that fills the buffer, losses occur with any window.
  if ((only_dcm_ && foreign_.there()) || !(many || stalled) || now_ns - backed_off_ns_ < 2 * kTimeout) return;
  // On a long line TCP itself needs many round trips to recover from a loss, so the rate says nothing about
  // the window.
  if (!stalled && !trial_.running() && !far() && rates_.seen() >= 2)
    trial_.begin(target_, rates_.best_of(2), now_ns + std::max(kEpoch, 2 * shortest_.ns()));
  // A stall costs 200 ms, hundreds of times a slice's own time.
  back_off(stalled ? 0.5 : kBackOff, now_ns);
}

// Measures whether the window reduced by a loss lowers the rate. If it does, the window is restored and such
// losses are tolerated.
void Adaptive::try_smaller(TimeNs now_ns) {
  if (!trial_.note(epoch_.bytes, epoch_.limited_ns, kFew * shortest_.ns(), now_ns)) return;
  backed_off_ns_ = -kSecond;
  if (!trial_.worth()) return;
  losses_.tolerate(now_ns);
  ceiling_ = std::numeric_limits<double>::infinity();
  move_to(std::max(target_, trial_.window()));
}

void Adaptive::set_slice_bytes(std::uint64_t bytes) {
  const double enough = std::min(std::max(static_cast<double>(bytes) / kInSlice, kFirst), enough_max_);
  if (enough == enough_) return;
  enough_ = enough;
  move_to(target_);
}

void Adaptive::set_share(const PortShare& share) {
  const std::uint32_t before = share_.members;
  share_ = share;
  if (share.members == before) return;
  // The port's window is divided among another number of DCMs.
  move_to(target_ * before / share.members);
  full_rate_ = full_rate_ * before / share.members;
  rates_.forget();
  foreign_.forget();
}

DurationNs Adaptive::base() const {
  if (share_.members == 1 || share_.base_ns == 0 || shortest_.ns() == 0) return shortest_.ns();
  return std::min(shortest_.ns(), share_.base_ns);
}

Credit Adaptive::try_take(const Demand& demand, TimeNs now_ns) {
  const std::uint64_t charge = charge_of(demand);
  const std::uint64_t taken = accounts_.taken();
  if (phase_ == Phase::drain && drains_.pairs()) {
    const Credit credit = drains_.ask(demand.readout, taken);
    if (credit == Credit::granted) take(demand, now_ns);
    return credit;
  }
  const std::uint64_t here = taken - std::min(taken, ways_.elsewhere(target_));
  if (taken > 0 && here + charge > window()) return Credit::full;
  const std::uint64_t own = accounts_.of(demand.readout);
  const std::uint64_t line = ways_.on_line(demand.readout);
  if (own > 0 && own - std::min(own, line) + charge > share_of_one()) return Credit::readout_full;
  if (line > 0 && !far() && !ways_.may_ask(demand.readout, now_ns)) return Credit::readout_full;
  take(demand, now_ns);
  return Credit::granted;
}

std::uint64_t Adaptive::room(std::uint32_t readout) const {
  if (phase_ == Phase::drain || (ways_.on_line(readout) > 0 && !far())) return 0;
  const std::uint64_t used = accounts_.taken() - std::min(accounts_.taken(), ways_.elsewhere(target_));
  const std::uint64_t own = accounts_.of(readout);
  const std::uint64_t here = own - std::min(own, ways_.on_line(readout));
  const std::uint64_t share = share_of_one();
  return std::min(window() - std::min(window(), used), share - std::min(share, here));
}

void Adaptive::take(const Demand& demand, TimeNs now_ns) {
  accounts_.take(demand.readout, demand.fragments, charge_of(demand));
  ways_.asked(demand.readout, charge_of(demand), now_ns);
  ways_.owes(demand.readout, accounts_.of(demand.readout), now_ns);
}

void Adaptive::arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) {
  ByteWindow::arrived(readout, bytes, now_ns);
  ways_.arrived(readout, bytes, now_ns);
  ways_.owes(readout, accounts_.of(readout), now_ns);
  pass_bytes_ += bytes;
}

void Adaptive::answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs now_ns) {
  ByteWindow::answered(readout, fragments, bytes, now_ns);
  ways_.owes(readout, accounts_.of(readout), now_ns);
}

// The first bursts of several DCMs would overflow their port: the window begins small, in the steady phase.
void Adaptive::connected(std::uint32_t, bool selective_acks) {
  if (selective_acks || only_dcm_ || old_tcp_) return;
  old_tcp_ = true;
  enough_max_ = std::min(2 * enough_max_, kOldTcpPort);
  enough_ = std::min(enough_, enough_max_);
  if (phase_ != Phase::start_up) return;
  phase_ = Phase::steady;
  move_to(std::min(target_, enough_ / share_.members));
}

void Adaptive::readout_lost(std::uint32_t readout) {
  ByteWindow::readout_lost(readout);
  ways_.lost(readout);
}

// Uses only the network's part of the time: a busy host is not a queue.
void Adaptive::response(const MeasuredAnswer& response, TimeNs now_ns) {
  const DurationNs time_ns = std::max<DurationNs>(1, response.time_ns - response.host_ns);
  if (foreign_.probes(now_ns - response.time_ns)) foreign_.note_answer(waited_behind(response, time_ns));
  if (phase_ == Phase::drain && drains_.pairs() && ways_.on_line(response.readout) == 0) {
    shortest_.note_of_pair(time_ns, response.owed);
  } else {
    shortest_.note(time_ns, response.owed);
  }
  const DurationNs waited_ns = std::max<DurationNs>(0, time_ns - own_ns(response));
  const std::size_t at = epoch_.responses % epoch_.times_us10.size();
  epoch_.times_us10[at] = static_cast<std::uint32_t>(std::min<DurationNs>(waited_ns / 100, UINT32_MAX));
  ++epoch_.responses;
  // TCP's own start limits the first flights of a line, so the window need not.
  if (phase_ == Phase::start_up && far()) move_to(std::max(target_, 2 * kFirst * ways_.readouts()));
  const DurationNs host_ns = std::min(response.host_ns, kEpoch);  // a longer one is a pause
  host_ns_ += (static_cast<double>(host_ns) - host_ns_) / kMany;
  uplink_ns_ += (shortest_.longer_ns(response.bytes) - uplink_ns_) / kMany;
  ways_.responded(response.readout, response.time_ns, time_ns);
}

// Returns the time of this answer without other queues: the shortest response, and the time that the
// readout's own uplink needs for the bytes before it. A port that sends a small burst at once after a pause
// shows times in a drain that it cannot sustain, so the answer's bytes at the full rate are the lower limit.
DurationNs Adaptive::own_ns(const MeasuredAnswer& response) const {
  const double base_ns = static_cast<double>(base());
  const double port = full_rate_ * share_.members;
  if (far()) {
    const double longer = static_cast<double>(response.bytes) - static_cast<double>(shortest_.owed());
    return static_cast<DurationNs>(base_ns + (port > 0 ? std::max(0.0, longer) / port : 0));
  }
  double own = std::max(base_ns, port > 0 ? static_cast<double>(response.bytes) / port : 0);
  if (ways_.readouts() > 1) own = std::max(own, base_ns + shortest_.longer_ns(response.owed));
  return static_cast<DurationNs>(own);
}

// Only time in which the window was the limit, from one pass to the next, is informative about the window.
void Adaptive::end_of_pass(bool wanting, TimeNs now_ns) {
  if (was_wanting_) {
    epoch_.limited_ns += now_ns - pass_ns_;
    epoch_.bytes += pass_bytes_;
  }
  if (far()) line_.note(pass_bytes_, pass_ns_, now_ns);
  if (phase_ == Phase::start_up) {
    if (was_wanting_) grow_line();
    piece_bytes_ = wanted_piece();
  }
  was_wanting_ = wanting;
  pass_ns_ = now_ns;
  // Does not wait for the epoch's end, because a silent readout may hold the whole window.
  if (now_ns - looked_ns_ >= kLookEvery / 4) {
    const double seconds = static_cast<double>(now_ns - std::exchange(looked_ns_, now_ns)) / kSecond;
    if (std::isfinite(ceiling_)) raise_ceiling(std::min(seconds, 1.0));
    ways_.look(now_ns);
  }
  pass_bytes_ = 0;
  if (phase_ == Phase::drain) {
    // The time of a distant readout's pair is mostly that of its line.
    const bool wants_pairs = !shortest_.saw_pair() && ways_.on_line(drains_.pair_readout()) == 0;
    if (drains_.over(now_ns, wants_pairs)) end_drain(now_ns);
    return;
  }
  if (now_ns >= refill_ns_) {
    refill_ns_ = kNever;
    move_to(target_);
  }
  const bool starting = phase_ == Phase::start_up;
  const DurationNs least = starting ? std::max(kFar, shortest_.ns()) : std::max(kEpoch, 2 * shortest_.ns());
  if (epoch_.limited_ns < least) return;
  const std::uint32_t enough = starting ? kSome : kMany;
  // A window over a long line, or with busy hosts, has few answers.
  const bool line = far() || (starting && on_line(epoch_.rate()));
  const bool few = epoch_.limited_ns >= (line ? least : kFew * least) && epoch_.responses >= kFew;
  if (epoch_.responses < enough && !few) return;
  finish_epoch(now_ns);
}

// Forgets a loss: quickly if hosts need more, up to just below the window that had it.
void Adaptive::raise_ceiling(double seconds) {
  const bool busy = rates_.best() * kHostTimes * host_ns_ > ceiling_ && kClear * ceiling_ < lost_;
  ceiling_ *= 1 + (busy ? 1 - kBackOff : kForget) * seconds;
}

double Adaptive::line_holds() const {
  return line_.rate() * static_cast<double>(shortest_.ns()) / share_.members;
}

// Like TCP's slow start: doubles the window per round trip, until the line is full.
void Adaptive::grow_line() {
  if (!start_.line_grows() || !far()) return;
  const double most = kFactor * line_holds() + kBurst;
  if (target_ < most) move_to(std::min(most, target_ + static_cast<double>(pass_bytes_)));
}

// At first little is in flight on a line, whatever it could hold.
bool Adaptive::far() const {
  const double under_way = full_rate_ * static_cast<double>(shortest_.ns());
  return is_far(shortest_.ns(), full_rate_) ||
         (shortest_.ns() > kFar && under_way > kFirst / 2 && on_line(full_rate_));
}

void Adaptive::finish_epoch(TimeNs now_ns) {
  rate_ = epoch_.rate();
  line_.fade();
  const double least = standing(epoch_.quantile(kRare));
  const double usual = standing(epoch_.quantile(0.5));
  // An equal part of the port for each readout, unless other DCMs use the port.
  const double fair = share_.members == 1 ? full_rate_ / ways_.readouts() : 0;
  ways_.measure(shortest_.ns(), full_rate_, fair, now_ns);
  try_smaller(now_ns);
  epoch_ = {};
  if (now_ns - backed_off_ns_ < 2 * kTimeout) return;
  rates_.note(rate_);
  full_rate_ = rates_.full();
  if (phase_ == Phase::start_up) {
    start_up(least);
  } else {
    steady(least, usual, now_ns);
  }
  // One of several DCMs at a port cannot empty it, and a long line is idle for longer than its time is worth.
  if (!drains_.due(now_ns) || phase_ != Phase::steady || share_.members > 1 || far()) return;
  enter_drain();
  drains_.begin(now_ns, shortest_.ns());
}

void Adaptive::start_up(double queue) {
  const bool line = far() || on_line(rate_);
  const double line_bytes = rate_ * static_cast<double>(shortest_.ns());
  const double window = start_.epoch({target_, rate_, line, line_bytes, queue > kQueue});
  if (start_.over()) {
    phase_ = Phase::steady;
    if (window == target_ && !line) up_ = kFactor - 1;  // no sign against growth so far
  }
  move_to(window);
}

// True if more is in flight than the length of the shortest response explains.
bool Adaptive::on_line(double rate) const {
  return shortest_.ns() > 0 &&
         rate * static_cast<double>(shortest_.ns()) > 2 * static_cast<double>(shortest_.owed());
}

// Returns the bytes in the port's queue that correspond to a waiting time.
double Adaptive::standing(DurationNs waited_ns) const {
  return static_cast<double>(waited_ns) * rate_ * share_.members;
}

void Adaptive::steady(double least, double usual, TimeNs now_ns) {
  if (share_.members == 1) {
    if (rates_.seen() >= kMany / 4) foreign_.alone(full_rate_);
    const ForeignTraffic::Advice advice = foreign_.epoch(rate_, target_, now_ns);
    if (advice.probe) return begin_probe(now_ns);
    if (advice.window == target_) return;
    if (advice.window > target_) ceiling_ = std::max(ceiling_, advice.window);
    if (advice.window > 0) return move_to(advice.window);
  }
  if (far()) return fill_line(least);
  // Bytes that are spare while hosts are quick keep the port full while they are slow.
  const double spare = kHostTimes / 2 * rate_ * host_ns_;
  const double queue = least - spare;
  if (queue < kQueue) return usual - spare > kFirst ? follow_hosts() : grow();
  if (queue > kFirst) return move_to(half_step_down(half_step_down(target_)));
  if (rate_ < half_step_down(full_rate_)) return move_to(target_ * kUp);
  up_ = 0;
  move_to(half_step_down(target_));
}

// Sets the window to the contents of the line and the hosts at the best recent rate, and a little more.
void Adaptive::fill_line(double queue) {
  const double wanted = (queue > kBurst / 2 ? 1 : kFactor) * line_bytes() + kBurst;
  // The window shrinks only if a queue exists, because TCP's recovery from a loss and a pausing host lower
  // the rate as well.
  if (wanted > target_ || queue > kBurst) move_to(wanted);
}

double Adaptive::line_bytes() const {
  return rates_.best() * (static_cast<double>(shortest_.ns()) + host_ns_);
}

// Grows in steps that become longer while no queue in the network appears.
void Adaptive::grow() {
  up_ = up_ == 0 ? kUp - 1 : std::min(kFactor - 1, 2 * up_);
  const double wanted = wanted_by_hosts();
  const double step = std::max(target_ * (1 + up_), std::min(kFactor * target_, wanted));
  const double most = old_tcp_ ? wanted : 2 * wanted;
  move_to(std::max(target_, std::min(step, most)));
}

// While hosts hold back answers, and slow uplinks send them, other requests must be in flight.
double Adaptive::wanted_by_hosts() const {
  const double least = old_tcp_ ? enough() / share_.members : enough();
  // A lost segment costs 200 ms, so rare delays of hosts do not count if most of the window is in queues.
  if (old_tcp_ && line_bytes() < least - least / 4) return least;
  const double time_ns = static_cast<double>(shortest_.ns()) + uplink_ns_ + kHostTimes * host_ns_;
  return std::max(least, rates_.best() * time_ns);
}

// Follows queues that come and go: of hosts that send in bursts, or of many readouts that send at once.
void Adaptive::follow_hosts() {
  up_ = 0;
  move_to(std::clamp(wanted_by_hosts(), half_step_down(target_), target_ * kFactor));
}

// With an otherwise empty window, a request waits only for foreign traffic.
void Adaptive::begin_probe(TimeNs now_ns) {
  const double own_ns = rate_ > 0 ? 2 * target_ / rate_ : 0;
  const DurationNs length_ns = static_cast<DurationNs>(own_ns) + kFew * shortest_.ns();
  enter_drain();
  drains_.begin_probe(now_ns, std::min(kTimeout, length_ns));
  foreign_.begin_probe(now_ns);
}

// Returns the bytes in the port before this answer that this DCM had not requested.
double Adaptive::waited_behind(const MeasuredAnswer& response, DurationNs time_ns) const {
  const double waited_ns =
      static_cast<double>(time_ns - shortest_.ns()) - static_cast<double>(response.bytes) / rate_;
  return std::max(0.0, waited_ns * full_rate_);
}

void Adaptive::back_off(double left, TimeNs now_ns) {
  backed_off_ns_ = now_ns;
  phase_ = Phase::steady;
  foreign_.cancel_probe();
  // Data on the line are not in a queue.
  lost_ = target_;
  ceiling_ = target_ * left;
  if (far())
    ceiling_ = std::max(ceiling_, std::max(std::min(target_, line_holds()), line_bytes()) + kBurst / 4);
  up_ = 0;
  move_to(std::min(target_, ceiling_));
}

// Allows one piece at a time, or half of the window on a long line, where a single piece would cost too much.
void Adaptive::enter_drain() {
  phase_ = Phase::drain;
  set_window(far() ? static_cast<std::uint64_t>(target_ / 2) : 1);
}

void Adaptive::end_drain(TimeNs now_ns) {
  phase_ = Phase::steady;
  foreign_.end_probe(now_ns);
  shortest_.end_drain();
  drains_.end(now_ns);
  epoch_ = {};
  was_wanting_ = false;
  // Refills in two steps, because requests that are sent while nothing is in flight arrive together.
  set_window(static_cast<std::uint64_t>(target_ / 2));
  refill_ns_ = now_ns + std::max(kFar / 2, shortest_.ns());
}

}  // namespace weir::shaping
