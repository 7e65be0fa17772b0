#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace weir::slice_rows {

// The slices of a readout's absence, by their place in the order of announcement: from `from`, up to but not
// including `until`.
struct AbsenceRange {
  static constexpr SliceOrder kOpen{std::numeric_limits<std::uint64_t>::max()};

  NodeIndex readout;
  SliceOrder from;
  SliceOrder until = kOpen;  // kOpen: the end is not known yet

  [[nodiscard]] bool covers(SliceOrder order) const { return from <= order && order < until; }
  bool operator==(const AbsenceRange&) const = default;
};

// Records which readouts are absent from which slices: those that an operator removed from the run, or that
// had not joined yet. The supervisor changes the table, always from a slice that it has not announced yet;
// DCMs receive the whole table before that slice. So both always agree on a slice. A dead readout is not in
// the table: its fragments are lost for other reasons. Pure; one thread.
class AbsenceTable {
 public:
  // Beyond this number the oldest closed range is forgotten; the readout is then asked for its slices again,
  // and answers that it has none. Each readout has at most one open range, so all open ranges fit below
  // 65,536 readouts.
  static constexpr std::size_t kEndedMax = 1024;

  // Begins an absence. Requires: the readout is present.
  void leave(NodeIndex readout, SliceOrder from);
  // Ends an absence: the readout is present from this slice on. No effect if it is present.
  void join(NodeIndex readout, SliceOrder from);
  // Replaces the table by a received one. Returns false and changes nothing if a range is empty or the table
  // has more ranges than a supervisor makes.
  [[nodiscard]] bool replace(const std::vector<AbsenceRange>& ranges);

  // Costs at most the logarithm of the readout's ranges; constant time for slices from its last range on.
  [[nodiscard]] bool covers(NodeIndex readout, SliceOrder order) const;
  // Returns false if no readout is absent from this slice. Constant time, regardless of earlier absences;
  // false for most of a run.
  [[nodiscard]] bool may_cover(SliceOrder order) const { return open_ > 0 || order < highest_end_; }
  [[nodiscard]] bool is_out(NodeIndex readout) const;  // has an open range
  [[nodiscard]] bool empty() const { return open_ == 0 && ended_.empty(); }
  // Returns the ranges in the order of their begin. Costs a walk over all of them.
  [[nodiscard]] std::vector<AbsenceRange> ranges() const;
  // Version of the table; every change increments it.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // Number of ranges visited so far: the cost of lookups and changes.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Range {
    SliceOrder from;
    SliceOrder until;
    SliceOrder reach;  // the highest `until` of this range and its predecessors: received ranges may overlap
    std::uint64_t serial = 0;
  };
  using Own = std::vector<Range>;  // of one readout, ascending in `from`

  Own& append(const AbsenceRange& range);  // not sorted in yet
  void erase(Own& own, Own::iterator place);
  void note_end(NodeIndex readout, const Range& range);
  void reach_from(Own& own, Own::iterator place);

  std::vector<Own> of_;                       // by readout
  std::map<std::uint64_t, NodeIndex> ended_;  // by serial number, in the order of their begin
  std::size_t open_ = 0;                      // ranges
  SliceOrder highest_end_;                    // over all closed ranges, including forgotten ones
  std::uint64_t serial_ = 0;
  mutable std::uint64_t steps_ = 0;
  std::uint32_t number_ = 0;
};

// Returns how many slices below `end` each of `readouts` readouts, numbered from 0, is absent from.
[[nodiscard]] std::uint64_t slices_without_readouts(const std::vector<AbsenceRange>& ranges,
                                                    std::size_t readouts, SliceOrder end);

}  // namespace weir::slice_rows
