#pragma once

#include <weir/assembly/slice_table.hpp>
#include <weir/filter_host/filter_units.hpp>
#include <weir/slice_rows/rows.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::dcm {

// Finds the steps of the filter that take long: to blame for an expired lease, or stalled. Pure. Units
// identify a slice by its place in the table; a slice that is not with the filter any more was returned, and
// its unit is about to take the next job.
class LongSteps {
 public:
  struct Limits {
    DurationNs long_ns;      // such slices are to blame for an expired lease
    DurationNs deadline_ns;  // a longer step is stalled
  };
  LongSteps(Limits limits, const assembly::SliceTable& slices) : limits_(limits), slices_(slices) {}

  // Finds the slices to blame among the jobs at work. Returns true if they have changed.
  [[nodiscard]] bool find_long(std::span<const filter_host::OldestJob> running, TimeNs now_ns);
  [[nodiscard]] const std::vector<slice_rows::Lease>& long_ones() const { return long_; }
  void forget_long() { long_.clear(); }

  // Counts a stalled step, once for each slice in a row. Returns its slice, once.
  [[nodiscard]] std::optional<SliceId> find_stalled(const filter_host::OldestJob& oldest, TimeNs now_ns);
  // Returns the slice of a stalled step; nullopt: none.
  [[nodiscard]] std::optional<SliceId> held(const std::optional<filter_host::OldestJob>& oldest,
                                            TimeNs now_ns) const;
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }

 private:
  const Limits limits_;
  const assembly::SliceTable& slices_;
  std::vector<slice_rows::Lease> long_;
  std::optional<std::pair<SliceId, Attempt>> stalled_;  // the last one
  std::uint64_t stalls_ = 0;
};

}  // namespace weir::dcm
