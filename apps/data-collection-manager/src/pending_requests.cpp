#include "pending_requests.hpp"

#include <algorithm>

namespace weir::dcm {

// Removes forgotten requests, and doubles the room only if more than half of them are not.
void PendingRequests::make_room() {
  oldest_ = std::max(oldest_, asked_.size() - std::min(asked_.size(), kMax - 1));
  asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  oldest_ = 0;
  room_ = std::max(room_, 2 * asked_.size());
}

// Several requests for fragments of one slice have the same offset, and follow each other. Their frames add
// up if not every answer is reported.
std::optional<PendingRequests::Answered> PendingRequests::take_answered(SliceId slice, std::uint32_t offset) {
  if (slice != last_.slice || offset != last_.offset || last_.fragments == 0) return std::nullopt;
  const auto is_meant = [&](const Question& one) { return one.slice == slice && one.offset == offset; };
  auto at = std::find_if(asked_.begin() + static_cast<std::ptrdiff_t>(oldest_), asked_.end(), is_meant);
  if (at == asked_.end()) return std::nullopt;  // forgotten: says nothing of the others
  std::optional<Answered> answered;
  for (; last_.fragments > 0 && at != asked_.end(); ++at) {
    if (!is_meant(*at) || at->fragments > last_.fragments) break;
    const std::uint64_t bytes = bytes_ * at->fragments / last_.fragments;
    answered = {at->asked_ns, at->owed, bytes};
    bytes_ -= bytes;
    last_.fragments -= at->fragments;
  }
  oldest_ = static_cast<std::size_t>(at - asked_.begin());
  return answered;
}

}  // namespace weir::dcm
