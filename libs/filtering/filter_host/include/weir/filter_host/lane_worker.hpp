#pragma once

#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/lane.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::filter_host {

// A worker's side of a lane: takes descriptions, runs the filter, publishes results, keeps the filter's state
// of slices between their steps. One thread.
class LaneWorker {
 public:
  enum class Step : std::uint8_t {
    idle,    // nothing is submitted
    done,    // a result was published
    waiting  // the large area is in use: again when the DCM has taken a result
  };

  // All outlive this. `now` is the steady clock. `after_process` is called after each step of the filter and
  // after each batch, before anything is published; may be empty.
  LaneWorker(const LaneView& lane, ConstBytes slice_memory, FilterInstance& instance,
             const FilterMetrics& metrics, std::function<TimeNs()> now,
             std::function<void()> after_process = {});

  // Takes all submitted slices at once: `begin_batch` is called with them before the first process(). Their
  // states stay at the addresses that it receives. A process that ends before the last of them blames them
  // together.
  void work_in_batches(std::function<void(std::span<const weir_filter_slice>)> begin_batch) {
    begin_batch_ = std::move(begin_batch);
  }
  // The memory is now mapped here as well. Slices that are begun keep their old place.
  void move_to(ConstBytes slice_memory) { slice_memory_ = slice_memory; }

  // One description.
  Step step();
  // The same in two parts, for callers that act between them. begin() returns false when nothing is
  // submitted.
  bool begin();
  Step finish();
  // From now on FilterResult::cpu_ns is filled from this clock of the thread's CPU time.
  void measure_cpu(std::function<DurationNs()> cpu_clock) { cpu_clock_ = std::move(cpu_clock); }
  void drop_states() {
    states_.clear();
    batch_.clear();
    batch_states_.clear();
  }
  // step() would not be idle or waiting.
  [[nodiscard]] bool can_go_on() const;

 private:
  void publish_counters();
  void begin_batch(std::uint64_t first, std::uint64_t end);
  [[nodiscard]] KeptState take_state(std::uint64_t token, std::uint32_t step);

  LaneView lane_;
  ConstBytes slice_memory_;
  FilterInstance& instance_;
  const FilterMetrics& metrics_;
  std::function<TimeNs()> now_;
  std::function<void()> after_process_;
  std::function<DurationNs()> cpu_clock_;                                // empty: not measured
  std::function<void(std::span<const weir_filter_slice>)> begin_batch_;  // empty: one by one
  std::vector<weir_filter_slice> batch_;
  std::vector<KeptState> batch_states_;
  std::uint64_t batch_first_ = 0;  // entry of batch_[0]
  DurationNs batch_share_ns_ = 0;  // each slice's part of the time in begin_batch_
  std::unordered_map<std::uint64_t, KeptState> states_;
  FilterResult result_;
  bool has_result_ = false;  // that waits for the large area
  bool holds_state_ = false;
  std::uint64_t large_taken_ = 0;  // the large area is free when so many results are taken
  TimeNs started_ns_ = 0;
};

}  // namespace weir::filter_host
