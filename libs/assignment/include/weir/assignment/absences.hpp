#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace weir::assignment {

// Slices that a readout has no part in, by their place in the order of announcement: from `from` on, until
// below `until`.
struct AbsenceRange {
  static constexpr SliceOrder kOpen{std::numeric_limits<std::uint64_t>::max()};

  NodeIndex readout;
  SliceOrder from;
  SliceOrder until = kOpen;  // kOpen: it is not known yet when it comes back

  [[nodiscard]] bool covers(SliceOrder order) const { return from <= order && order < until; }
  bool operator==(const AbsenceRange&) const = default;
};

// Which readouts have no part in which slices: those that were taken out of the run on purpose, or had not
// come yet. The supervisor changes it, always from a slice on that no node was told of yet; DCMs are told the
// whole of it before that slice. So both agree on a slice, whenever they look. A readout that dies is not in
// it: what it held is lost, and has other reasons. Pure; one thread.
class AbsenceTable {
 public:
  // Beyond, the oldest range that has ended is forgotten; its slices are asked of the readout again, which
  // answers that it has none. Of each readout one range at most is open: these always fit below 65,536
  // readouts.
  static constexpr std::size_t kEndedMax = 1024;

  // Not out already (an assert).
  void leave(NodeIndex readout, SliceOrder from);
  // From this slice on it has a part again; nothing changes for one that is not out.
  void join(NodeIndex readout, SliceOrder from);
  // As told. False, and nothing taken, when a range is empty or there are more than a supervisor makes.
  [[nodiscard]] bool replace(const std::vector<AbsenceRange>& ranges);

  // The logarithm of the ranges of this readout at most; one step for slices from its last range on.
  [[nodiscard]] bool covers(NodeIndex readout, SliceOrder order) const;
  // False: no readout is out of this slice, which is found out without a look at the ranges. For most of a
  // run that is so, however many readouts were out before.
  [[nodiscard]] bool may_cover(SliceOrder order) const { return open_ > 0 || order < highest_end_; }
  [[nodiscard]] bool is_out(NodeIndex readout) const;  // from some slice on, without an end yet
  [[nodiscard]] bool empty() const { return open_ == 0 && ended_.empty(); }
  // As they began. Costs a walk over all of them.
  [[nodiscard]] std::vector<AbsenceRange> ranges() const;
  // Changes with every change.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // Ranges that were looked at: what looking and changing has cost.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Range {
    SliceOrder from;
    SliceOrder until;
    SliceOrder reach;  // the highest `until` of this one and those before it: as told, they may overlap
    std::uint64_t serial = 0;
  };
  using Own = std::vector<Range>;  // of a readout, ascending in `from`

  Own& append(const AbsenceRange& range);  // not in its place yet
  void erase(Own& own, Own::iterator place);
  void note_end(NodeIndex readout, const Range& range);
  void reach_from(Own& own, Own::iterator place);

  std::vector<Own> of_;                       // by readout
  std::map<std::uint64_t, NodeIndex> ended_;  // by serial number: as they began
  std::size_t open_ = 0;                      // ranges
  SliceOrder highest_end_;                    // of all that ended, those that are forgotten too
  std::uint64_t serial_ = 0;
  mutable std::uint64_t steps_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace weir::assignment
