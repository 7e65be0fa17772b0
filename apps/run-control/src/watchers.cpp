#include "watchers.hpp"

#include <algorithm>
#include <utility>

namespace weir::run_control {

bool FarmWatchers::add(const std::string& client, std::uint64_t id, TimeNs now) {
  (void)present(now);
  auto one = std::find_if(watchers_.begin(), watchers_.end(),
                          [&](const Watcher& watcher) { return watcher.client == client; });
  if (one == watchers_.end()) {
    if (watchers_.size() >= kMost) return false;
    one = watchers_.insert(watchers_.end(), {client, 0, 0});
  }
  one->id = id;
  one->until_ns = now + kLease;
  return true;
}

void FarmWatchers::take(const v1::BusMessage& run_over) {
  if (run_over_ && run_over_->run_over().run() == run_over.run_over().run()) return;
  run_over_ = run_over;
  run_over_told_ = false;
}

FarmWatchers::Due FarmWatchers::due(const Seen& now) {
  const bool changed = std::exchange(seen_, now) != now;
  const bool reported = !std::exchange(told_, true);
  if (!std::exchange(run_over_told_, true)) return Due::run_over;
  return changed || reported ? Due::view : Due::nothing;
}

const std::vector<FarmWatchers::Watcher>& FarmWatchers::present(TimeNs now) {
  std::erase_if(watchers_, [&](const Watcher& one) { return now >= one.until_ns; });
  return watchers_;
}

}  // namespace weir::run_control
