// Which worker gets which slice.
#include <weir/worker_pool/worker_pool.hpp>

#include <algorithm>

namespace weir::worker_pool {

bool WorkerPool::has_room(const Worker& worker) const {
  if (worker.state != State::active || worker.exclusive) return false;
  const auto in_time = static_cast<std::size_t>(kLendTime / std::max<DurationNs>(worker.mean_ns, 1));
  return worker.lent.size() < std::clamp<std::size_t>(in_time, 1, settings_.lane_slots);
}

void WorkerPool::lend(Seat seat, Lent what, PoolActions& out) {
  Worker& worker = seats_[seat];
  worker.fresh = false;
  worker.lent.push_back(what);
  ++worker.lent_total;
  out.lend.push_back({seat, what.token, what.kind});
}

std::optional<Seat> WorkerPool::seat_for(Wish wish) const {
  std::size_t reserved = wish == Wish::fresh || !fresh_comes() ? 0 : fresh_reserved();
  for (Seat seat = 0; seat < seats(); ++seat) {
    const Worker& worker = seats_[seat];
    if (worker.state != State::active || !worker.lent.empty()) continue;
    if (worker.fresh && reserved > 0) {
      --reserved;
    } else if (worker.fresh || wish != Wish::fresh) {
      return seat;
    }
  }
  return std::nullopt;
}

// False when every worker has had slices and none is about to be replaced.
bool WorkerPool::fresh_comes() const {
  return std::any_of(seats_.begin(), seats_.end(), [this](const Worker& worker) { return comes(worker); });
}

// No slice waits for a seat that stays empty, or that is started later.
bool WorkerPool::comes(const Worker& worker) const {
  if (worker.state == State::active) return worker.fresh;
  const bool put_off = worker.state == State::empty && now_ns_ < worker.start_after_ns;
  return worker.failures < kUnreplacedAfter && !put_off;
}

void WorkerPool::lend_forgets(PoolActions& out) {
  for (Seat seat = 0; seat < seats(); ++seat) {
    Worker& worker = seats_[seat];
    while (worker.state == State::active && !worker.forgets.empty() &&
           worker.lent.size() < settings_.lane_slots) {
      lend(seat, worker.forgets.front(), out);
      worker.forgets.pop_front();
    }
  }
}

void WorkerPool::lend_marked(PoolActions& out) {
  bool alone_waits = false;
  for (std::size_t left = marked_.size(); left > 0; --left) {
    const Token token = marked_.front();
    marked_.pop_front();
    Wish wish = marks_[token].wish;
    if (wish == Wish::fresh && !fresh_comes()) wish = Wish::alone;
    const auto seat = seat_for(wish);
    if (!seat) {
      alone_waits = alone_waits || wish == Wish::alone;
      marked_.push_back(token);
      continue;
    }
    seats_[*seat].exclusive = true;
    if (draining_ == seat) draining_.reset();
    lend(*seat, {token, LendKind::step}, out);
  }
  if (!alone_waits) draining_.reset();
  if (!alone_waits || draining_) return;
  // No worker is ever idle in a busy farm: one of them gets nothing until it has returned all.
  for (Seat seat = 0; seat < seats(); ++seat) {
    if (seats_[seat].state == State::active && !seats_[seat].exclusive) draining_ = seat;
  }
}

void WorkerPool::lend_own(PoolActions& out) {
  for (Seat seat = 0; seat < seats(); ++seat) {
    Worker& worker = seats_[seat];
    if (worker.own.empty() || worker.exclusive || worker.state != State::active) continue;
    while (!worker.own.empty() && worker.lent.size() < settings_.lane_slots) {
      lend(seat, worker.own.front(), out);
      worker.own.pop_front();
    }
  }
}

// Fresh workers that must stay so: each death leaves one for the slice that it blames, which may must be
// submitted again first.
std::size_t WorkerPool::fresh_reserved() const {
  if (marks_.empty()) return 0;
  std::size_t wanted = 0;
  for (const auto& [token, mark] : marks_) wanted += mark.wish == Wish::fresh ? 1 : 0;
  for (const Worker& worker : seats_) {
    if (worker.lent.empty() || !worker.exclusive || wanted == 0) continue;
    const auto mark = marks_.find(worker.lent.front().token);
    if (mark != marks_.end() && mark->second.wish == Wish::fresh) --wanted;
  }
  return wanted;
}

std::optional<Seat> WorkerPool::least_lent(std::size_t reserved) const {
  std::optional<Seat> best;
  for (Seat seat = 0; seat < seats(); ++seat) {
    if (!has_room(seats_[seat]) || draining_ == seat) continue;
    if (seats_[seat].fresh && reserved > 0) {
      --reserved;
      continue;
    }
    if (!best || seats_[seat].lent.size() < seats_[*best].lent.size()) best = seat;
  }
  return best;
}

void WorkerPool::lend_others(PoolActions& out) {
  const std::size_t reserved = queue_.empty() ? 0 : fresh_reserved();
  while (!queue_.empty()) {
    const auto seat = least_lent(reserved);
    if (!seat) return;
    lend(*seat, {queue_.front(), LendKind::step}, out);
    queue_.pop_front();
  }
}

// The spare that stood in for a fresh slice leaves when the others are as many as configured: the first
// worker with neither slices nor state gives its place to a fresh spare. If a slice waits for a fresh worker
// and none of those that take slices is, one leaves for it too.
void WorkerPool::retire_extra(PoolActions& out) {
  if (fresh_waits() && has_fresh()) return;
  const auto active = std::count_if(seats_.begin(), seats_.end(),
                                    [](const Worker& worker) { return worker.state == State::active; });
  if (static_cast<std::uint64_t>(active) <= settings_.workers) return;
  for (Seat seat = 0; seat < seats(); ++seat) {
    Worker& worker = seats_[seat];
    if (worker.state != State::active || !worker.lent.empty() || !worker.own.empty() ||
        !worker.forgets.empty() || holds_state(seat))
      continue;
    if (worker.fresh) {
      enter(worker, State::ready, now_ns_);
      return;
    }
    if (draining_ == seat) draining_.reset();
    worker.retired = true;
    worker.hard = true;
    out.kill.push_back({seat, true});
    enter(worker, State::ending, now_ns_);
    return;
  }
}

bool WorkerPool::holds_state(Seat seat) const {
  return std::any_of(homes_.begin(), homes_.end(), [&](const auto& home) {
    return home.second.seat == seat && home.second.life == seats_[seat].life;
  });
}

}  // namespace weir::worker_pool
