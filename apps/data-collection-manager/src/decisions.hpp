#pragma once

#include "builder.hpp"
#include <weir/metrics/histogram.hpp>
#include <weir/slice_rows/rows.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace weir::dcm {

// Collects the decisions on slices and batches them for the supervisor. While accepted slices that wait for
// their writers hold too much of the memory, further accepts are held back together with their credits:
// back-pressure to the supervisor. Forwarded slices are kept for the DCMs of the next group only while they
// and the accepted ones hold less. Pure.
class Decisions {
 public:
  // Its share of the memory.
  static constexpr std::uint64_t kAcceptedShare = 2;

  explicit Decisions(Builder& builder) : builder_(builder) {}

  // Slices forwarded to these groups (by index) are offered to be kept, at most `slices_max` at a time.
  void keep_for(std::vector<bool> groups, std::size_t slices_max) {
    keeps_for_ = std::move(groups);
    kept_max_ = slices_max;
  }
  // True if accepts are held back, or would be.
  [[nodiscard]] bool needs_room() const;
  // Decides a slice; it fails instead if its record could not be stored. Destroys the filter's state of the
  // slice.
  void decide(assembly::BuiltSlice& slice, const assembly::SliceDecision& decision, TimeNs now_ns);
  // True if decisions wait to be reported.
  [[nodiscard]] bool wait() const;
  // Appends the decisions that may be reported now, and moves their slices to `reported` or `held_back`.
  void report(std::vector<slice_rows::AttemptDecision>& batch);

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  // from the assignment, us
  [[nodiscard]] const metrics::ValueHistogram& latency() const { return latency_; }

 private:
  [[nodiscard]] bool can_keep(const assembly::BuiltSlice& slice) const;
  [[nodiscard]] std::uint64_t accepted_most() const { return builder_.pool.bytes_total() / kAcceptedShare; }
  void report_one(assembly::BuiltSlice& slice, std::vector<slice_rows::AttemptDecision>& batch);

  Builder& builder_;
  std::vector<bool> keeps_for_;
  std::size_t kept_max_ = 0;
  std::uint64_t accepted_ = 0;
  metrics::ValueHistogram latency_;
};

// The report that an attempt was not built; its slice may be unknown here.
[[nodiscard]] slice_rows::AttemptDecision failed(SliceId slice, Attempt attempt,
                                                 slice_rows::DiscardReason reason);
// Destroys the state that the filter keeps between the steps of a slice.
void destroy_filter_state(assembly::BuiltSlice& slice);

}  // namespace weir::dcm
