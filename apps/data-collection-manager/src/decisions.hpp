#pragma once

#include "builder.hpp"
#include <weir/metrics/histogram.hpp>
#include <weir/v1/control.pb.h>

#include <cstdint>
#include <string_view>

namespace weir::dcm {

// Collects the decisions on slices and batches them for the supervisor. While accepted slices that wait for
// their writers hold too much of the memory, further accepts are held back together with their credits:
// back-pressure to the supervisor. Pure.
class Decisions {
 public:
  // Its share of the memory.
  static constexpr std::uint64_t kAcceptedShare = 2;

  explicit Decisions(Builder& builder) : builder_(builder) {}

  // Decides a slice; it fails instead if its record could not be stored. Destroys the filter's state of the
  // slice.
  void decide(assembly::BuiltSlice& slice, const assembly::SliceDecision& decision, TimeNs now_ns);
  // True if decisions wait to be reported.
  [[nodiscard]] bool wait() const;
  // Appends the decisions that may be reported now, and moves their slices to `reported` or `held_back`.
  void report(v1::Decide& batch);
  // Reports that a slice was not built, with the reason; the slice may be unknown here.
  static void add_failure(v1::Decide& batch, SliceId slice, Attempt attempt, std::string_view why);

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  // from the assignment, us
  [[nodiscard]] const metrics::ValueHistogram& latency() const { return latency_; }

 private:
  static void add_forward(v1::Decide& batch, const assembly::BuiltSlice& slice);
  void report_one(assembly::BuiltSlice& slice, v1::Decide& batch);

  Builder& builder_;
  std::uint64_t accepted_ = 0;
  metrics::ValueHistogram latency_;
};

// Destroys the state that the filter keeps between the steps of a slice.
void destroy_filter_state(assembly::BuiltSlice& slice);

}  // namespace weir::dcm
