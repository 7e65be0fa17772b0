#pragma once

#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/lane.hpp>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

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

  // All outlive this. `now` is the steady clock. `after_process` is called after each step of the filter,
  // before anything is published; may be empty.
  LaneWorker(const LaneView& lane, ConstBytes slice_memory, FilterInstance& instance,
             const FilterMetrics& metrics, std::function<TimeNs()> now,
             std::function<void()> after_process = {});

  // One description.
  Step step();
  // The same in two parts, for callers that act between them. begin() returns false when nothing is
  // submitted.
  bool begin();
  Step finish();
  // From now on FilterResult::cpu_ns is filled from this clock of the thread's CPU time.
  void measure_cpu(std::function<DurationNs()> cpu_clock) { cpu_clock_ = std::move(cpu_clock); }
  void drop_states() { states_.clear(); }
  // step() would not be idle or waiting.
  [[nodiscard]] bool can_go_on() const;

 private:
  void publish_counters();

  LaneView lane_;
  ConstBytes slice_memory_;
  FilterInstance& instance_;
  const FilterMetrics& metrics_;
  std::function<TimeNs()> now_;
  std::function<void()> after_process_;
  std::function<DurationNs()> cpu_clock_;  // empty: not measured
  std::unordered_map<std::uint64_t, SliceState> states_;
  FilterResult result_;
  bool has_result_ = false;  // that waits for the large area
  bool holds_state_ = false;
  std::uint64_t large_taken_ = 0;  // the large area is free when so many results are taken
  TimeNs started_ns_ = 0;
};

}  // namespace weir::filter_host
