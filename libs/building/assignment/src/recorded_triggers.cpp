#include <weir/assignment/recorded_triggers.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

RecordedTriggers::RecordedTriggers(std::vector<RecordedTrigger> triggers, bool by_number)
    : triggers_(std::move(triggers)), by_number_(by_number) {
  WEIR_ASSERT(!triggers_.empty());
  WEIR_ASSERT(std::ranges::is_sorted(triggers_, {}, &RecordedTrigger::slice));
}

std::vector<RecordedTrigger>::const_iterator RecordedTriggers::from(SliceId slice) const {
  return std::ranges::lower_bound(triggers_, slice, {}, &RecordedTrigger::slice);
}

std::optional<SliceId> RecordedTriggers::next(SliceId free) const {
  if (!by_number_) return free;
  const auto found = from(free);
  return found == triggers_.end() ? std::nullopt : std::optional(found->slice);
}

const RecordedTrigger& RecordedTriggers::of(SliceId slice) const {
  if (!by_number_) return triggers_[slice.value % triggers_.size()];
  const auto found = from(slice);
  WEIR_ASSERT(found != triggers_.end() && found->slice == slice);
  return *found;
}

}  // namespace weir::assignment
