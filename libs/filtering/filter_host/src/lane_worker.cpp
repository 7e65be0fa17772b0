#include <weir/filter_host/lane_worker.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::filter_host {

LaneWorker::LaneWorker(const LaneView& lane, ConstBytes slice_memory, FilterInstance& instance,
                       const FilterMetrics& metrics, std::function<TimeNs()> now,
                       std::function<void()> after_process)
    : lane_(lane),
      slice_memory_(slice_memory),
      instance_(instance),
      metrics_(metrics),
      now_(std::move(now)),
      after_process_(std::move(after_process)) {}

bool LaneWorker::can_go_on() const {
  const LaneHeader& header = lane_.header();
  if (has_result_) return header.taken.load(std::memory_order_acquire) >= large_taken_;
  return header.submitted.load(std::memory_order_acquire) != header.begun.load(std::memory_order_relaxed);
}

LaneWorker::Step LaneWorker::step() {
  if (!has_result_ && !begin()) return Step::idle;
  return finish();
}

bool LaneWorker::begin() {
  LaneHeader& header = lane_.header();
  const std::uint64_t n = header.begun.load(std::memory_order_relaxed);
  if (n != header.done.load(std::memory_order_relaxed)) return true;  // waits for the large area
  const std::uint64_t submitted = header.submitted.load(std::memory_order_acquire);
  if (n == submitted) return false;
  started_ns_ = now_();
  header.begun_ns.store(started_ns_, std::memory_order_relaxed);
  if (begin_batch_) {
    begin_batch(n, submitted);
  } else {
    header.begun.store(n + 1, std::memory_order_release);
  }
  return true;
}

// All steps up to the first forget.
void LaneWorker::begin_batch(std::uint64_t first, std::uint64_t end) {
  batch_.clear();
  batch_states_.clear();
  batch_first_ = first;
  std::uint64_t n = first;
  for (; n != end && lane_.description(n).kind == LaneKind::step; ++n) {
    batch_.push_back(read_description(lane_, n, slice_memory_));
    batch_states_.push_back(take_state(lane_.description(n).token, batch_.back().step));
  }
  for (std::size_t i = 0; i < batch_.size(); ++i) batch_[i].state = batch_states_[i].raw();
  lane_.header().begun.store(std::max(n, first + 1), std::memory_order_release);
  if (batch_.empty()) return;
  begin_batch_(batch_);
  if (after_process_) after_process_();
  batch_share_ns_ = (now_() - started_ns_) / static_cast<DurationNs>(batch_.size());
}

KeptState LaneWorker::take_state(std::uint64_t token, std::uint32_t step) {
  KeptState state;
  if (const auto found = states_.find(token); found != states_.end()) {
    if (step > 0) state = std::move(found->second);
    states_.erase(found);
  }
  return state;
}

LaneWorker::Step LaneWorker::finish() {
  LaneHeader& header = lane_.header();
  const std::uint64_t n = header.done.load(std::memory_order_relaxed);
  const LaneDescription& description = lane_.description(n);
  const std::uint64_t token = description.token;
  if (description.kind == LaneKind::forget) {
    states_.erase(token);
    header.done.store(n + 1, std::memory_order_release);
    return Step::done;
  }
  if (!has_result_) {
    const std::uint64_t in_batch = n - batch_first_;
    const bool batched = in_batch < batch_.size();
    weir_filter_slice slice = batched ? batch_[in_batch] : read_description(lane_, n, slice_memory_);
    KeptState own;
    if (!batched) own = take_state(token, slice.step);
    // In place: a batch has received its address.
    KeptState& state = batched ? batch_states_[in_batch] : own;
    slice.state = state.raw();
    result_.token = token;
    if (batched) started_ns_ = now_() - batch_share_ns_;
    const DurationNs cpu_before = cpu_clock_ ? cpu_clock_() : 0;
    instance_.process(slice, result_);
    const DurationNs cpu_ns = cpu_clock_ ? cpu_clock_() - cpu_before : 0;
    if (after_process_) after_process_();
    result_.wall_ns = now_() - started_ns_;
    result_.cpu_ns = cpu_ns;
    holds_state_ = result_.verdict == StepVerdict::need_more && state.raw()->data != nullptr;
    if (holds_state_) {
      states_[token] = std::move(state);
    } else {
      state.reset();
    }
    has_result_ = true;
    publish_counters();
  }
  const LanePlace place = lane_.place_for(result_bytes(result_));
  if (place == LanePlace::large) {
    if (header.taken.load(std::memory_order_acquire) < large_taken_) return Step::waiting;
    large_taken_ = n + 1;
  }
  write_result(lane_, n, result_, holds_state_, place);
  has_result_ = false;
  header.done.store(n + 1, std::memory_order_release);
  return Step::done;
}

// After the step, so that the counts of one that does not end are lost with it.
void LaneWorker::publish_counters() {
  LaneHeader& header = lane_.header();
  const std::uint32_t named = header.counters.load(std::memory_order_relaxed);
  std::uint32_t index = 0;
  metrics_.for_each_counter([&](const std::string& name, std::uint64_t value) {
    if (index == LaneHeader::kCounters) return;
    LaneCounter& counter = header.counter[index];
    if (index >= named) {
      const std::size_t length = std::min(name.size(), LaneCounter::kNameBytes - 1);
      std::memcpy(counter.name.data(), name.data(), length);
      counter.name[length] = 0;
    }
    counter.value.store(value, std::memory_order_relaxed);
    ++index;
  });
  if (index != named) header.counters.store(index, std::memory_order_release);
}

}  // namespace weir::filter_host
