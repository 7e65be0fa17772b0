#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace weir::assignment {

// Slices that a readout has no part in: from `from` on, until below `until`.
struct AbsenceRange {
  static constexpr SliceId kOpen{std::numeric_limits<std::uint64_t>::max()};

  NodeIndex readout;
  SliceId from;
  SliceId until = kOpen;  // kOpen: it is not known yet when it comes back

  [[nodiscard]] bool covers(SliceId slice) const { return from <= slice && slice < until; }
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
  void leave(NodeIndex readout, SliceId from);
  // From this slice on it has a part again; nothing changes for one that is not out.
  void join(NodeIndex readout, SliceId from);
  // As told. False, and nothing taken, when a range is empty or there are more than a supervisor makes.
  [[nodiscard]] bool replace(std::vector<AbsenceRange> ranges);

  [[nodiscard]] bool covers(NodeIndex readout, SliceId slice) const;
  [[nodiscard]] bool is_out(NodeIndex readout) const;  // from some slice on, without an end yet
  [[nodiscard]] const std::vector<AbsenceRange>& ranges() const { return ranges_; }  // as they began
  // Changes with every change.
  [[nodiscard]] std::uint32_t number() const { return number_; }

 private:
  std::vector<AbsenceRange> ranges_;
  std::uint32_t number_ = 0;
};

}  // namespace weir::assignment
