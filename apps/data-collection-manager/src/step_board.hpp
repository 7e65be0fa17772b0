#pragma once

#include <weir/assembly/built_slice.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <vector>

namespace weir::dcm {

// Counts slices, bytes and times of each step of a sequential selection, in farms with a filter that does not
// receive all sources at the start. Pure.
class StepBoard {
 public:
  // Steps beyond are counted with the last one.
  static constexpr std::uint32_t kStepsMax = 64;

  void enable() { on_ = true; }
  // A step's fragments are here: the slice goes to the filter.
  void arrived(assembly::BuiltSlice& slice, TimeNs now_ns) {
    if (on_) note_arrival(slice, now_ns);
  }
  // The filter has finished the slice's step.
  void finished(assembly::BuiltSlice& slice, const filter_job::FilterResult& result, TimeNs now_ns) {
    if (on_) note_result(slice, result, now_ns);
  }
  void add_to(v1::Report& report) const;

 private:
  struct Step {
    std::uint64_t slices = 0;
    std::uint64_t rejected = 0;
    std::uint64_t bytes = 0;
    DurationNs wait_ns = 0;
    DurationNs process_ns = 0;
    DurationNs cpu_ns = 0;
  };
  Step& step_of(const assembly::BuiltSlice& slice);
  void note_arrival(assembly::BuiltSlice& slice, TimeNs now_ns);
  void note_result(assembly::BuiltSlice& slice, const filter_job::FilterResult& result, TimeNs now_ns);

  bool on_ = false;
  std::vector<Step> steps_;
};

}  // namespace weir::dcm
