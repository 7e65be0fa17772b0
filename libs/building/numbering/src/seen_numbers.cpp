#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/numbering/number_order.hpp>
#include <weir/numbering/seen_numbers.hpp>

#include <algorithm>
#include <functional>

namespace weir::numbering {

void SeenNumbers::begin() {
  std::fill(sources_.begin(), sources_.end(), Source());
  announced_.reset();
  top_.reset();
  top_time_.reset();
  near_.reset();
  known_.clear();
  waiting_.clear();
  voting_.clear();
  fresh_.clear();
  behind_ = false;
  forgotten_ = 0;
}

void SeenNumbers::note(std::size_t source, SliceId number, UtcNs time, TimeNs now, bool trusted) {
  WEIR_ASSERT(source < sources_.size());
  sources_[source] = {number, now, true, trusted};
  if (announced_ && number <= *announced_) return;
  if (times_.tolerance_ns > 0) {
    vote(number, time, now, trusted);
  } else {
    accept(number, time, now);
  }
}

void SeenNumbers::vote(SliceId number, UtcNs time, TimeNs now, bool trusted) {
  if (known_.contains(number)) return;
  const auto waits = waiting_.find(number);
  if (waits != waiting_.end() && waits->second.decided) return;
  const auto at = voting_.try_emplace(number, Ballot{now, 0, time, {}}).first;
  if (trusted) at->second.vote.add(time, times_.tolerance_ns);
  if (voting_.size() <= kWaitingMax) return;
  voting_.erase(std::prev(voting_.end()));
  ++forgotten_;
}

// Numbers far above those that most sources have reached cannot be decided yet.
void SeenNumbers::count_votes(TimeNs now) {
  if (voting_.empty()) return;
  const std::size_t all = voters(now);
  const SliceId reached = reached_by_most(now);
  const std::uint64_t limit = std::max(reached, top_.value_or(reached)).value + kFarAhead;
  bool lower_waits = false;
  for (auto at = voting_.begin(); at != voting_.end() && at->first.value <= limit;) {
    Ballot& ballot = at->second;
    if (ballot.reached == 0 && at->first <= reached) ballot.reached = now;
    const bool decided = ballot.vote.is_decided(all);
    // Without a majority the time of the previous number counts: that one goes first.
    if (!decided && (lower_waits || !is_due(at->first, ballot, now))) {
      lower_waits = true;
      ++at;
      continue;
    }
    accept(at->first, time_of(at->first, ballot), now, decided);
    at = voting_.erase(at);
  }
}

bool SeenNumbers::is_due(SliceId number, const Ballot& ballot, TimeNs now) const {
  if (now - ballot.since < times_.wait_ns) return false;
  if (ballot.reached != 0 && now - ballot.reached >= times_.wait_ns) return true;
  // A source that is ahead has sent it with the time of an earlier number: the others have yet to.
  return TimeVote::is_after(time_of(number, ballot), time_before(number), times_.tolerance_ns);
}

UtcNs SeenNumbers::time_of(SliceId number, const Ballot& ballot) const {
  if (ballot.vote.votes() == 0) return ballot.first;
  return ballot.vote.time(time_before(number), times_.tolerance_ns);
}

std::optional<UtcNs> SeenNumbers::time_before(SliceId number) const {
  return top_ && number > *top_ ? top_time_ : std::nullopt;
}

SliceId SeenNumbers::reached_by_most(TimeNs now) {
  reached_.clear();
  for (const Source& source : sources_) {
    if (source.delivers && now - source.heard <= kDeliveredLately) reached_.push_back(source.at.value);
  }
  if (reached_.empty()) return kNumberMax;
  const auto most = reached_.begin() + static_cast<std::ptrdiff_t>(reached_.size() / 2);
  std::nth_element(reached_.begin(), most, reached_.end(), std::greater<>());
  return SliceId(*most);
}

std::size_t SeenNumbers::voters(TimeNs now) const {
  return static_cast<std::size_t>(std::count_if(sources_.begin(), sources_.end(), [&](const Source& source) {
    return source.delivers && source.trusted && now - source.heard <= kDeliveredLately;
  }));
}

void SeenNumbers::accept(SliceId number, UtcNs time, TimeNs now, bool decided) {
  const bool follows = top_ && number.value <= top_->value + 1;
  if (!follows && !is_reached_by_most(number, now)) {
    Waiting& waits = waiting_.try_emplace(number, Waiting{time, false, decided}).first->second;
    if (decided && !waits.decided) waits = {time, waits.near, true};
    if (top_ && number.value <= near_.value_or(*top_).value + kFarAhead) {
      waits.near = true;
      near_ = std::max(near_.value_or(number), number);
    }
    if (waiting_.size() <= kWaitingMax) return;
    waiting_.erase(std::prev(waiting_.end()));
    ++forgotten_;
    return;
  }
  believe(number, time);
}

void SeenNumbers::believe(SliceId number, UtcNs time) {
  if (!top_ || number >= *top_) {
    top_ = number;
    top_time_ = time;
  }
  near_ = std::max(near_.value_or(*top_), *top_);
  if (!known_.try_emplace(number, time).second) return;
  if (known_.size() > kKnownMax) {
    known_.erase(known_.begin());
    ++forgotten_;
  }
  // Without a supervisor they stay: the next connection gets all numbers that are known.
  if (fresh_.size() == kKnownMax) {
    fresh_.clear();
    behind_ = true;
  }
  if (!behind_) fresh_.push_back({number, time});
}

void SeenNumbers::announced(SliceId upto, std::optional<UtcNs> time) {
  if (announced_ && upto <= *announced_) return;
  announced_ = upto;
  if (!top_ || upto > *top_) {
    top_ = upto;
    top_time_ = time;
  }
  near_ = std::max(near_.value_or(*top_), *top_);
  waiting_.erase(waiting_.begin(), waiting_.upper_bound(upto));
  voting_.erase(voting_.begin(), voting_.upper_bound(upto));
  known_.erase(known_.begin(), known_.upper_bound(upto));
}

std::optional<UtcNs> SeenNumbers::time_upto(SliceId number) const {
  const auto above = known_.upper_bound(number);
  return above == known_.begin() ? std::nullopt : std::optional(std::prev(above)->second);
}

void SeenNumbers::take(std::size_t most, TimeNs now, std::vector<SeenNumber>& out) {
  if (!voting_.empty()) count_votes(now);
  if (behind_) repeat();
  forget_top();
  // One that was far ahead is not believed because its turn has come: its source would draw the others along.
  while (!waiting_.empty()) {
    const auto [number, waits] = *waiting_.begin();
    const bool follows = top_ && number.value <= top_->value + (waits.near ? 1 : 0);
    if (!follows && !is_reached_by_most(number, now)) break;
    // The others vote on the time that a source far ahead gave to the number.
    if (voting_.contains(number)) break;
    waiting_.erase(waiting_.begin());
    believe(number, waits.time);
  }
  const auto end = fresh_.begin() + static_cast<std::ptrdiff_t>(std::min(most, fresh_.size()));
  out.assign(fresh_.begin(), end);
  fresh_.erase(fresh_.begin(), end);
}

void SeenNumbers::repeat() {
  behind_ = false;
  fresh_.clear();
  if (planted(Planted::tell_once)) return;
  for (const auto& [number, time] : known_) fresh_.push_back({number, time});
}

// Flipped bits in two counters at once look as if most had got there: no counter stays there.
void SeenNumbers::forget_top() {
  SliceId highest = announced_.value_or(SliceId());
  for (const Source& source : sources_) highest = std::max(highest, source.at);
  if (!top_ || *top_ <= highest) return;
  top_ = highest;
  top_time_.reset();
  near_ = highest;
}

bool SeenNumbers::is_reached_by_most(SliceId number, TimeNs now) const {
  std::size_t delivering = 0;
  std::size_t there = 0;
  for (const Source& source : sources_) {
    if (!source.delivers || now - source.heard > kDeliveredLately) continue;
    ++delivering;
    there += source.at >= number ? 1U : 0U;
  }
  return delivering == 0 || 2 * there > delivering;
}

}  // namespace weir::numbering
