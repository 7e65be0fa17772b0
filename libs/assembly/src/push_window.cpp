#include <weir/assembly/push_window.hpp>

#include <algorithm>

namespace weir::assembly {

void PushWindow::left(SliceId slice) {
  newest_left_ = std::max(slice, newest_left_.value_or(slice));
  const auto found = open_.find(slice);
  if (found == open_.end()) return;
  if (found->second.pushed_out) --pushed_out_;
  open_.erase(found);
}

void PushWindow::arrived(std::uint32_t readout, SliceId slice) {
  std::optional<SliceId>& newest = newest_of_[readout];
  newest = std::max(slice, newest.value_or(slice));
}

std::optional<PushWindow::Due> PushWindow::next_due(TimeNs now_ns) {
  for (const auto& [slice, open] : open_) {
    if (open.ask_ns > now_ns) continue;
    const Due due{slice, true};
    left(due.slice);
    return due;
  }
  if (active() <= active_max_) return std::nullopt;
  const auto oldest =
      std::find_if(open_.begin(), open_.end(), [](const auto& entry) { return !entry.second.pushed_out; });
  oldest->second.pushed_out = true;
  ++pushed_out_;
  newest_left_ = std::max(oldest->first, newest_left_.value_or(oldest->first));
  return Due{oldest->first, false};
}

}  // namespace weir::assembly
