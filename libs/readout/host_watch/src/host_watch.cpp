#include <weir/base/assert.hpp>
#include <weir/host_watch/host_watch.hpp>

#include <algorithm>

namespace weir::host_watch {

void HostWatch::enter(State state) {
  state_ = state;
  waited_ns_ = 0;
}

void HostWatch::started(TimeNs now_ns) {
  WEIR_ASSERT(state_ == State::down);
  enter(State::starting);
  hung_ = false;
  killed_hard_ = false;
  progress_ = seen_ = {};
  last_number_ = 0;
  begun_ns_ = now_ns;
  last_pass_ns_ = now_ns;
}

void HostWatch::ready(bool asks) {
  if (state_ != State::starting) return;
  asks_ = asks;
  enter(State::beginning);
}

void HostWatch::begun(std::uint64_t number, TimeNs now_ns) {
  if (state_ != State::beginning) return;
  last_number_ = number;
  begun_ns_ = now_ns;
  enter(State::running);
}

HostWatch::Ask HostWatch::announce(SliceId slice, std::uint64_t number, TimeNs now_ns) {
  if (state_ != State::running) return Ask::down;
  forget_settled(now_ns);
  if (owed_.size() >= settings_.owed_max) {
    if (asks_) return Ask::full;
    forget_oldest();  // its fragments may have arrived
  }
  // One that had nothing to do has its whole time.
  if (progress_.done >= last_number_) waited_ns_ = 0;
  last_number_ = number;
  owed_.push_back(slice);
  asked_.push_back({number, now_ns});
  return Ask::ask;
}

void HostWatch::observe(const Progress& progress) { progress_ = progress; }

void HostWatch::forget_settled(TimeNs now_ns) {
  WEIR_ASSERT(owed_.size() == asked_.size());
  while (!owed_.empty()) {
    const Asked& first = asked_.front();
    const bool answered = asks_ && first.number <= progress_.done;
    const bool given_up = settings_.wait_ns > 0 && now_ns - first.since_ns > settings_.wait_ns;
    if (!answered && !given_up) return;
    forget_oldest();
  }
}

void HostWatch::forget_oldest() {
  owed_.pop_front();
  asked_.pop_front();
}

void HostWatch::condemn() {
  if (state_ == State::down || state_ == State::ending) return;
  enter(State::ending);
}

std::vector<SliceId> HostWatch::ended(TimeNs now_ns) {
  WEIR_ASSERT(state_ != State::down);
  forget_settled(now_ns);
  std::vector<SliceId> slices(owed_.begin(), owed_.end());
  owed_.clear();
  asked_.clear();
  const bool settled = now_ns - begun_ns_ >= kSettledAfter;
  pause_ns_ = settled || pause_ns_ == 0 ? kPauseMin : std::min(2 * pause_ns_, kPauseMax);
  start_after_ns_ = now_ns + pause_ns_;
  enter(State::down);
  return slices;
}

HostWatch::Order HostWatch::pass(TimeNs now_ns) {
  waited_ns_ += std::clamp<DurationNs>(now_ns - last_pass_ns_, 0, kGapMax);
  last_pass_ns_ = now_ns;
  switch (state_) {
    case State::down:
      return !finished_ && now_ns >= start_after_ns_ ? Order::start : Order::none;
    case State::starting:
    case State::beginning:
      if (waited_ns_ < settings_.start_timeout_ns) return Order::none;
      break;
    case State::running:
      forget_settled(now_ns);
      if (progress_ != seen_ || progress_.done >= last_number_) waited_ns_ = 0;
      seen_ = progress_;
      if (waited_ns_ < settings_.timeout_ns) return Order::none;
      break;
    case State::ending:
      if (waited_ns_ < kHardKillAfter || killed_hard_) return Order::none;
      killed_hard_ = true;
      return Order::kill;
  }
  hung_ = true;
  enter(State::ending);
  return Order::kill_softly;
}

}  // namespace weir::host_watch
