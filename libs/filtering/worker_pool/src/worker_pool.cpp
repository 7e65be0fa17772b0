#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/worker_pool/worker_pool.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::worker_pool {
namespace {

constexpr DurationNs kBackoff = 100 * kMillisecond;
constexpr DurationNs kBackoffMax = 5 * kSecond;
constexpr DurationNs kBackoffInSlicesMax = 500 * kMillisecond;
constexpr std::uint32_t kDoublingsMax = 7;  // to kBackoffMax and beyond
constexpr DurationNs kStartPatienceMax = 30 * kSecond;
constexpr DurationNs kMemory = 8;  // results that the running mean looks back on

// The machine may be busy: each failure doubles the time for the next start.
DurationNs start_patience_ns(const PoolSettings& settings, std::uint32_t failures) {
  const std::uint32_t doublings = std::min(failures, WorkerPool::kStartFailuresMax);
  return std::min(settings.start_timeout_ns << doublings,
                  std::max(settings.start_timeout_ns, kStartPatienceMax));
}

DurationNs pause_ns(std::uint32_t failures) {
  return failures == 0 ? 0 : std::min(kBackoff << std::min(failures - 1, kDoublingsMax), kBackoffMax);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string_view name(EndKind kind) {
  constexpr std::array<std::string_view, kEndKinds> kNames = {"signal",  "exit",    "memory",
                                                              "timeout", "corrupt", "start"};
  return kNames[static_cast<std::size_t>(kind)];
}

void PoolActions::clear() {
  kills.clear();
  poison.clear();
  restarted.clear();
  kill.clear();
  start.clear();
  lend.clear();
  unkillable.clear();
  failed = false;
}

WorkerPool::WorkerPool(const PoolSettings& settings)
    : settings_(settings), seats_(settings.workers + settings.spares) {
  WEIR_ASSERT(settings.workers > 0 && settings.lane_slots > 0 && settings.kills_max > 0);
}

bool WorkerPool::is_running(Seat seat) const { return seats_[seat].state != State::empty; }
bool WorkerPool::is_ready(Seat seat) const {
  return seats_[seat].state == State::ready || seats_[seat].state == State::active;
}

void WorkerPool::enter(Worker& worker, State state, TimeNs now_ns) {
  worker.state = state;
  worker.since_ns = now_ns;
}

// ---- slices come and leave

void WorkerPool::submit(Token token, std::uint32_t kills, PoolActions& out) {
  ++in_pool_;
  if (kills > 0) {
    Mark& mark = marks_[token];
    mark.kills = std::max(mark.kills, kills);
  }
  if (!homes_.empty()) {
    if (const auto home = homes_.find(token); home != homes_.end()) {
      Worker& worker = seats_[home->second.seat];
      if (worker.life == home->second.life && worker.state == State::active) {
        worker.own.push_back({token, LendKind::step});
        return;
      }
      homes_.erase(home);
      if (!planted(Planted::keep_dead_state)) return restart(token, out);
    }
  }
  if (!marks_.empty()) {
    const auto mark = marks_.find(token);
    if (mark != marks_.end() && mark->second.wish != Wish::any) {
      marked_.push_back(token);
      return;
    }
  }
  queue_.push_back(token);
}

void WorkerPool::forget(Token token) {
  marks_.erase(token);
  const auto home = homes_.find(token);
  if (home == homes_.end()) return;
  Worker& worker = seats_[home->second.seat];
  if (worker.life == home->second.life && worker.state == State::active)
    worker.forgets.push_back({token, LendKind::forget});
  homes_.erase(home);
}

std::optional<Token> WorkerPool::returned(Seat seat, bool more, bool holds_state, DurationNs wall_ns) {
  Worker& worker = seats_[seat];
  WEIR_ASSERT(worker.owed > 0 && !worker.lent.empty());
  --worker.owed;
  const Lent lent = worker.lent.front();
  worker.lent.pop_front();
  if (lent.kind == LendKind::forget) return std::nullopt;
  worker.failures = 0;
  ends_owed_ = std::max(0.0, ends_owed_ - settings_.end_share_max);
  worker.exclusive = false;  // its only step is done
  constexpr DurationNs kWallMax = 3600 * kSecond;
  worker.mean_ns += (std::clamp<DurationNs>(wall_ns, 1, kWallMax) - worker.mean_ns) / kMemory;
  WEIR_ASSERT(in_pool_ > 0);
  --in_pool_;
  if (!marks_.empty()) {
    const auto mark = marks_.find(lent.token);
    if (mark != marks_.end()) {
      mark->second.wish = Wish::any;
      if (!more) marks_.erase(mark);
    }
  }
  if (more && holds_state) {
    homes_[lent.token] = {seat, worker.life};
    worker.latest.push_back(lent.token);
  } else if (!homes_.empty()) {
    homes_.erase(lent.token);
  }
  return lent.token;
}

// ---- what workers do

void WorkerPool::started(Seat seat) {
  Worker& worker = seats_[seat];
  if (worker.state != State::starting) return;  // it was ordered to end meanwhile
  enter(worker, State::ready, now_ns_);
  worker.ready_ns = now_ns_;
}

std::uint64_t WorkerPool::observe(Seat seat, std::uint64_t begun, std::uint64_t done, PoolActions& out) {
  Worker& worker = seats_[seat];
  if (worker.state != State::active && worker.state != State::ending) return 0;
  if (worker.ended_for == EndKind::corrupt) return 0;
  const bool in_order =
      done >= worker.done && begun >= done && begun >= worker.begun && begun <= worker.lent_total;
  if (!in_order) {
    corrupt(seat, out);
    return 0;
  }
  if (begun != worker.begun || done != worker.done) worker.busy_ns = 0;
  if (begun != worker.begun) worker.since_ns = worker.state == State::active ? now_ns_ : worker.since_ns;
  worker.begun = begun;
  const std::uint64_t news = done - worker.done;
  if (has_step(worker, worker.owed, news)) worker.latest.clear();
  worker.done = done;
  worker.owed += news;
  return news;
}

// True if one of these entries of its lane is a step.
bool WorkerPool::has_step(const Worker& worker, std::uint64_t from, std::uint64_t count) {
  WEIR_ASSERT(from + count <= worker.lent.size());
  const auto first = worker.lent.begin() + static_cast<std::ptrdiff_t>(from);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(count),
                     [](const Lent& one) { return one.kind == LendKind::step; });
}

void WorkerPool::corrupt(Seat seat, PoolActions& out) {
  Worker& worker = seats_[seat];
  // Its counters cannot be trusted: any slice lent to it may have done this, so all count as one batch.
  WEIR_ASSERT(worker.owed <= worker.done);
  worker.done -= worker.owed;
  worker.owed = 0;
  worker.begun = worker.lent_total;
  end(seat, EndKind::corrupt, out);
}

void WorkerPool::end(Seat seat, EndKind why, PoolActions& out) {
  Worker& worker = seats_[seat];
  if (worker.state == State::ending || worker.state == State::empty) return;
  worker.ended_for = why;
  worker.begun_at_kill = worker.begun;
  worker.hard = why == EndKind::corrupt;
  out.kill.push_back({seat, worker.hard});
  enter(worker, State::ending, now_ns_);
}

void WorkerPool::ended(Seat seat, WorkerEnd end, TimeNs now_ns, PoolActions& out) {
  Worker& worker = seats_[seat];
  WEIR_ASSERT(worker.state != State::empty && worker.owed == 0);
  now_ns_ = now_ns;
  if (worker.retired) {
    empty_seat(worker, now_ns);
    worker.succeeds_retired = true;
    return;
  }
  // One that ends soon, before it began a slice, is as good as not started.
  const bool settled = worker.ready_ns != 0 && now_ns - worker.ready_ns >= kSettledAfter;
  const bool starting = worker.state == State::starting || (worker.begun == 0 && !settled);
  if (starting) end.kind = EndKind::start;
  if (worker.ended_for && !starting) {
    end.kind = *worker.ended_for;
    end.text = reason(end.kind) + "; ended with " + end.text;
  }
  note_end(end);
  const bool in_step = has_step(worker, 0, worker.begun - worker.done);
  if (!starting && !in_step && end.kind != EndKind::memory) note_idle_end(seat);
  put_off(worker, end, starting, settle_lent(worker, end, out));
  if (draining_ == seat) draining_.reset();
  empty_seat(worker, now_ns);
}

void WorkerPool::empty_seat(Worker& worker, TimeNs now_ns) {
  Worker empty;
  empty.life = worker.life;
  empty.failures = worker.failures;
  empty.start_after_ns = worker.start_after_ns;
  worker = std::move(empty);
  enter(worker, State::empty, now_ns);
}

std::string WorkerPool::reason(EndKind kind) const {
  if (kind == EndKind::corrupt) return "its lane held impossible values";
  return "took longer than " + std::to_string(settings_.timeout_ns / kMillisecond) + " ms";
}

void WorkerPool::note_end(const WorkerEnd& end) {
  ++ends_[static_cast<std::size_t>(end.kind)];
  last_end_ = std::string(name(end.kind)) + ": " + first_line(end.text);
}

// Puts off the next start in this seat only: other workers go on. A worker without memory is replaced at
// once. The slices that a worker ended in wait for another try, so the pause after them is short.
void WorkerPool::put_off(Worker& worker, const WorkerEnd& end, bool starting, bool in_slices) {
  if (starting) {
    worker.start_after_ns = now_ns_ + pause_ns(++worker.failures);
  } else if (end.kind != EndKind::memory) {
    ends_owed_ = std::min(ends_owed_ + 1, kEndsFree + kDoublingsMax);
    const double beyond = std::max(0.0, ends_owed_ - kEndsFree);
    const DurationNs pause = pause_ns(static_cast<std::uint32_t>(std::ceil(beyond)));
    worker.start_after_ns = now_ns_ + (in_slices ? std::min(pause, kBackoffInSlicesMax) : pause);
  }
}

// ---- a worker has ended: its slices

bool WorkerPool::settle_lent(Worker& worker, const WorkerEnd& end, PoolActions& out) {
  std::deque<Lent> rest = std::exchange(worker.lent, {});
  std::vector<Token> inside;
  for (std::uint64_t i = worker.done; i < worker.begun && !rest.empty(); ++i) {
    if (rest.front().kind == LendKind::step) inside.push_back(rest.front().token);
    rest.pop_front();
  }
  if (planted(Planted::blame_unbegun) && inside.size() == 1 && !rest.empty() &&
      rest.front().kind == LendKind::step) {
    std::swap(inside.front(), rest.front().token);
  }
  rest.insert(rest.end(), worker.own.begin(), worker.own.end());
  worker.own.clear();
  not_begun(rest, out);
  // The slice that took too long was finished after all, and the signal came during the next one.
  if (worker.ended_for == EndKind::timeout && worker.begun != worker.begun_at_kill) {
    for (const Token token : inside) repeat(token, Wish::any, out);
    return true;
  }
  if (inside.size() == 1) {
    blame(inside.front(), end, out);
    return true;
  }
  for (const Token token : inside) repeat(token, Wish::alone, out);
  return !inside.empty();
}

void WorkerPool::not_begun(std::deque<Lent>& lent, PoolActions& out) {
  if (planted(Planted::lose_lent)) {
    for (const Lent& one : lent) in_pool_ -= one.kind == LendKind::step ? 1 : 0;
    return;
  }
  while (!lent.empty()) {
    const Lent one = lent.back();
    lent.pop_back();
    if (one.kind == LendKind::forget) continue;
    if (lose_state(one.token)) {
      restart(one.token, out);
      continue;
    }
    const auto mark = marks_.find(one.token);
    const bool marked = mark != marks_.end() && mark->second.wish != Wish::any;
    (marked ? marked_ : queue_).push_front(one.token);
  }
}

// True if the slice had state in a worker, which has left.
bool WorkerPool::lose_state(Token token) { return homes_.erase(token) > 0; }

// No slice was in process(): one that has been there may be the cause, and its state is here. Most likely it
// is the last one. If there are several last ones, they are repeated alone. While a state is dropped, the
// slice of that state is the likeliest, and it has left.
void WorkerPool::note_idle_end(Seat seat) {
  const Worker& worker = seats_[seat];
  const bool in_forget = worker.begun != worker.done;
  for (const auto& [token, home] : homes_) {
    if (home.seat != seat || home.life != worker.life) continue;
    Mark& mark = marks_[token];
    ++mark.idle_ends;
    if (in_forget || std::ranges::find(worker.latest, token) == worker.latest.end()) continue;
    if (worker.latest.size() == 1) {
      ++mark.ends_after_step;
    } else {
      mark.wish = std::max(mark.wish, Wish::alone);
    }
  }
}

// Its state has left.
void WorkerPool::restart(Token token, PoolActions& out) {
  WEIR_ASSERT(in_pool_ > 0);
  --in_pool_;
  const auto found = marks_.find(token);
  const Mark mark = found == marks_.end() ? Mark{} : found->second;
  if (mark.idle_ends < kIdleEndsMax && mark.ends_after_step < kEndsAfterStepMax)
    return out.restarted.push_back(token);
  marks_.erase(found);
  ++poisoned_;
  out.poison.push_back({token, "its worker ended " + std::to_string(mark.idle_ends) +
                                   " times between its steps: " + last_end_});
}

void WorkerPool::blame(Token token, const WorkerEnd& end, PoolActions& out) {
  Mark& mark = marks_[token];
  if (end.kind == EndKind::memory && !mark.memory && mark.wish != Wish::fresh) {
    mark.memory = true;
    return repeat(token, Wish::fresh, out);
  }
  // Memory that runs out twice counts both times.
  const std::uint32_t number = end.kind == EndKind::memory && mark.memory ? 2 : 1;
  mark.memory = false;
  mark.kills += number;
  out.kills.push_back({token, number});
  if (mark.kills < settings_.kills_max) return repeat(token, Wish::fresh, out);
  marks_.erase(token);
  homes_.erase(token);
  WEIR_ASSERT(in_pool_ > 0);
  --in_pool_;
  ++poisoned_;
  out.poison.push_back({token, end.text});
}

void WorkerPool::repeat(Token token, Wish wish, PoolActions& out) {
  Mark& mark = marks_[token];
  mark.wish = std::max(mark.wish, wish);
  ++retried_;
  if (lose_state(token)) return restart(token, out);
  (mark.wish == Wish::any ? queue_ : marked_).push_front(token);
}

// ---- time passes

void WorkerPool::pass(TimeNs now_ns, PoolActions& out) {
  const DurationNs step = last_pass_ns_ == 0 ? 0 : std::clamp<DurationNs>(now_ns - last_pass_ns_, 0, kGapMax);
  last_pass_ns_ = now_ns_ = now_ns;
  for (Seat seat = 0; seat < seats(); ++seat) watch(seat, step, now_ns, out);
  out.failed = out.failed || std::all_of(seats_.begin(), seats_.end(), [](const Worker& worker) {
                 return worker.state != State::ready && worker.state != State::active &&
                        worker.failures >= kStartFailuresMax;
               });
  promote(now_ns);
  retire_extra(out);
  lend_forgets(out);
  lend_marked(out);
  lend_own(out);
  lend_others(out);
}

void WorkerPool::watch(Seat seat, DurationNs step_ns, TimeNs now_ns, PoolActions& out) {
  Worker& worker = seats_[seat];
  switch (worker.state) {
    case State::empty:
      if (now_ns < worker.start_after_ns) return;
      ++worker.life;
      if (!worker.succeeds_retired && starts_++ >= seats()) ++restarts_;
      worker.succeeds_retired = false;
      enter(worker, State::starting, now_ns);
      out.start.push_back({seat});
      return;
    case State::starting:
      if (now_ns - worker.since_ns > start_patience_ns(settings_, worker.failures))
        end(seat, EndKind::start, out);
      return;
    case State::active: {
      if (worker.begun == worker.done) return;
      const auto inside = static_cast<DurationNs>(worker.begun - worker.done);
      worker.busy_ns += step_ns;
      if (worker.busy_ns > settings_.timeout_ns * inside) end(seat, EndKind::timeout, out);
      return;
    }
    case State::ending: {
      const DurationNs waited = now_ns - worker.since_ns;
      if (waited > kHardKillAfter && !worker.hard) {
        worker.hard = true;
        out.kill.push_back({seat, true});
      }
      if (waited > kUnkillableAfter && !worker.reported) {
        worker.reported = true;
        out.unkillable.push_back(seat);
      }
      return;
    }
    case State::ready:
      return;
  }
}

// A fresh worker may have died before its slice came: then the spare takes slices besides the others.
void WorkerPool::promote(TimeNs now_ns) {
  auto active = static_cast<std::uint32_t>(std::count_if(
      seats_.begin(), seats_.end(), [](const Worker& worker) { return worker.state == State::active; }));
  const std::uint32_t limit = settings_.workers + (!has_fresh() && fresh_waits() ? 1 : 0);
  for (Worker& worker : seats_) {
    if (active >= limit) return;
    if (worker.state != State::ready) continue;
    enter(worker, State::active, now_ns);
    ++active;
  }
}

bool WorkerPool::has_fresh() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const Worker& worker) { return worker.state == State::active && worker.fresh; });
}

bool WorkerPool::fresh_waits() const {
  return std::any_of(marked_.begin(), marked_.end(),
                     [this](Token token) { return marks_.at(token).wish == Wish::fresh; });
}

// ---- seen from outside

void WorkerPool::running(std::vector<Running>& out) const {
  for (const Worker& worker : seats_) {
    std::uint64_t inside = worker.begun - worker.done;
    for (const Lent& lent : worker.lent) {
      if (inside == 0) break;
      --inside;
      if (lent.kind == LendKind::step) out.push_back({lent.token, worker.since_ns});
    }
  }
}

std::string WorkerPool::broken_invariant() const {
  std::vector<Token> all(queue_.begin(), queue_.end());
  all.insert(all.end(), marked_.begin(), marked_.end());
  for (const Worker& worker : seats_) {
    for (const auto* list : {&worker.lent, &worker.own}) {
      for (const Lent& lent : *list) {
        if (lent.kind == LendKind::step) all.push_back(lent.token);
      }
    }
    if (worker.lent_total - worker.done + worker.owed != worker.lent.size())
      return "a worker's lent slices do not add up";
    if (worker.lent.size() > settings_.lane_slots)
      return "more slices are lent to a worker than its lane has slots";
    const auto steps = std::count_if(worker.lent.begin(), worker.lent.end(),
                                     [](const Lent& lent) { return lent.kind == LendKind::step; });
    if (worker.exclusive && steps > 1) return "a slice that must be alone is not";
  }
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) return "a slice is in two places";
  return all.size() == in_pool_ ? "" : "slices in the pool do not add up";
}

}  // namespace weir::worker_pool
