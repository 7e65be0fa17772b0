// WorkerUnits: slices on their way through the workers' lanes.
#include <weir/base/assert.hpp>
#include <weir/filter_host/worker_units.hpp>

#include <algorithm>
#include <utility>

namespace weir::filter_host {

std::size_t WorkerUnits::submit(std::span<const Job> jobs) {
  if (stopping_) return 0;
  const std::size_t count = std::min(jobs.size(), options_.jobs_max - in_flight_);
  for (const Job& job : jobs.first(count)) {
    if (job.token >= jobs_.size()) jobs_.resize(std::max<std::size_t>(job.token + 1, 2 * jobs_.size()));
    jobs_[job.token] = job;
    pool_.submit(job.token, job.kills, actions_);
  }
  in_flight_ += count;
  return count;
}

void WorkerUnits::flush() {
  if (!takes_slices()) return;
  pool_.pass(host_.now_ns(), actions_);
  act();
}

void WorkerUnits::lend(const worker_pool::PoolActions::Lend& lend) {
  Seat& seat = seats_[lend.seat];
  if (lend.kind == worker_pool::LendKind::forget) {
    write_forget(seat.process->lane(), seat.submitted, lend.token);
  } else {
    write_description(seat.process->lane(), seat.submitted, lend.token, *jobs_[lend.token].slice,
                      options_.slice_memory);
  }
  ++seat.submitted;
  seat.lane_touched = true;
}

// A worker that falls asleep after this sees everything stored before.
void WorkerUnits::wake_if_asleep(Seat& seat) {
  std::atomic<std::uint32_t>& asleep = seat.process->lane().header().worker_asleep;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep.load(std::memory_order_relaxed) == 0) return;
  asleep.store(0, std::memory_order_relaxed);
  seat.process->wake();
}

void WorkerUnits::act() {
  for (const auto& lent : actions_.lend) lend(lent);
  for (Seat& seat : seats_) {
    if (!std::exchange(seat.lane_touched, false)) continue;
    LaneHeader& header = seat.process->lane().header();
    header.submitted.store(seat.submitted, std::memory_order_release);
    wake_if_asleep(seat);
  }
  for (const auto& one : actions_.kills) kills_.push_back({one.token, one.number});
  for (const auto& one : actions_.poison) {
    FilterResult& result = new_result(one.token);
    result.verdict = StepVerdict::poison;
    result.error = one.text;
    hand_over(result);
  }
  for (const worker_pool::Token token : actions_.restarted) {
    FilterResult& result = new_result(token);
    result.verdict = StepVerdict::restart;
    hand_over(result);
  }
  for (const auto& one : actions_.kill) end_worker(one.seat, one.hard);
  unkillable_ += actions_.unkillable.size();
  if (actions_.failed) failure_ = "filter workers do not start: " + pool_.last_end();
  const std::vector<worker_pool::PoolActions::Start> starts = std::move(actions_.start);
  actions_.clear();
  for (const auto& one : starts) start(one.seat);
}

void WorkerUnits::take_lane(worker_pool::Seat index) {
  Seat& seat = seats_[index];
  if (!seat.begun) return;
  const LaneView& lane = seat.process->lane();
  LaneHeader& header = lane.header();
  const std::uint64_t done = header.done.load(std::memory_order_acquire);
  const std::uint64_t begun = header.begun.load(std::memory_order_acquire);
  std::uint64_t news = pool_.observe(index, begun, done, actions_);
  if (news == 0) return;
  for (; news > 0; --news) {
    const std::uint64_t token = pool_.next_token(index);
    if (pool_.next_kind(index) == worker_pool::LendKind::forget) {
      (void)pool_.returned(index, false, false, 0);
      ++seat.taken;
      continue;
    }
    FilterResult& result = new_result(token);
    TakenResult taken;
    if (!read_result(lane, seat.taken, token, *jobs_[token].slice, config_.limits, config_.streams.mask(),
                     result, taken, seat.booked.cells()) ||
        !may_forward(result)) {
      free_.push_back(&result);
      pool_.corrupt(index, actions_);
      break;
    }
    translate(seat, result.fills);
    const bool more = result.verdict == StepVerdict::need_more;
    (void)pool_.returned(index, more, taken.holds_state, result.wall_ns);
    ++seat.taken;
    if (more) remember(token);
    hand_over(result);
  }
  header.taken.store(seat.taken, std::memory_order_release);
  wake_if_asleep(seat);
}

void WorkerUnits::drain(std::vector<FilterResult*>& out) {
  if (takes_slices()) {
    // The flag first, then the look: later results wake this process.
    for (worker_pool::Seat index = 0; index < pool_.seats(); ++index) {
      if (seats_[index].process == nullptr) continue;
      seats_[index].process->lane().header().dcm_asleep.store(1, std::memory_order_seq_cst);
      take_lane(index);
    }
    if (host_.has_news()) take_ends();
    act();
  }
  WEIR_ASSERT(finished_.size() <= in_flight_);
  in_flight_ -= finished_.size();
  out.insert(out.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

bool WorkerUnits::may_forward(const FilterResult& result) const {
  const auto& groups = config_.forward_groups;
  return result.verdict != StepVerdict::forward ||
         std::any_of(groups.begin(), groups.end(),
                     [&](const auto& group) { return group.second == result.forward_group; });
}

FilterResult& WorkerUnits::new_result(std::uint64_t token) {
  if (free_.empty()) {
    storage_.push_back(std::make_unique<FilterResult>());
    free_.push_back(storage_.back().get());
  }
  FilterResult& result = *free_.back();
  free_.pop_back();
  result.clear();
  result.token = token;
  return result;
}

void WorkerUnits::hand_over(FilterResult& result) { finished_.push_back(&result); }

void WorkerUnits::recycle(std::span<FilterResult* const> results) {
  free_.insert(free_.end(), results.begin(), results.end());
}

// The slice's owner destroys its filter state when the slice has left the filter.
void WorkerUnits::remember(std::uint64_t token) {
  if (token >= handles_.size()) handles_.resize(token + 1);
  if (handles_[token] == nullptr) handles_[token] = std::make_unique<StateHandle>(StateHandle{this, token});
  *jobs_[token].slice->state = {handles_[token].get(), &WorkerUnits::forget_state};
}

void WorkerUnits::forget_state(void* data) {
  const auto* handle = static_cast<const StateHandle*>(data);
  handle->units->pool_.forget(handle->token);
}

}  // namespace weir::filter_host
