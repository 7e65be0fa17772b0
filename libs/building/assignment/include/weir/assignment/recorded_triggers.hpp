#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/bytes.hpp>

#include <optional>
#include <vector>

namespace weir::assignment {

struct RecordedTrigger {
  SliceId slice;  // its number in the recording
  TriggerInfo info;
  std::vector<std::byte> payload;
};

// Describes the slices of a replay as they were recorded. A function of the slice's id, so that a resumed run
// continues the recording without any state.
class RecordedTriggers {
 public:
  // `by_number`: each recorded slice is replayed once, under its own number. Otherwise slice k of the run is
  // recorded slice k mod n. Requires: at least one trigger, ascending in slice.
  RecordedTriggers(std::vector<RecordedTrigger> triggers, bool by_number);

  // Returns the first id from `free` on that the recording has; nullopt if none follows.
  [[nodiscard]] std::optional<SliceId> next(SliceId free) const;
  // Returns the trigger that is replayed as `slice`. Requires: an id that next() returned.
  [[nodiscard]] const RecordedTrigger& of(SliceId slice) const;

 private:
  [[nodiscard]] std::vector<RecordedTrigger>::const_iterator from(SliceId slice) const;

  std::vector<RecordedTrigger> triggers_;
  bool by_number_;
};

}  // namespace weir::assignment
