#include "switch_bugs.hpp"
#include <weir/base/assert.hpp>
#include <weir/switching/switch.hpp>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weir::switching {

void Switch::change(const SwitchSettings& settings) {
  WEIR_ASSERT(!problem_of_change(settings_, settings));
  settings_ = settings;
  table_ = FlowTable(settings_);
  move_frames();
  std::vector<Index> added;
  place_rings(std::exchange(ring_queues_, {}), added);
  memory_frames_ = ports_.size() * std::uint64_t{settings_.other_frames};
  for (const FlowRing& ring : settings_.rings) memory_frames_ += ring.frames_max;
  keep_order(std::move(added));
}

// A ring keeps its queue, also one that was removed and has frames left.
void Switch::place_rings(const std::vector<Index>& former, std::vector<Index>& added) {
  const auto key = [](const FlowRing& ring) { return FlowTable::key(ring.address, ring.port); };
  std::unordered_map<std::uint64_t, Index> known;
  for (Index index = 0; index < queues_.size(); ++index) {
    if (queues_[index].ring && keeps_order(queues_[index])) known[key(*queues_[index].ring)] = index;
  }
  for (const Index index : former) known[key(*queues_[index].ring)] = index;
  std::vector<Index> kept = former;
  std::ranges::sort(kept);
  for (const FlowRing& ring : settings_.rings) {
    const auto own = known.find(key(ring));
    ring_queues_.push_back(own == known.end() ? kNoQueue : own->second);
    if (own == known.end()) continue;
    give(queues_[own->second], ring);
    if (!std::ranges::binary_search(kept, own->second)) added.push_back(own->second);
  }
  std::vector<Index> unused = unused_queues();
  for (std::size_t i = 0; i < ring_queues_.size(); ++i) {
    if (ring_queues_[i] != kNoQueue) continue;
    if (unused.empty()) {
      unused.push_back(static_cast<Index>(queues_.size()));
      queues_.emplace_back();
    }
    const Index index = unused.back();
    unused.pop_back();
    const std::uint64_t left = std::exchange(queues_[index], {}).left;
    queues_[index].left = left;
    give(queues_[index], settings_.rings[i]);
    ring_queues_[i] = index;
    added.push_back(index);
  }
}

std::vector<Switch::Index> Switch::unused_queues() const {
  std::vector<bool> used(queues_.size());
  for (std::size_t i = 0; i < ports_.size(); ++i) used[other_queue(i)] = true;
  for (const Index index : ring_queues_) {
    if (index != kNoQueue) used[index] = true;
  }
  std::vector<Index> unused;
  for (Index index = 0; index < queues_.size(); ++index) {
    if (!used[index] && !queues_[index].in_turn && !keeps_order(queues_[index])) unused.push_back(index);
  }
  return unused;
}

// Later frames of a flow that has another queue now wait for the earlier ones, which leave by the same port.
// All waits are of frames that arrived after a change for frames that arrived before it, so they end.
void Switch::keep_order(std::vector<Index> moved) {
  std::vector<bool> is_used(queues_.size());
  for (const Index index : ring_queues_) is_used[index] = true;
  emptying_.clear();
  std::unordered_multimap<Address, Index> earlier;
  for (Index index = 0; index < queues_.size(); ++index) {
    Queue& queue = queues_[index];
    if (!queue.ring || !keeps_order(queue)) continue;
    const FlowRing& ring = *queue.ring;
    if (!is_used[index] || ring.port == 0) earlier.emplace(ring.address, index);
    if (is_used[index]) continue;
    const auto now = table_.find({.address = ring.address, .port = ring.port, .is_data = true});
    if (!now || now->via != ring.via) continue;
    if (now->ring != FlowTable::kNoRing) {
      wait_for(ring_queues_[now->ring], index);
    } else if (!has_bug(SwitchBug::overtake_route)) {
      emptying_[FlowTable::key(ring.address, ring.port)] = index;
      moved.push_back(index);
      queue.bucket = LeakyBucket();
      queue.ring->bits_per_s = 0;
    }
  }
  for (const Index index : moved) {
    const FlowRing ring = *queues_[index].ring;
    const auto [first, last] = earlier.equal_range(ring.address);
    for (auto one = first; one != last; ++one) {
      const FlowRing& other = *queues_[one->second].ring;
      if (other.via == ring.via && (other.port == ring.port || other.port == 0 || ring.port == 0))
        wait_for(index, one->second);
    }
    // The address may have had no ring at some time.
    wait_for(index, other_queue(ring.via));
  }
}

// Repeats the waits of the earlier queue, because it may be empty.
void Switch::wait_for(Index index, Index earlier) {
  if (index == earlier || has_bug(SwitchBug::overtake)) return;
  Queue& queue = queues_[index];
  const Queue& other = queues_[earlier];
  const std::uint64_t from = queue.left + queue.chain.frames;
  std::vector<Wait> more{{from, earlier, other.left + other.chain.frames}};
  for (const Wait& wait : other.waits) more.push_back({from, wait.queue, wait.until});
  for (const Wait& wait : more) {
    const bool is_known = std::ranges::any_of(
        queue.waits, [&](const Wait& one) { return one.queue == wait.queue && one.until == wait.until; });
    if (!is_known && wait.queue != index && queues_[wait.queue].left < wait.until)
      queue.waits.push_back(wait);
  }
}

// Whether later frames of a flow may overtake frames here, or frames for which this queue waits.
bool Switch::keeps_order(const Queue& queue) const {
  return queue.chain.frames > 0 || std::ranges::any_of(queue.waits, [&](const Wait& wait) {
           return queues_[wait.queue].left < wait.until;
         });
}

bool Switch::waits(Queue& queue) const {
  while (!queue.waits.empty() && queue.waits.front().from <= queue.left) {
    const Wait& wait = queue.waits.front();
    if (queues_[wait.queue].left < wait.until) return true;
    queue.waits.pop_front();
  }
  return false;
}

}  // namespace weir::switching
