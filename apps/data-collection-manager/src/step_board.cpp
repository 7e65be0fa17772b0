#include "step_board.hpp"

#include "slice_times.hpp"
#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <string>

namespace weir::dcm {

using assembly::BuiltSlice;

StepBoard::Step& StepBoard::step_of(const BuiltSlice& slice) {
  const std::uint32_t step = std::min(slice.step, kStepsMax - 1);
  if (step >= steps_.size()) steps_.resize(step + 1);
  return steps_[step];
}

void StepBoard::note_arrival(BuiltSlice& slice, TimeNs now_ns) {
  Step& step = step_of(slice);
  const TimeNs begun_ns = slice.step == 0 ? slice.assigned_ns : slice.step_begun_ns;
  const std::size_t before = slice.step == 0 ? 0 : slice.step_bytes;
  ++step.slices;
  step.bytes += slice.payload_bytes - std::min(before, slice.payload_bytes);  // none if steps are repeated
  step.wait_ns += std::max<DurationNs>(0, now_ns - begun_ns);
  slice.step_bytes = std::max(before, slice.payload_bytes);
}

void StepBoard::note_result(BuiltSlice& slice, const filter_job::FilterResult& result, TimeNs now_ns) {
  Step& step = step_of(slice);
  step.process_ns += result.wall_ns;
  step.cpu_ns += result.cpu_ns;
  if (result.verdict == filter_job::StepVerdict::reject) ++step.rejected;
  slice.step_begun_ns = now_ns;  // of the next step
}

void StepBoard::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const std::string number = std::to_string(i);
    counters.of("steps.slices.", number) = step.slices;
    counters.of("steps.rejected.", number) = step.rejected;
    counters.of("steps.bytes.", number) = step.bytes;
    counters.of("steps.wait_us.", number) = microseconds(step.wait_ns);
    counters.of("steps.process_us.", number) = microseconds(step.process_ns);
    counters.of("steps.cpu_us.", number) = microseconds(step.cpu_ns);
  }
}

}  // namespace weir::dcm
