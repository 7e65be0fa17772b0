#include <weir/assembly/push_window.hpp>

#include <algorithm>

namespace weir::assembly {

void PushWindow::opened(SliceId slice, TimeNs ask_ns, bool active) {
  if (!open_.try_emplace(slice, ask_ns).second) return;
  (active ? active_ : unseen_).insert(slice);
  waiting_.emplace(ask_ns, slice);
}

bool PushWindow::left(SliceId slice) {
  newest_left_ = std::max(slice, newest_left_.value_or(slice));
  const auto found = open_.find(slice);
  if (found == open_.end()) return false;
  ++steps_;
  waiting_.erase({found->second, slice});
  due_.erase(slice);
  active_.erase(slice);
  unseen_.erase(slice);
  open_.erase(found);
  return true;
}

void PushWindow::arrived(std::uint32_t readout, SliceId slice) {
  std::optional<SliceId>& newest = newest_of_[readout];
  newest = std::max(slice, newest.value_or(slice));
  if (!unseen_.empty() && unseen_.erase(slice) > 0) active_.insert(slice);
}

std::optional<SliceId> PushWindow::push_out_unseen() {
  if (active_.empty() || unseen_.empty() || *unseen_.begin() > *active_.begin()) return std::nullopt;
  ++steps_;
  const SliceId unseen = *unseen_.begin();
  unseen_.erase(unseen_.begin());
  newest_left_ = std::max(unseen, newest_left_.value_or(unseen));
  return unseen;
}

std::optional<PushWindow::Due> PushWindow::next_due(TimeNs now_ns) {
  while (!waiting_.empty() && waiting_.begin()->first <= now_ns) {
    ++steps_;
    due_.insert(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
  }
  if (!due_.empty()) {
    const Due due{*due_.begin(), true};
    left(due.slice);
    return due;
  }
  if (active() <= active_max_) return std::nullopt;
  if (const auto unseen = push_out_unseen()) return Due{*unseen, false};
  ++steps_;
  const SliceId oldest = *active_.begin();
  active_.erase(active_.begin());
  newest_left_ = std::max(oldest, newest_left_.value_or(oldest));
  return Due{oldest, false};
}

}  // namespace weir::assembly
