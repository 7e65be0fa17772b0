#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weir::assembly {

// The list of active slices in push running, where fragments arrive without a request (van Rantwijk 2002,
// section 5.3.3). There the oldest slice is given up when the list is full; here its missing fragments are
// requested. Pure; one thread.
class PushWindow {
 public:
  PushWindow(std::uint32_t active_max, std::uint32_t readouts)
      : active_max_(active_max), newest_of_(readouts) {}

  // What is to be asked for of a slice that has left the window.
  struct Due {
    SliceId slice;
    bool all = false;  // false: only what its readouts have passed by
  };

  // Waits for it from now on. From `ask_ns` on whatever is missing is asked for.
  void opened(SliceId slice, TimeNs ask_ns);
  // Complete, or over.
  void left(SliceId slice);
  // A pushed fragment of this readout has begun to arrive. A connection keeps the order, and a readout sends
  // in order of slices: older ones that are not here will not come.
  void arrived(std::uint32_t readout, SliceId slice);
  void readout_lost(std::uint32_t readout) { newest_of_[readout].reset(); }

  // A fragment of a slice that is not known here opens it, unless the slice, or a newer one, has left.
  [[nodiscard]] bool may_open(SliceId slice) const { return !newest_left_ || slice > *newest_left_; }
  [[nodiscard]] bool passed_by(std::uint32_t readout, SliceId slice) const {
    return newest_of_[readout] && *newest_of_[readout] > slice;
  }
  // One at a time, until there is none: first those whose time has come, then the oldest where there are more
  // than active_max. Each slice comes at most once as pushed out, and once as `all`. Looks at no others.
  [[nodiscard]] std::optional<Due> next_due(TimeNs now_ns);
  [[nodiscard]] std::size_t active() const { return active_.size(); }

  // Slices that were looked at: what the window has cost.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  std::uint32_t active_max_;
  boost::unordered_flat_map<SliceId, TimeNs, std::hash<SliceId>> open_;  // from when on it is asked for
  std::set<SliceId> active_;                                             // of these, not pushed out
  std::set<std::pair<TimeNs, SliceId>> waiting_;                         // of these, whose time has not come
  std::set<SliceId> due_;                                                // ... and has
  std::uint64_t steps_ = 0;
  std::optional<SliceId> newest_left_;
  std::vector<std::optional<SliceId>> newest_of_;  // by readout, on its present connection
};

}  // namespace weir::assembly
