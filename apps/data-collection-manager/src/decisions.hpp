#pragma once

#include "builder.hpp"
#include <weir/metrics/histogram.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <string_view>

namespace weir::dcm {

// The decisions on slices, and what the supervisor is told of them, a batch at a time. While accepted slices
// that wait for their writers hold too much of the memory further accepts are held back, and with them the
// credits: back-pressure to the supervisor. Pure.
class Decisions {
 public:
  // Its share of the memory.
  static constexpr std::uint64_t kAcceptedShare = 2;

  explicit Decisions(Builder& builder) : builder_(builder) {}

  // What has no record that could be stored fails instead. The filter's state goes.
  void decide(assembly::BuiltSlice& slice, const assembly::Decision& decision, TimeNs now_ns);
  // There is something that the supervisor may have to be told.
  [[nodiscard]] bool wait() const;
  // What it is to be told now, appended; these slices are `reported` or `held_back` then.
  void report(v1::Decide& batch);
  // That something was not built, and why; of slices that are not known here any more, too.
  static void add_failure(v1::Decide& batch, SliceId slice, Attempt attempt, std::string_view why);

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  // From the assignment, us.
  [[nodiscard]] const metrics::Histogram& latency() const { return latency_; }

 private:
  static void add_forward(v1::Decide& batch, const assembly::BuiltSlice& slice);
  void report_one(assembly::BuiltSlice& slice, v1::Decide& batch);

  Builder& builder_;
  std::uint64_t accepted_ = 0;
  metrics::Histogram latency_;
};

// What the filter keeps between the steps of a slice is not needed any more.
void destroy_filter_state(assembly::BuiltSlice& slice);

}  // namespace weir::dcm
