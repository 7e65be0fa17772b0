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

// The list of active slices in push running, where fragments arrive unrequested (van Rantwijk 2002, section
// 5.3.3). In that paper the oldest slice is given up when the list is full; here its missing fragments are
// requested, or given up as well. Pure; one thread.
class PushWindow {
 public:
  PushWindow(std::uint32_t active_max, std::uint32_t readouts)
      : active_max_(active_max), newest_of_(readouts) {}

  // A slice that has left the window: its missing fragments are to be requested, or given up.
  struct Due {
    SliceId slice;
    bool all = false;  // false: newer slices have pushed it out. Request what its readouts have skipped
  };

  // Begins to wait for the slice. At `ask_ns` all missing fragments become due. `active`: a fragment has
  // begun to arrive, or the slice counts without one.
  void opened(SliceId slice, TimeNs ask_ns, bool active = true);
  // The slice is complete, or over. Returns false if it had left before.
  bool left(SliceId slice);
  // A pushed fragment of this readout has begun to arrive. A connection keeps the order, and a readout sends
  // slices in order: missing fragments of older slices will not arrive.
  void arrived(std::uint32_t readout, SliceId slice);
  void readout_lost(std::uint32_t readout) { newest_of_[readout].reset(); }

  // A fragment of a slice that is not known here opens it, unless the slice, or a newer one, has left.
  [[nodiscard]] bool may_open(SliceId slice) const { return !newest_left_ || slice > *newest_left_; }
  [[nodiscard]] bool passed_by(std::uint32_t readout, SliceId slice) const {
    return newest_of_[readout] && *newest_of_[readout] > slice;
  }
  // Returns one due slice at a time, nullopt if none is left: first overdue ones, then, if more than
  // active_max are active, the oldest and any that is older and not active. Each slice is returned at most
  // once as pushed out, and once as `all`. Visits no others.
  [[nodiscard]] std::optional<Due> next_due(TimeNs now_ns);
  [[nodiscard]] std::size_t active() const { return active_.size(); }

  // Number of slices visited: the cost so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  // Pushes out the oldest slice that is not active, if it is older than the oldest active one. Returns it.
  [[nodiscard]] std::optional<SliceId> push_out_unseen();

  std::uint32_t active_max_;
  boost::unordered_flat_map<SliceId, TimeNs, std::hash<SliceId>> open_;  // time at which it is due
  std::set<SliceId> active_;                                             // of the open ones, not pushed out
  std::set<SliceId> unseen_;                                             // likewise, not active yet
  std::set<std::pair<TimeNs, SliceId>> waiting_;                         // of the open ones, not due yet
  std::set<SliceId> due_;                                                // ... and has
  std::uint64_t steps_ = 0;
  std::optional<SliceId> newest_left_;
  std::vector<std::optional<SliceId>> newest_of_;  // by readout, on its present connection
};

}  // namespace weir::assembly
